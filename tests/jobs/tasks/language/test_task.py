"""Both kinds of language models as tasks: what is validated, held out and refused."""

import math
import re
from pathlib import Path

import pytest

from regard import config as settings
from regard.data.store import Texts
from regard.errors import RegardError
from regard.jobs.tasks.registry import get_task
from regard.run import Run
from regard.training import log
from tests.jobs.tasks.language.conftest import train, write_text

TASKS = ("causal-lm", "masked-lm")


@pytest.mark.parametrize("task", TASKS)
def test_a_validation_says_what_a_token_is_predicted_from(task: str, run_of):
    for validation in log.read_validations(run_of(task).log):
        assert validation.shuffled_input_loss is None  # a text is its own target
        if validation.score is not None:
            assert validation.score.signature.split("|")[2:4] == ["context:29", "stride:14"]
            assert (
                validation.score.format_interval() == "none: only the sum over the dev windows is known during training"
            )


@pytest.mark.parametrize("task", TASKS)
def test_a_finished_run_has_scores_opponents_and_a_report(task: str, run_of):
    run, task_object = run_of(task), get_task(task)
    table = run.read_json(run.scores("test"))
    main = table["scores"][task_object.main_score]
    assert main["low"] < main["value"] < main["high"] and table["loss"] > 0
    opponents = table["opponents"]
    patterns = {"causal-lm": [r"byte [3-6]-gram, Witten-Bell", "bz2"], "masked-lm": ["token frequencies"]}[task]
    assert len(opponents) == len(patterns) and all(map(re.fullmatch, patterns, opponents))
    first = opponents[next(iter(opponents))][task_object.main_score]
    assert first["difference"] == pytest.approx(main["value"] - first["value"]) and 0 <= first["p_bootstrap"] <= 1
    rows = run.example_scores("test").read_text(encoding="utf-8").splitlines()
    assert len(rows) == table["examples"] + 1
    page = run.report.read_text(encoding="utf-8")
    assert task_object.unit in page and ("Generated text" if task == "causal-lm" else "Filled masks") in page
    assert (run.charts / "loss.svg").exists()


def stored(run, name: str) -> list[str]:
    return list(Texts(run.store, f"{name}.source"))


def test_both_ends_of_few_documents_and_whole_ones_of_many_are_held_out(run_of, documents):
    one, many = run_of("causal-lm"), run_of("masked-lm")
    text = documents["one"].read_text(encoding="utf-8")
    parts = [stored(one, name) for name in ("dev", "train", "test")]
    assert [len(part) for part in parts] == [1, 1, 1] and "".join(part[0] for part in parts) == text
    assert all(part[0].endswith("\n") and 0.08 < len(part[0]) / len(text) < 0.12 for part in parts[::2])
    sets = [stored(many, name) for name in ("train", "dev", "test")]
    documents_of = documents["many"].read_text(encoding="utf-8").removesuffix("\n").split("\n\n")
    assert sorted(text for texts in sets for text in texts) == sorted(documents_of)
    assert all(sets)


def test_files_of_dev_and_test_are_sets_of_their_own(documents, tmp_path: Path):
    for name, seed in (("dev", 101), ("test", 103)):
        (tmp_path / f"{name}.txt").write_text(write_text(seed, 17), encoding="utf-8")
    files = {name: [str(tmp_path / f"{name}.txt")] for name in ("dev", "test")}
    config = settings.build({"task": "causal-lm", "data": {"train": [str(documents["one"])], **files}})
    run = Run(tmp_path / "run")
    get_task("causal-lm").write_texts(run, config)
    assert stored(run, "train") == [documents["one"].read_text(encoding="utf-8")]
    assert stored(run, "dev") == [write_text(101, 17)] and stored(run, "test") == [write_text(103, 17)]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "is empty"), (b"x", "1 character is too short to hold out"), (b"\xff\xfe\x00", "UTF-8|UTF-16|text")],
)
def test_what_cannot_be_learned_from_is_refused_in_a_sentence(task: str, content: bytes, sentence: str, tmp_path: Path):
    (tmp_path / "text.txt").write_bytes(content)
    with pytest.raises(RegardError, match=sentence):
        train(task, tmp_path / "text.txt", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_plan_counts_windows_not_documents(run_of):
    for name in TASKS:
        run, task = run_of(name), get_task(name)
        data = task.open_data(run, run.load_config())
        lengths, tokens = task.mean_lengths(data), len(data.train.target_ids.values)
        assert lengths.source <= 29 and math.isclose(task.count_examples(data) * lengths.source, tokens, rel_tol=0.01)
        assert task.measure_texts(run, run.load_config()).source_bytes == sum(
            len(text.encode()) for text in stored(run, "train")
        )
