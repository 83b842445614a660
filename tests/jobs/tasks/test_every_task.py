"""What holds for the training of one task holds for all of them."""

import itertools
import signal
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
import torch
from torch.testing import assert_close

from regard import config as settings
from regard.atomic import TEMPORARY_SUFFIX
from regard.config import Config, TaskName
from regard.jobs.tasks.registry import get_task
from regard.jobs.train.fit import resume_run, train_run
from regard.model import weights
from regard.run import Run
from regard.training import log
from tests.commands import run_command
from tests.jobs.train.test_fit import assert_same

TASKS = get_args(TaskName)
of_every_task = pytest.mark.parametrize("task", TASKS)
KILLED_OFTEN = ("translate", "classify", "embed")
"""One with two stacks, one with labels, and one whose rows are compared; the others are killed by `make slow`."""
of_independent_rows = pytest.mark.parametrize("task", [name for name in TASKS if name != "embed"])
"""Not embed: two batches of half of the rows, which are each other's negatives, are not one batch of all of them. What
two processes train is tested in tests/jobs/tasks/embedding."""
ConfigOf = Callable[..., Config]
# A cosine ends with the run, and dropout is chosen by its length: five steps of ten would not be five of five.
REGULAR = (
    "train.schedule=inverse-sqrt",
    "model.dropout=0.1",
    "train.validate_every=4",
    "train.save_every=3",
    "train.average_checkpoints=2",
)
KILLS = (("latest.json", 2), ("scores/test.json", 1))
"""While the second checkpoint is saved, and while the finished model is scored."""


def never() -> bool:
    return False


@of_every_task
def test_five_steps_and_five_are_ten_bit_for_bit(task: str, config_of: ConfigOf, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(type(get_task(task)), "write_report", lambda *arguments: None)  # which takes longer than steps
    for name, steps in (("whole", 10), ("parts", 5)):
        list(train_run(tmp_path / name, config_of(task, *REGULAR, f"train.steps={steps}"), False, never))
    list(resume_run(tmp_path / "parts", {"train.steps": 10}, never))
    assert_same(tmp_path / "whole", tmp_path / "parts")
    losses = [[step.loss for step in log.read_steps(Run(tmp_path / name).log)] for name in ("whole", "parts")]
    assert losses[0] == losses[1] and len(set(losses[0])) == 10


@of_every_task
def test_a_stop_between_two_checkpoints_changes_nothing(task: str, config_of: ConfigOf, tmp_path: Path, monkeypatch):
    """Ctrl-C asks to stop, and is heeded after the step that is under way."""
    monkeypatch.setattr(type(get_task(task)), "write_report", lambda *arguments: None)
    config = config_of(task, *REGULAR, "train.steps=6")
    list(train_run(tmp_path / "whole", config, False, never))
    asked = itertools.count()
    list(train_run(tmp_path / "stopped", config, False, lambda: next(asked) >= 4))
    stopped = Run(tmp_path / "stopped")
    assert not stopped.finished() and stopped.saved_steps()[-1] not in (0, 3, 6)  # where it would have saved anyway
    list(resume_run(stopped.folder, {}, never))
    assert stopped.finished()
    assert_same(tmp_path / "whole", stopped.folder)


@pytest.mark.parametrize(
    "task", [name if name in KILLED_OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in TASKS]
)
def test_killed_and_resumed_ends_as_if_undisturbed(task: str, config_of: ConfigOf, tmp_path: Path):
    output = tmp_path / "output.txt"
    (tmp_path / "config.toml").write_text(settings.dump(config_of(task, *REGULAR, "train.steps=7")), encoding="utf-8")
    for name, kills in (("whole", ()), ("killed", KILLS)):
        argv = ["train", "config.toml", "--out", name]
        for kill in kills:
            assert run_command(argv, tmp_path, output, kill_before=kill) == -signal.SIGKILL, output.read_text()
            argv = ["train", "--resume", name]
        assert run_command(argv, tmp_path, output) == 0, output.read_text()
    assert_same(tmp_path / "whole", tmp_path / "killed")
    assert not list((tmp_path / "killed").rglob(f"*{TEMPORARY_SUFFIX}"))


@of_independent_rows
def test_two_processes_train_what_one_would(task: str, config_of: ConfigOf, tmp_path: Path):
    exact = ("train.precision=float64", "model.dropout=0", "train.schedule=inverse-sqrt", "train.steps=5")
    for name, ranks, batches in (("one", 1, 2), ("two", 2, 1)):
        config = config_of(task, *exact, f"train.accumulate_batches={batches}")
        (tmp_path / f"{name}.toml").write_text(settings.dump(config), encoding="utf-8")
        output = tmp_path / f"{name}.txt"
        argv = ["train", f"{name}.toml", "--out", name]
        assert run_command(argv, tmp_path, output, ranks=ranks) == 0, output.read_text()
    one, two = (weights.read(Run(tmp_path / name).weights(5)) for name in ("one", "two"))
    assert one.keys() == two.keys() and next(iter(one.values())).dtype == torch.float64
    for name in one:
        assert_close(two[name], one[name], rtol=0, atol=1e-9)
    steps = [log.read_steps(Run(tmp_path / name).log) for name in ("one", "two")]
    assert len(steps[1]) == 5  # one log, written by one of them
    for mine, theirs in zip(*steps, strict=True):
        assert mine.tokens == theirs.tokens and mine.loss == pytest.approx(theirs.loss, abs=1e-9)
