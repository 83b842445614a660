"""The predictor of a run, if the run was trained for the task that is asked for."""

from pathlib import Path
from typing import Any

from regard.config import Config
from regard.errors import RunError
from regard.jobs.tasks.refusal import is_trained_for_task
from regard.jobs.tasks.registry import MODULES, get_task
from regard.run import open_run

IMPORTED = {"encoder": "an encoder-only model", "decoder": "a language model"}
"""What a run is that has a single stack, and yet the task of all runs that name none: to translate."""


def open_predictor(folder: Path, task: str, device: str) -> Any:
    """What predicts with the best weights of a run of this task; runs of other tasks are refused."""
    config = open_run(folder).load_config()
    if config.task != task:
        raise RunError(f"{folder}: {_describe_other(folder, config, task)}")
    return get_task(task).load_predictor(folder, device)


def _describe_other(folder: Path, config: Config, task: str) -> str:
    """What the run is, and which command fits it."""
    if not is_trained_for_task(config):
        model = IMPORTED[config.model.architecture]
        return f"is {model} without a task; fine-tune it with `regard train FILES --task {task} --from {folder}`"
    trained = f"was trained with --task {config.task}, not --task {task}"
    if config.task not in MODULES:
        return trained
    return f"{trained}; use it with `{get_task(config.task).next_commands(str(folder))[0]}`"
