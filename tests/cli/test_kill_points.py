"""Killed before any file operation, a command leaves the old or the new, whole; its next start clears up after it."""

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard import exchange
from regard.atomic import TEMPORARY_SUFFIX
from regard.data.corpora import english_french
from regard.errors import RunError
from regard.jobs.tasks.registry import task_of
from regard.retrieval.index import open_search_index
from regard.run import Run, is_run, open_run
from regard.tuning.folder import is_study_folder
from regard.tuning.open_study import load_study
from tests.commands import TINY_SETTINGS, record_states, restore, run_command
from tests.jobs.retrieval.letters import write_documents as write_letters
from tests.jobs.tasks.conftest import PREDICT, write_files
from tests.jobs.tasks.language.conftest import write_documents
from tests.jobs.train.test_fit import assert_same
from tests.reviews import write_reviews
from tests.tiny_bert import write_bert

SENTENCES = ["I see the dog.", "The old queen sleeps."]
FEW, MANY = 2, 31
"""States from which the command is started again. What a kill leaves is checked in all of them."""
USER_FILES = {"notes.txt": "mine", "photos/cat": "cat"}
"""What the user has added to a folder that is replaced."""
DECOYS = ("out.aside", "out.making", "out.regard-tmp", ".out.regard-abcdefgh")
"""What the user has beside it, by names that resemble those of working files."""


@dataclass(frozen=True)
class Scene:
    """A command that writes `out`, from what is there before it to what must hold after a kill."""

    argv: list[str]
    """`in` stands for the folder of inputs."""
    old: str = ""
    """What is at `out` before: a folder of the inputs."""
    check: Callable[[Path, Path, Path], None] = lambda folder, first, end: check_content(folder, first, end)
    restart: Callable[[list[str], Path], list[str]] = lambda argv, out: argv
    outputs: tuple[str, ...] = ("out",)


def read_tree(folder: Path) -> dict[str, bytes]:
    """The files below a folder by name; locks and what opening a run leaves there are no content."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def check_content(folder: Path, first: Path, end: Path) -> None:
    """The old or the new, byte for byte; what the user has added is in both."""
    assert read_tree(folder / "out") in (read_tree(first / "out"), read_tree(end / "out"))


def check_training(folder: Path, first: Path, end: Path) -> None:
    """The old run predicts as before; the new one can be resumed, and predicts once it has weights."""
    run = Run(folder / "out")
    if not is_run(run.folder):
        assert not run.folder.exists() and not (first / "out").exists()
        return
    if is_old(run, first):
        assert predict(run) == predict(Run(first / "out"))
    elif run.best.exists():
        assert len(predict(run)) == len(SENTENCES)
    else:
        with pytest.raises(RunError, match="has no validated weights yet, so it cannot"):
            predict(run)


def check_old_run(folder: Path, first: Path, end: Path) -> None:
    """What is derived from a run is added to it file by file or folder by folder; the run itself stays as it is."""
    tree, first_tree, end_tree = (read_tree(place / "out") for place in (folder, first, end))
    assert all(tree[name] in (first_tree.get(name), end_tree.get(name)) for name in tree if not is_temporary(name))
    assert first_tree.keys() <= tree.keys()
    cache = {name for name in tree if name.startswith("ctranslate2/") and not is_temporary(name)}
    assert cache in (set(), {name for name in end_tree if name.startswith("ctranslate2/")})


def is_temporary(name: str) -> bool:
    return ".regard-" in name


def check_study(folder: Path, first: Path, end: Path) -> None:
    """A study that has its file can be opened, and the results of its trials are those of the end, or missing."""
    if not is_study_folder(folder / "out"):
        assert not (first / "out").exists()
        return
    worker, end_worker = (load_study(place / "out") for place in (folder, end))
    try:
        ends = {result.number: result for result in end_worker.results()}
        for result in worker.results():
            if result.state == "complete":
                assert result.params == ends[result.number].params and result.value == ends[result.number].value
    finally:
        worker.close()
        end_worker.close()


def resume_run(argv: list[str], out: Path) -> list[str]:
    return ["train", "--resume", "out"] if is_run(out) else argv


def is_old(run: Run, first: Path) -> bool:
    return (first / "out").exists() and open_run(run.folder).load_config() == Run(first / "out").load_config()


def predict(run: Run) -> list[object]:
    """What a run makes of each sentence."""
    config = open_run(run.folder).load_config()
    return PREDICT[config.task](task_of(config).load_predictor(run.folder, "cpu"), SENTENCES)


def check_index(folder: Path, first: Path, end: Path) -> None:
    """The old index or the new one, byte for byte, and it can be searched; before the first one there is none."""
    check_content(folder, first, end)
    if (folder / "out").exists():
        assert open_search_index(folder / "out").search(["b"], None, 3)


def delete_again(argv: list[str], out: Path) -> list[str]:
    """The next start after a kill: what is deleted already cannot be deleted again."""
    is_deleted = open_search_index(out).documents.find("d1") is None
    return ["search", "out", "b", "--method", "bm25"] if is_deleted else argv


def resume_training(argv: list[str], out: Path) -> list[str]:
    """The next start after a kill: a run that has started is resumed."""
    has_started = is_run(out) and Run(out).load_config().train.seed == 2
    return ["train", "--resume", "out"] if has_started else argv


NEW_RUN = [
    "train",
    "in/train.tsv",
    "--dev",
    "in/dev.tsv",
    "--seed",
    "2",
    "--steps",
    "5",
    "--out",
    "out",
    *TINY_SETTINGS,
]
COMPARISON = ["compare", "in/run", "in/other.fr", "--on", "in/dev.tsv", "--beam", "1", "--out", "out"]
STUDY = [
    *["tune", "in/train.tsv", "--dev", "in/dev.tsv", "--over", "model.dropout=0.1,0.3", "--steps-each", "3"],
    *[*TINY_SETTINGS, "--out", "out"],
]
TASK_FILES = {
    "classify": "in/reviews.csv",
    "tag": "in/tagged/train.conll",
    "causal-lm": "in/one.txt",
    "masked-lm": "in/many.txt",
    "denoise": "in/many.txt",
}
TASK_SCENES = {
    f"train --task {task}": Scene(
        ["train", file, "--task", task, "--steps", "5", "--out", "out", *TINY_SETTINGS],
        check=check_training,
        restart=resume_run,
    )
    for task, file in TASK_FILES.items()
}
INDEX = ["index", "in/encoder", "in/docs.jsonl", "--language", "en", "--out", "out"]
SCENES = {
    "train": Scene(NEW_RUN, check=check_training, restart=resume_training),
    "train --overwrite": Scene([*NEW_RUN, "--overwrite"], "run", check_training, resume_training),
    "train --resume": Scene(["train", "--resume", "out", "--steps", "9"], "run", check_training),
    "prune": Scene(["prune", "in/run", "--keep", "1", "--finetune-steps", "2", "--out", "out"]),
    "prune --overwrite": Scene(
        ["prune", "in/run", "--keep", "1", "--finetune-steps", "0", "--out", "out", "--overwrite"], "run"
    ),
    "import": Scene(["import", "in/marian", "--out", "out"]),
    "import --overwrite": Scene(["import", "in/marian", "--out", "out", "--overwrite"], "run"),
    "export marian": Scene(["export", "in/run", "--to", "marian", "--out", "out"]),
    "export ctranslate2": Scene(["export", "in/run", "--to", "ctranslate2", "--out", "out"]),
    "compare": Scene(COMPARISON),
    "compare again": Scene(COMPARISON, "comparison"),
    "translate --engine": Scene(
        ["translate", "out", "in/older.fr", "--engine", "ctranslate2", "--beam", "1"], "run", check_old_run
    ),
    "evaluate": Scene(["evaluate", "out", "in/dev.tsv", "--beam", "1"], "run", check_old_run),
    "tune": Scene(STUDY, check=check_study),
    "tune again": Scene(["tune", "out"], "study", check=check_study),
    "report": Scene(["report", "out"], "study", check=check_study),
    "demo": Scene(["demo", "--quick", "--out", "out"], "", check_training, resume_run, outputs=("out", "out-corpus")),
    "index": Scene(INDEX, check=check_index),
    "index --overwrite": Scene([*INDEX, "--overwrite", "--precision", "int8"], "index", check_index),
    "index --add": Scene(["index", "out", "--add", "in/more.jsonl"], "index", check_index),
    "index --delete": Scene(["index", "out", "--delete", "d1"], "index", check_index, delete_again),
    "doctor --fix": Scene(["doctor", "in/train.tsv", "--dev", "in/dev.tsv", "--fix", "out"]),
    "doctor --fix again": Scene(["doctor", "in/train.tsv", "--dev", "in/dev.tsv", "--fix", "out"], "fixed"),
    **TASK_SCENES,
}
NEEDED = {
    "study": [*STUDY[:-1], "study"],
    "marian": ["export", "run", "--to", "marian", "--out", "marian"],
    "comparison": ["compare", "run", "older.fr", "--on", "dev.tsv", "--beam", "1", "--out", "comparison"],
    "fixed": ["doctor", "dev.tsv", "--dev", "train.tsv", "--fix", "fixed"],
    "encoder": ["import", "bert", "--out", "encoder"],
    "index": ["index", "in/encoder", "in/docs.jsonl", "--language", "en", "--out", "index"],
}
"""The commands that make what a scene begins with."""
FAST = ("train --overwrite", "prune --overwrite", "export marian", "index --add")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, translations, what each task is trained on, documents to search and a BERT folder."""
    folder = tmp_path_factory.mktemp("inputs")
    write_reviews(folder / "reviews.csv", 61, seed=3)
    write_files(folder)
    write_documents(folder)
    splits = english_french.split(150, 11, 7, 3, seed=5)
    for name in ("train", "dev"):
        rows = [f"{pair.source}\t{pair.target}\n" for pair in getattr(splits, name)]
        (folder / f"{name}.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "in").symlink_to(folder)  # so that the arguments of scenes hold here, too
    write_letters(folder / "docs.jsonl", count=7)
    write_letters(folder / "more.jsonl", first=7, count=3, seed=5)
    write_bert(folder / "bert")
    (folder / "other.fr").write_text("".join(f"{pair.target}\n" for pair in splits.dev), encoding="utf-8")
    (folder / "older.fr").write_text("".join(f"{pair.source}\n" for pair in splits.dev), encoding="utf-8")
    make(folder, [*NEW_RUN[:5], "1", *NEW_RUN[6 : -len(TINY_SETTINGS) - 1], "run", *TINY_SETTINGS])
    return folder


def make(folder: Path, argv: list[str]) -> None:
    output = folder / "output.txt"
    assert run_command(argv, folder, output) == 0, output.read_text()


def make_needed(name: str, inputs: Path) -> None:
    """What a scene begins with, and what that is made from."""
    if name in NEEDED and not (inputs / name).exists():
        make_needed(Path(NEEDED[name][1]).name, inputs)
        make(inputs, NEEDED[name])


def place(scene: Scene, inputs: Path, folder: Path) -> None:
    """What is there before the command."""
    for name in (scene.old, Path(scene.argv[1]).name):
        make_needed(name, inputs)
    folder.mkdir()
    (folder / "in").symlink_to(inputs)
    for name in DECOYS:
        (folder / name / "new").mkdir(parents=True)
        (folder / name / "lock").write_text("mine")
    (folder / ".out.regard-zzzzzzzz").symlink_to(inputs)
    if scene.old:
        shutil.copytree(inputs / scene.old, folder / "out")
        for name, text in USER_FILES.items():
            (folder / "out" / name).parent.mkdir(exist_ok=True)
            (folder / "out" / name).write_text(text)


SLOW = pytest.mark.slow


@pytest.mark.parametrize("has_exchange", [True, pytest.param(False, marks=SLOW)], ids=["exchange", "renames"])
@pytest.mark.parametrize(
    ("name", "restarts"),
    [pytest.param(name, FEW, id=f"{name}, sampled") for name in FAST]
    + [pytest.param(name, MANY, id=name, marks=SLOW) for name in SCENES],
)
def test_a_kill_at_any_file_operation_leaves_the_old_or_the_new(
    name: str, restarts: int, has_exchange: bool, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    scene, folder, output = SCENES[name], tmp_path / "folder", tmp_path / "output.txt"
    if not has_exchange:
        monkeypatch.setattr(exchange, "swap_names", lambda first, second: False)
    place(scene, inputs, folder)
    *states, end = record_states(scene.argv, folder, tmp_path / "states", output, has_exchange)
    assert all((end / "out" / file).read_text() == text for file, text in USER_FILES.items() if scene.old)
    restarted = random.Random(f"{name} {has_exchange}").sample(states, min(restarts, len(states)))
    checked: list[dict[str, bytes]] = []  # most operations change something beside the folder
    for state in states:
        restore(state, folder)
        exchange.recover(folder / "out")
        if (tree := read_tree(folder / "out")) not in checked:
            scene.check(folder, states[0], end)
            checked.append(tree)
        if state in restarted:
            code = run_command(scene.restart(scene.argv, folder / "out"), folder, output, has_exchange=has_exchange)
            assert code == 0 or "already exists" in output.read_text() or "already holds" in output.read_text()
            check_end(scene, folder, end)


def check_end(scene: Scene, folder: Path, end: Path) -> None:
    """After another start everything is as after an undisturbed one, and nothing else is there."""
    names = {path.name for path in folder.iterdir()}
    assert names == {"in", *DECOYS, ".out.regard-zzzzzzzz", *scene.outputs}
    assert not list(folder.glob(f"**/.*{TEMPORARY_SUFFIX}"))
    assert all((folder / "out" / file).read_text() == text for file, text in USER_FILES.items() if scene.old)
    if scene.check is check_training:
        assert_same(folder / "out", end / "out")
    else:
        assert read_tree(folder / "out").keys() == read_tree(end / "out").keys()
