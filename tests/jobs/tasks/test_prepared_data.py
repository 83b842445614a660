"""What is stored before training, for every task: the sets, their sizes, and what an epoch consists of."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from regard import config as settings
from regard.config import Config, TaskName
from regard.data.doctor import Diagnosis
from regard.data.label_doctor import LABEL_KINDS
from regard.data.store import Texts
from regard.errors import ConfigError
from regard.jobs import load
from regard.jobs.tasks import held_out, single_text
from regard.jobs.tasks.opponents import read_stored_pairs
from regard.jobs.tasks.registry import get_task
from regard.jobs.train.training_data import read_texts_manifest
from regard.run import Run
from tests.jobs.tasks.language.conftest import write_text

TASKS = get_args(TaskName)
of_independent_rows = pytest.mark.parametrize("task", [name for name in TASKS if name != "embed"])
"""Not embed, whose rows are several texts with ids between them: a batch has fewer tokens than its rows, and padding
beyond its budget. tests/tasks/embed cuts its batches."""
of_every_task = pytest.mark.parametrize("task", TASKS)
DOCUMENTS = ("causal-lm", "masked-lm", "denoise")
PAIRED = ("translate", "denoise", "summarize")
"""The tasks whose batches have a source."""
FEW_DOCUMENTS = ("causal-lm",)
"""Their document is cut at its end with any seed."""
ConfigOf = Callable[..., Config]


def prepare(run: Run, config: Config) -> Any:
    """Store texts and tokens, as a training would before its first step."""
    write_texts(run, config)
    get_task(config.task).tokenize(run, config)
    return get_task(config.task).open_data(run, config)


def write_texts(run: Run, config: Config) -> None:
    run.folder.mkdir(exist_ok=True)
    run.config.write_text(settings.dump(config), encoding="utf-8")
    get_task(config.task).write_texts(run, config)


def with_sets(config: Config, folder: Path, dev: bool, test: bool) -> Config:
    """The config with files of these sets alone; documents get files of their own."""
    if config.task in DOCUMENTS:
        suffix = "en" if config.task == "denoise" else "txt"  # one of its languages
        for name, seed in (("dev", 101), ("test", 103)):
            (folder / f"{name}.{suffix}").write_text(write_text(seed, 17), encoding="utf-8")
        files = {name: [str(folder / f"{name}.{suffix}")] for name in ("dev", "test")}
    else:
        files = {"dev": config.data.dev, "test": config.data.test}
    chosen = {"dev": files["dev"] if dev else [], "test": files["test"] if test else []}
    return settings.with_values(config, {f"data.{name}": paths for name, paths in chosen.items()})


@of_every_task
def test_what_is_held_out_depends_on_the_seed_of_the_split_alone(task: str, config_of: ConfigOf, tmp_path: Path):
    seeds = {"one": (1, 5), "same": (2, 5), "other": (1, 6), "unset": (5, None)}
    stored = {}
    for name, (seed, split_seed) in seeds.items():
        config = settings.override(with_sets(config_of(task), tmp_path, False, False), [f"train.seed={seed}"])
        values = {} if split_seed is None else {"data.split_seed": split_seed}
        run = Run(tmp_path / name)
        write_texts(run, settings.with_values(config, values))
        stored[name] = [{pair.source for pair in read_stored_pairs(run, one)} for one in ("dev", "test")]
    assert stored["one"] == stored["same"] == stored["unset"]
    assert task in FEW_DOCUMENTS or stored["one"] != stored["other"]


@of_every_task
@pytest.mark.parametrize(("dev", "test"), [(True, True), (True, False), (False, True), (False, False)])
def test_sets_without_files_are_held_out_of_the_training_files(
    task: str, dev: bool, test: bool, config_of: ConfigOf, tmp_path: Path
):
    run, config = Run(tmp_path / "run"), with_sets(config_of(task), tmp_path, dev, test)
    whole = Run(tmp_path / "whole")
    write_texts(run, config)
    write_texts(whole, with_sets(config_of(task), tmp_path, True, True))
    manifest, sets = read_texts_manifest(run), {}
    expected = [] if dev else ["dev"] if test else ["dev", "test"]
    assert list(manifest.held_out) == expected
    assert list(manifest.sets) == ["train", "dev", *(["test"] if test or not dev else [])]
    for name in manifest.sets:
        sets[name] = [pair.source for pair in read_stored_pairs(run, name)]
        assert sets[name]
    sources = [pair.source for pair in read_stored_pairs(whole, "train")]
    if task in DOCUMENTS:
        size = sum(map(len, sources))
        assert sum(len(text) for name in ("train", *expected) for text in sets[name]) == size
        assert all(0.05 * size < sum(map(len, sets[name])) < 0.15 * size for name in expected)
    else:
        held = [source for name in expected for source in sets[name]]
        assert not set(held) & set(sets["train"]) and set(sources) >= {*held, *sets["train"]}
        assert all(len(sets[name]) <= 0.15 * len(sources) for name in expected)
    for name in ("dev", "test"):
        if name in manifest.sets and name not in expected:
            assert sets[name] == [pair.source for pair in read_stored_pairs(whole, name)]


@of_every_task
def test_what_is_prepared_is_not_prepared_again(task: str, config_of: ConfigOf, tmp_path: Path):
    """A resumed run needs none of its files."""
    run, config = Run(tmp_path / "run"), config_of(task)
    prepare(run, config)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.store.rglob("*") if path.is_file()}
    gone = settings.with_values(config, {f"data.{name}": ["nowhere.txt"] for name in ("train", "dev", "test")})
    data = prepare(run, gone)
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before} == before
    assert len(data.train) > 0 and run.has_checksum(run.tokenizer())


@of_independent_rows
def test_the_size_of_an_epoch_is_that_of_its_batches(task: str, config_of: ConfigOf, tmp_path: Path):
    own = ["data.subword_regularization=0"] if task == "summarize" else []  # which lengthens texts
    run, config = Run(tmp_path / "run"), config_of(task, *own)
    data, task_object = prepare(run, config), get_task(task)
    batches = task_object.build_batches(config, data)
    epoch = [batches.make_batch(rows, 1, number) for number, rows in enumerate(batches.plan_epoch(1))]
    inputs = [batch.source if task in PAIRED else batch.ids for batch in epoch]
    tokens, targets = sum(int((ids != 0).sum()) for ids in inputs), sum(batch.num_targets for batch in epoch)
    count, lengths = task_object.count_examples(data), task_object.mean_lengths(data)
    is_noisy = task in ("masked-lm", "denoise")
    assert count * lengths.source == pytest.approx(tokens, rel=0.05 if task == "denoise" else 0.02)
    assert count * lengths.target == pytest.approx(targets, rel=0.1 if is_noisy else 0.01)
    assert all(ids.numel() <= config.train.batch_tokens for ids in inputs)
    sides = [Texts(run.store, f"train.{side}").num_bytes for side in ("source", "target")]
    size = task_object.measure_texts(run, config)
    assert size.source_bytes == sides[0]
    if task in DOCUMENTS:
        assert size.examples == max(len(Texts(run.store, "train.source")), sides[0] // 900)
        assert size.target_bytes == round(sides[0] * task_object.target_share(config))
    else:
        assert size.target_bytes == sides[1] and size.examples == len(data.train) == count


def test_many_short_documents_are_rows_of_their_own(config_of: ConfigOf, tmp_path: Path):
    (tmp_path / "lines.txt").write_text("".join(f"the cat {n} sees\n" for n in range(211)), encoding="utf-8")
    for task in ("causal-lm", "masked-lm"):
        section = task.replace("-", "_")
        values = {"data.train": [str(tmp_path / "lines.txt")], f"{section}.documents": "line"}
        run, config = Run(tmp_path / task), settings.with_values(config_of(task), values)
        data, task_object = prepare(run, config), get_task(task)
        assert task_object.measure_texts(run, config).examples == len(Texts(run.store, "train.source")) > 150
        tokens = len(data.train.target_ids.values) / len(data.train)
        lengths = task_object.mean_lengths(data)
        if task == "causal-lm":
            assert lengths.source == lengths.target == tokens + 1 and task_object.count_examples(data) == len(
                data.train
            )
        else:
            assert (lengths.source, lengths.target) == (tokens, max(1.0, config.masked_lm.mask_rate * tokens))


@of_every_task
def test_a_vocabulary_of_another_size_than_asked_for_is_noted(task: str, config_of: ConfigOf, tmp_path: Path):
    def notes_on(data: Any) -> list[str]:
        return [note for note in data.notes if "data.vocab_size" in note]

    large = prepare(Run(tmp_path / "large"), config_of(task, "data.vocab_size=30000"))
    (note,) = notes_on(large)
    size = f"vocabulary: {large.vocab_size:,} tokens instead of data.vocab_size=30,000"
    assert note == f"{size}: the training text has no more" and large.vocab_size < 30_000
    asked = large.vocab_size - 1
    data = prepare(Run(tmp_path / "exact"), config_of(task, f"data.vocab_size={asked}"))
    assert data.vocab_size == asked and not notes_on(data)


@pytest.mark.parametrize("task", ["translate", "causal-lm"])
def test_characters_may_need_a_larger_vocabulary(task: str, config_of: ConfigOf, tmp_path: Path):
    files = [str(tmp_path / f"text.{n}") for n in range(2 if task == "translate" else 1)]
    for path in files:
        text = "".join(f"{chr(0x4E00 + n)} {chr(0x4E01 + n)} x\n" for n in range(211))
        Path(path).write_text(text, encoding="utf-8")
    values = {"data.train": files, "data.dev": [], "data.test": [], "data.keep": ["language"]}
    config = settings.with_values(config_of(task, "data.vocab_size=280"), values)
    data = prepare(Run(tmp_path / "run"), config)
    assert data.vocab_size > 280 and any(note.endswith("need more") for note in data.notes)


@of_every_task
def test_what_cannot_be_trained_is_refused_before(task: str, config_of: ConfigOf, tmp_path: Path, monkeypatch):
    config, task_object = config_of(task), get_task(task)
    task_object.require_files(config)
    with pytest.raises(ConfigError, match="nothing to train on"):
        task_object.require_files(settings.with_values(config, {"data.train": []}))
    data = prepare(Run(tmp_path / "run"), config)
    for module in (load, single_text):
        monkeypatch.setattr(module, "available_memory", lambda: 0)  # unknown
    task_object.require_memory(config, data)
    for free, fits in ((1000, False), (10**12, True)):
        for module in (load, single_text):
            monkeypatch.setattr(module, "available_memory", lambda free=free: free)
        if fits:
            task_object.require_memory(config, data)
        else:
            with pytest.raises(ConfigError, match="GB"):
                task_object.require_memory(config, data)


@of_every_task
def test_a_task_says_what_it_reads_and_what_uses_its_runs(task: str, config_of: ConfigOf):
    from regard.cli import app

    task_object, config = get_task(task), config_of(task)
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    for line in task_object.next_commands("runs/x"):
        program, name, folder, *_ = line.split()
        assert program == "regard" and name in commands and folder == "runs/x"
    words = task_object.alarm_words
    assert task == "translate" or task_object.example in words.ignores
    assert "→" in task_object.describe_data(config)
    if task not in ("translate", "summarize"):
        with pytest.raises(ConfigError, match=r"train\.head_stats_every=7: .*task=translate"):
            task_object.build_head_recorder(
                Run(Path("x")), settings.override(config, ["train.head_stats_every=7"]), None, None
            )


def test_small_corpora_give_a_larger_part_away(config_of: ConfigOf):
    config = settings.with_values(config_of("tag"), {"data.dev": [], "data.test": []})
    few, many = (held_out.held_out_fractions(config, held_out.SMALL_CORPUS - 1 + extra) for extra in (0, 1))
    assert few.keys() == many.keys() == {"dev", "test"}
    assert set(few.values()) == {0.1} and set(many.values()) == {0.05}


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_the_opponents_of_a_task_with_labels_predict_for_every_example(task: str, config_of: ConfigOf, tmp_path: Path):
    run = Run(tmp_path / "run")
    prepare(run, config_of(task))
    stored = json.loads(run.opponents.read_text(encoding="utf-8"))
    for name in ("dev", "test"):
        pairs = read_stored_pairs(run, name)
        training, dev = (read_stored_pairs(run, part) for part in ("train", "dev"))
        alone = get_task(task).predict_opponents(training, dev, pairs)
        assert stored["answers"][name] == {
            opponent: [list(answer) for answer in answers] for opponent, answers in alone.answers.items()
        }
        assert {len(answers) for answers in alone.answers.values()} == {len(pairs)}


def test_what_flatters_scores_is_noted_before_training(config_of: ConfigOf, tmp_path: Path):
    """A phrase of a training text in dev, one text with two answers, a class of one text, a name in two cases."""
    texts = [(f"a long film number {n} was seen by us", "good" if n % 2 else "bad") for n in range(61)]
    texts += [(texts[3][0], "bad"), ("something else", "Good"), ("yet another thing", "rare")]
    sets = {"train": texts, "dev": [("film number 7 was seen", "good"), ("never seen words here", "bad")]}
    for name, rows in sets.items():
        lines = [f'"{text}","{label}"' for text, label in rows]
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *lines]) + "\n", encoding="utf-8")
    files = {f"data.{name}": [str(tmp_path / f"{name}.csv")] for name in sets} | {"data.test": []}
    run, config = Run(tmp_path / "run"), settings.with_values(config_of("classify"), files)
    write_texts(run, config)
    notes = {note.split(": ")[1]: note for note in read_texts_manifest(run).notes if note.count(": ") > 2}
    assert set(notes) == {"part", "contradiction", "tiny_class", "similar_classes"}
    assert "dev.csv:2" in notes["part"] and "train.csv:9" in notes["part"] and "leave this file out" in notes["part"]
    assert notes["part"].startswith("dev: part: 1 text, 50.0%") and "train.csv:63" in notes["contradiction"]
    assert "'rare': 1" in notes["tiny_class"] and "'Good' and 'good'" in notes["similar_classes"]
    stored = run.read_json(run.doctor)
    restored = Diagnosis.from_dict(stored, LABEL_KINDS)  # whose missing classes have no location
    assert "missing_class" in {finding.kind.name for finding in restored.findings} and restored.as_dict() == stored
