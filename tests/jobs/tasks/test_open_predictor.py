"""A run of another task is refused with what it is and what fits it."""

from pathlib import Path

import pytest

from regard import config as settings
from regard.errors import RunError
from regard.jobs.tasks.open_predictor import open_predictor
from regard.run import Run, write_text, write_versions
from regard.tasks.tag.tagger import Tagger

OTHERS = {
    "translate": ({}, "was trained with --task translate, not --task tag; use it with `regard translate {} < text`"),
    "classify": (
        {"task": "classify", "model": {"architecture": "encoder"}},
        "was trained with --task classify, not --task tag; use it with `regard classify",
    ),
    "causal-lm": (
        {"task": "causal-lm", "model": {"architecture": "decoder"}},
        "was trained with --task causal-lm, not --task tag",
    ),
    "encoder": (
        {"model": {"architecture": "encoder"}},
        "is an encoder-only model without a task; fine-tune it with `regard train FILES --task tag --from {}`",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_runs_are_refused(name: str, tmp_path: Path):
    table, message = OTHERS[name]
    run = Run(tmp_path)
    write_versions(run)
    write_text(run.config, settings.dump(settings.build(table)))
    with pytest.raises(RunError) as refusal:
        open_predictor(tmp_path, "tag", "cpu")
    assert message.format(tmp_path) in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_run_of_the_task_is_opened(tagger_run: Path):
    assert isinstance(open_predictor(tagger_run, "tag", "cpu"), Tagger)
