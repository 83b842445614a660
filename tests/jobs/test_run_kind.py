"""A run that a command cannot use is refused in one sentence: what it is, and the command that uses it."""

from pathlib import Path
from typing import get_args

import pytest

from regard import config as settings
from regard.config import TASK_ARCHITECTURES, Config, TaskName
from regard.errors import RunError
from regard.jobs.run_kind import KINDS, find_task, is_imported, refuse, require_task
from regard.jobs.tasks.registry import MODULES, get_task, open_predictor
from regard.run import Run, write_text, write_versions
from regard.tasks.tag.tagger import Tagger

IMPORTED = {"embed": "encoder", "causal-lm": "decoder"}
TASKS = get_args(TaskName)


def make(task: str, architecture: str, **data: object) -> Config:
    return settings.build({"task": task, "model": {"architecture": architecture}, "data": data})


def write_run(folder: Path, config: Config) -> Run:
    run = Run(folder)
    write_versions(run)
    write_text(run.config, settings.dump(config))
    (folder / "best.json").write_text("{}")
    return run


def test_the_table_has_every_task():
    assert set(KINDS) == set(TASKS) == set(MODULES)
    for name in TASKS:
        assert get_task(name).next_commands("runs/x")[0] == KINDS[name].command.format(run="runs/x")


@pytest.mark.parametrize("other", TASKS)
@pytest.mark.parametrize("task", TASKS)
def test_a_run_of_another_task_is_refused_with_what_uses_it(task: str, other: str, tmp_path: Path):
    for architecture in TASK_ARCHITECTURES[task]:
        config = make(task, architecture, train=["train.en"])  # an imported model has no training files
        run = write_run(tmp_path, config)
        assert find_task(config) == task and not is_imported(config)
        if task == other:
            require_task(run, config, other)
            continue
        with pytest.raises(RunError) as refusal:
            open_predictor(tmp_path, other, "cpu")
        kind = KINDS[task]
        assert str(refusal.value) == (
            f"{tmp_path}: is {kind.name} (--task {task}), and cannot {KINDS[other].ability}; use it with "
            f"`{kind.command.format(run=tmp_path)}`"
        )


@pytest.mark.parametrize("other", TASKS)
@pytest.mark.parametrize("task", IMPORTED)
def test_an_imported_model_does_what_it_can_and_can_be_fine_tuned(task: str, other: str, tmp_path: Path):
    config = make("translate", IMPORTED[task])
    run = write_run(tmp_path, config)
    assert find_task(config) == task and is_imported(config)
    if task == other:
        require_task(run, config, other)
        return
    with pytest.raises(RunError) as refusal:
        require_task(run, config, other)
    message = str(refusal.value)
    assert f"{tmp_path}: is an imported " in message and KINDS[task].command.format(run=tmp_path) in message
    fine_tuned = f"or fine-tune it with `regard train FILES --task {other} --from {tmp_path}`" in message
    assert fine_tuned == (IMPORTED[task] in TASK_ARCHITECTURES[other])


def test_an_ability_that_no_task_has_is_named():
    message = str(refuse(Run(Path("runs/x")), make("tag", "decoder"), "be exported"))
    assert message == "runs/x: is a tagger (--task tag), and cannot be exported; use it with `regard tag runs/x < text`"
    assert "fine-tune" not in str(refuse(Run(Path("runs/x")), make("translate", "encoder"), "be exported"))


def test_a_run_without_weights_is_to_be_trained_further(tmp_path: Path):
    for task in TASKS:
        config = make(task, TASK_ARCHITECTURES[task][0])
        with pytest.raises(RunError, match=r"no validated weights yet, so it cannot .*--resume"):
            require_task(Run(tmp_path), config, task)


def test_a_run_of_the_task_is_opened(tagger_run: Path):
    assert isinstance(open_predictor(tagger_run, "tag", "cpu"), Tagger)
