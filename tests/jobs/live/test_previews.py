"""What training writes for those who watch: the same examples at every validation, and nothing of training changes."""

import json
from collections.abc import Callable
from typing import get_args

import pytest
import torch
from torch.testing import assert_close

from regard.config import TaskName
from regard.errors import RunError
from regard.jobs.live.previews import MAX_TOKENS, NullPreviews, read_previews, trace_attention, truncate_previews
from regard.jobs.look.cross_attention import compute_cross_attention
from regard.jobs.tasks.registry import task_of
from regard.jobs.train import assemble
from regard.jobs.train.fit import resume_run, train_run
from regard.model.taps import named_taps
from regard.run import Run


def test_every_validation_has_the_same_examples_with_their_predictions(watched_run: Run):
    shown = read_previews(watched_run.previews)
    assert [preview.step for preview in shown] == [3, 6, 7]
    config = watched_run.load_config()
    pairs = task_of(config).open_data(watched_run, config).dev.pairs(5)
    for preview in shown:
        assert [(one.input, one.reference) for one in preview.samples] == [(p.source, p.target) for p in pairs]


def test_the_attention_of_the_newest_weights_is_that_of_the_model(watched_run: Run):
    config = watched_run.load_config()
    task = task_of(config)
    data = task.open_data(watched_run, config)
    example = task.find_attention_example(data)
    assert example is not None and example.target_ids is not None
    attention = read_previews(watched_run.previews)[-1].attention
    assert attention is not None and (attention.rows, attention.columns) == (example.rows, example.columns)
    assert len(attention.weights) == len(example.rows) and len(attention.weights[0]) == len(example.columns)
    translator = task.load_predictor(watched_run.folder, "cpu")
    source = data.tokenizers.source.decode(example.source_ids)
    target = data.tokenizers.target.decode(example.target_ids)
    (reference,) = compute_cross_attention(translator, [source], [target])
    again = trace_attention(translator.model, example)
    assert again is not None
    size = (len(example.rows), len(example.columns))
    expected = reference.token_weights[: size[0], : size[1]]
    assert_close(torch.tensor(again.weights), expected, atol=6e-4, rtol=0)


QUICK = ("classify", "causal-lm")
OTHERS = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in get_args(TaskName)[1:]]


@pytest.mark.parametrize("task", OTHERS)
def test_other_tasks_show_what_they_have(config_of: Callable, task: str, tmp_path):
    config = config_of(task, "train.steps=2", "train.validate_every=2")
    list(train_run(tmp_path / "run", config, False, lambda: False))
    (shown,) = read_previews(Run(tmp_path / "run").previews)
    assert shown.samples and all(one.input for one in shown.samples)
    assert all(one.prediction for one in shown.samples) or task == "summarize", "which writes nothing yet"
    if task == "denoise":
        assert "…" in shown.samples[0].input
    if task == "causal-lm":
        assert all(one.prediction.startswith(one.input) for one in shown.samples)
    if task not in ("denoise", "summarize"):  # the first is no single stack, and documents are longer than a picture
        assert shown.attention is not None and len(shown.attention.rows) <= MAX_TOKENS
        assert all(sum(row) <= 1.02 for row in shown.attention.weights)


def test_training_is_the_same_bit_for_bit_without_previews(tiny: Callable, watched_run: Run, tmp_path, monkeypatch):
    monkeypatch.setattr(assemble, "_build_previews", lambda *arguments: NullPreviews())
    list(train_run(tmp_path / "bare", tiny("train.steps=7", "train.validate_every=3"), False, lambda: False))
    bare = Run(tmp_path / "bare")
    assert not bare.previews.exists()
    for path in (bare.weights(6), bare.weights(7)):
        assert path.exists() == watched_run.weights(int(path.stem)).exists()
    assert bare.best_weights().read_bytes() == watched_run.best_weights().read_bytes()


def test_a_run_that_is_extended_has_the_previews_of_one_that_was_never_stopped(
    tiny: Callable, watched_run: Run, tmp_path
):
    settings = ("train.validate_every=3", "train.schedule=constant")
    for name, steps in (("a", 10), ("b", 7)):
        list(train_run(tmp_path / name, tiny(*settings, f"train.steps={steps}"), False, lambda: False))
    list(resume_run(tmp_path / "b", {"train.steps": 10}, lambda: False))
    first, second = (Run(tmp_path / name).previews.read_text(encoding="utf-8") for name in "ab")
    assert first == second and [json.loads(line)["step"] for line in first.splitlines()] == [3, 6, 9, 10]


def test_what_a_killed_process_wrote_after_its_checkpoint_is_dropped(watched_run: Run):
    truncate_previews(watched_run.previews, 4, 3)
    assert [preview.step for preview in read_previews(watched_run.previews)] == [3]


def test_a_damaged_line_is_skipped_and_another_shape_refused(watched_run: Run):
    with watched_run.previews.open("a", encoding="utf-8") as file:
        file.write('{"step": 9, "samp')
    assert len(read_previews(watched_run.previews)) == 3
    watched_run.previews.write_text('{"step": "x"}\n', encoding="utf-8")
    with pytest.raises(RunError, match="a line is not a preview"):
        read_previews(watched_run.previews)


def test_the_model_is_left_in_training(watched_run: Run):
    config = watched_run.load_config()
    task = task_of(config)
    data = task.open_data(watched_run, config)
    model = task.build_model(config, data).train()
    trace_attention(model, task.find_attention_example(data))
    assert model.training and not any(tap.is_hooked for tap in named_taps(model).values())
