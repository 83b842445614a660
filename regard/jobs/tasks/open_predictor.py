"""The predictor of a run, and what is said of a run that a command cannot handle: what it is, what fits it."""

from pathlib import Path
from typing import Any

from regard.config import TASK_ARCHITECTURES, Config
from regard.errors import RunError
from regard.jobs.run_kind import find_task, is_imported_language_model
from regard.jobs.tasks.registry import MODULES, get_task, task_of
from regard.run import Run, open_run

IMPORTED = {"encoder": "an encoder-only model", "decoder": "a language model"}
"""What a run is that has a single stack, and yet the task of all runs that name none: to translate."""


def open_predictor(folder: Path, task: str, device: str) -> Any:
    """What predicts with the best weights of a run of this task; runs of other tasks are refused."""
    require_task(folder, open_run(folder).load_config(), task)
    return get_task(task).load_predictor(folder, device)


def require_task(folder: Path, config: Config, task: str | None) -> str:
    """The task of a run; a run of another task than this one, if one is named, is refused."""
    if task is not None and task not in (config.task, find_task(config)):
        raise RunError(f"{folder}: {_describe_other(folder, config, task)}")
    return task or find_task(config)


def _describe_other(folder: Path, config: Config, task: str) -> str:
    """What the run is, and which command fits it."""
    if not is_trained_for_task(config):
        model = IMPORTED[config.model.architecture]
        return f"is {model} without a task; fine-tune it with `regard train FILES --task {task} --from {folder}`"
    trained = f"was trained with --task {config.task}, not --task {task}"
    if config.task not in MODULES:
        return trained
    return f"{trained}; use it with `{get_task(config.task).next_commands(str(folder))[0]}`"


def is_trained_for_task(config: Config) -> bool:
    """Whether the model is of a kind that its task trains; encoders and language models are also imported."""
    is_kind = config.model.architecture in TASK_ARCHITECTURES[config.task]
    return is_kind and not is_imported_language_model(config)


def refuse_run(run: Run, config: Config, ability: str) -> RunError:
    """The error of a command whose ability a run lacks, such as "translate"."""
    if is_trained_for_task(config):
        command = task_of(config).next_commands(str(run.folder))[0]
        return RunError(
            f"{run.folder}: was trained with --task {config.task}, and cannot {ability}; use it with `{command}`"
        )
    if config.model.architecture == "decoder":
        return RunError(f"{run.folder}: is a language model, which generates text and cannot {ability}.")
    return RunError(
        f"{run.folder}: is an encoder-only model, which cannot {ability}. Compare texts with it: "
        f'`regard similar {run.folder} "a text" "another"`, or embed them: '
        f"regard.load_encoder({str(run.folder)!r}).embed([…])"
    )
