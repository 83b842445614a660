"""What every finished run has: scores of its test set beside those of opponents, a report, and a model to use."""

import csv
import html
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from torch.testing import assert_close

import regard
from regard.config import TaskName
from regard.data.batch import DataPosition
from regard.errors import RegardError
from regard.formats.labeled import write_tagged_sentences
from regard.jobs.evaluate import read_set_scores
from regard.jobs.run_kind import KINDS
from regard.jobs.tasks.opponents import read_stored_pairs
from regard.jobs.tasks.registry import get_task, open_predictor, task_of
from regard.run import Run
from regard.tasks.classify.examples import restore_example
from regard.tasks.stored_parts import split_parts
from regard.tasks.summarize.documents import restore_document
from regard.tasks.tag.examples import restore_sentence
from regard.training import log
from tests.jobs.tasks.conftest import PREDICT

TASKS = get_args(TaskName)
of_every_task = pytest.mark.parametrize("task", TASKS)
of_tasks_with_classes = pytest.mark.parametrize("task", [name for name in TASKS if name != "embed"])
"""Not embed, whose baseline depends on the rows of a batch: tests/jobs/tasks/embedding."""
INSPECTED = [name for name in TASKS if name != "denoise"]
"""Not denoise: what it reads and writes is the same text, which `regard look` refuses."""
SEARCHING = ("translate", "denoise", "summarize")
"""The tasks whose predictions are texts; their validations decode a few examples greedily."""
METHODS = {
    "translate": "translate",
    "classify": "classify",
    "tag": "tag",
    "causal-lm": "generate",
    "masked-lm": "fill",
    "embed": "embed",
    "denoise": "restore",
    "summarize": "summarize",
    "extract": "summarize",
}
"""What the model of a run can do, and no other."""
TEXTS = ["the king sees a dog", "Ann", "a superb film in Rome, and the old house under the tree sleeps"]
Finished = Callable[[str], Run]


def evaluate_dev(run: Run) -> Any:
    task, config = task_of(run.load_config()), run.load_config()
    return task.evaluate(run, task.load_predictor(run.folder, "cpu"), task.open_data(run, config).dev.pairs(), "dev")


@of_every_task
def test_the_weights_that_are_kept_have_the_loss_that_they_were_kept_for(task: str, finished: Finished):
    """Validation in training, on batches and with teacher forcing, is evaluation on dev by the predictor."""
    run = finished(task)
    assert get_task(task) is task_of(run.load_config()) and get_task(task).name == task
    best, evaluation = run.read_best(), evaluate_dev(run)
    validation = next(one for one in log.read_validations(run.log) if one.step == best.step)
    if best.metric == "loss":
        assert evaluation.loss == pytest.approx(best.cost, rel=1e-4)
    else:
        assert evaluation.scores[best.metric].value == pytest.approx(-best.cost, rel=1e-4)
    if validation.score is not None and task not in SEARCHING and "average" not in best.weights:
        (score,) = (one for one in evaluation.scores.values() if one.name == validation.score.name)
        assert validation.score.value == pytest.approx(score.value, rel=1e-4)


@of_tasks_with_classes
def test_the_baseline_loss_is_that_of_a_model_that_ignores_its_input(task: str, finished: Finished):
    """More than nothing, and less than that of a model which knows not even the frequencies."""
    run, task_object = finished(task), get_task(task)
    config = run.load_config()
    data = task_object.open_data(run, config)
    model = task_object.build_model(config, data)
    outputs = len(model.output.weight)
    assert 0 < task_object.baseline_loss(config, data) < torch.tensor(float(outputs)).log()


@of_every_task
def test_the_scores_of_the_test_set_are_written_with_a_row_for_each_example(task: str, finished: Finished):
    run, task_object = finished(task), get_task(task)
    stored = read_set_scores(run, "test") if task != "translate" else None
    table = run.read_json(run.scores("test"))
    main = table["scores"].get(task_object.main_score) or next(iter(table["scores"].values()))
    assert main["low"] <= main["value"] <= main["high"] and main["signature"]
    config = run.load_config()
    pairs = task_object.open_data(run, config).test.pairs()
    evaluation = task_object.evaluate(run, task_object.load_predictor(run.folder, "cpu"), pairs, "test")
    assert {name: score.value for name, score in evaluation.scores.items()} == pytest.approx(
        {name: score["value"] for name, score in table["scores"].items()}, rel=1e-5
    )
    if task == "embed":
        assert evaluation.loss is table["loss"] is None  # that of what batch?
    else:
        assert evaluation.loss == pytest.approx(table["loss"], rel=1e-5) and evaluation.loss > 0
    path = run.sentence_scores("test") if task == "translate" else run.example_scores("test")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert {len(row) for row in rows} == {len(rows[0])}
    if stored is not None:
        assert len(rows) == table["examples"] + 1
        assert table["opponents"] and {one.name for one in evaluation.opponents} == table["opponents"].keys()
        assert list(stored.scores) == list(table["scores"])


@of_every_task
def test_the_report_has_the_verdict_the_scores_the_curves_and_the_settings(task: str, finished: Finished):
    run, task_object = finished(task), get_task(task)
    page = html.unescape(run.report.read_text(encoding="utf-8"))
    table = run.read_json(run.scores("test"))
    for score in table["scores"].values():
        assert score["name"] in page
    for opponent in table.get("opponents", ()):
        assert opponent in page
    assert task_object.unit in page and str(run.load_config().train.seed) in page
    steps = log.read_steps(run.log)
    assert f"{len(steps)}" in page and f"{sum(p.numel() for p in load_model(run).parameters()):,}" in page
    for chart in ("loss", "accuracy"):
        assert (run.charts / f"{chart}.svg").exists() and (run.charts / f"{chart}.png").exists()


def load_model(run: Run) -> torch.nn.Module:
    return task_of(run.load_config()).load_predictor(run.folder, "cpu").model


def test_a_denoiser_is_no_translator_to_look_into(finished: Finished):
    run = finished("denoise")
    for refused in (lambda: regard.look(run.folder, "a dog"), lambda: regard.heads(run.folder, sentences=3)):
        with pytest.raises(RegardError, match=r"is a denoiser \(--task denoise\), and cannot .*; use it with"):
            refused()


@pytest.mark.parametrize("task", INSPECTED)
def test_a_run_is_inspected(task: str, finished: Finished, tmp_path: Path):
    run, page = finished(task), tmp_path / "look.html"
    inspection = regard.look(run.folder, "the old king sees a dog", measure=task == "classify", out=page)
    assert "king" in page.read_text(encoding="utf-8") and inspection.as_dict()


@pytest.mark.parametrize("task", INSPECTED)
def test_heads_are_measured_on_the_dev_set_and_words_in_context(task: str, finished: Finished, tmp_path: Path):
    run, file = finished(task), tmp_path / "dog.txt"
    table = regard.heads(run.folder, sentences=3)
    config = run.load_config().model
    assert len(table.facts) == config.heads * len(config.attention_names()) and table.corpus_name == "the run's dev set"
    file.write_text("the old dog sees a king\na dog sleeps under the tree\nthe dog hears it\n", encoding="utf-8")
    senses = regard.senses(run.folder, "dog", file)
    assert len(senses.occurrences) == 3 and senses.layers[0].layer == "static"


@of_every_task
def test_only_translators_are_pruned_and_exported(task: str, finished: Finished, tmp_path: Path):
    run = finished(task)
    if task == "translate":
        return
    for refused in (
        lambda: regard.prune(run.folder, tmp_path / "half"),
        lambda: regard.export(run.folder, to="marian", out=tmp_path / "marian"),
    ):
        with pytest.raises(RegardError) as refusal:
            refused()
        command = get_task(task).next_commands(str(run.folder))[0]
        assert command in str(refusal.value) and "\n" not in str(refusal.value)
    assert not list(tmp_path.iterdir())


@of_every_task
def test_a_prediction_does_not_depend_on_its_neighbors(task: str, finished: Finished):
    predictor = get_task(task).load_predictor(finished(task).folder, "cpu")
    together = PREDICT[task](predictor, TEXTS)
    alone = [PREDICT[task](predictor, [text])[0] for text in TEXTS]
    if task in SEARCHING:
        assert together == alone
    else:
        assert together == [pytest.approx(row, rel=1e-4, abs=1e-5) for row in alone]


@of_every_task
def test_a_run_can_be_moved_and_is_opened_by_its_task_alone(task: str, finished: Finished, tmp_path: Path):
    moved = Path(shutil.copytree(finished(task).folder, tmp_path / "elsewhere"))
    here, there = (open_predictor(folder, task, "cpu") for folder in (finished(task).folder, moved))
    assert PREDICT[task](here, TEXTS) == PREDICT[task](there, TEXTS)
    for model in (regard.load(moved), regard.load(moved, task=task)):
        assert [method for method in dict.fromkeys(METHODS.values()) if hasattr(model, method)] == [METHODS[task]]
    for other in TASKS:
        if other != task:
            with pytest.raises(RegardError, match=rf"\(--task {task}\), and cannot {KINDS[other].ability}"):
                regard.load(moved, task=other)
            with pytest.raises(RegardError, match=rf"\(--task {task}\), and cannot {KINDS[other].ability}"):
                open_predictor(moved, other, "cpu")


def write_test_files(run: Run, task: str, folder: Path) -> list[Path]:
    """The stored test set as files again."""
    pairs = read_stored_pairs(run, "test")
    if task == "translate":
        for side in ("source", "target"):
            lines = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
            (folder / f"again.{side}").write_text(lines, encoding="utf-8")
        return [folder / "again.source", folder / "again.target"]
    names = {
        "classify": "again.csv",
        "tag": "again.conll",
        "causal-lm": "again.txt",
        "embed": "again.tsv",
        "denoise": "again.txt",
    }
    path = folder / names.get(task, "again.jsonl")
    if task == "tag":
        write_tagged_sentences(path, map(restore_sentence, pairs))
    elif task == "embed":
        path.write_text("".join("\t".join(split_parts(pair.source)) + "\n" for pair in pairs), encoding="utf-8")
    elif task == "classify":
        rows = [f"{example.text},{example.labels[0]}" for example in map(restore_example, pairs)]
        path.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    elif task in ("summarize", "extract"):
        rows = [
            json.dumps({"source": one.sentences, "target": one.references, "title": one.title})
            for one in map(restore_document, pairs)
        ]
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    else:
        path.write_text("\n\n".join(pair.source for pair in pairs), encoding="utf-8")
    return [path]


@pytest.mark.parametrize("task", [name for name in TASKS if name != "masked-lm"])
def test_a_file_of_the_test_set_has_the_scores_of_the_test_set(task: str, finished: Finished, tmp_path: Path):
    """The set that training stored, and its file read again: the same examples, model and opponents."""
    run = Run(Path(shutil.copytree(finished(task).folder, tmp_path / "run")))
    stored = run.read_json(run.scores("test"))
    result = regard.evaluate(run.folder, *write_test_files(run, task, tmp_path))
    written = run.read_json(run.scores("again"))
    for name, score in stored["scores"].items():
        assert result.scores[name].value == pytest.approx(score["value"], abs=1e-3)
        assert written["scores"][name]["value"] == pytest.approx(score["value"], abs=1e-3)
    for name, opponent in stored.get("opponents", {}).items():
        for measure in set(opponent) & set(stored["scores"]):
            expected = opponent[measure]["value"]
            assert written["opponents"][name][measure]["value"] == pytest.approx(expected, abs=1e-6)
    assert result.num_contaminated == 0


@of_every_task
def test_both_paths_of_a_task_have_the_same_loss(task: str, finished: Finished):
    run, task_object = finished(task), get_task(task)
    config = run.load_config()
    data = task_object.open_data(run, config)
    _, batch = next(task_object.build_batches(config, data).iterate_from(DataPosition()))
    modules = [
        task_object.build_loss_factory(config, data, padding_free)(task_object.build_model(config, data))
        .double()
        .eval()
        for padding_free in (False, True)
    ]
    assert type(modules[0].forward_path) is not type(modules[1].forward_path)
    for mine, theirs in zip(*(module(batch) for module in modules), strict=True):
        assert_close(mine, theirs, rtol=1e-9, atol=1e-9, check_dtype=False)
    if task != "embed":
        assert modules[0].loss.label_smoothing == config.train.label_smoothing
