"""The task of each name. A new task is a module with a TASK, and a line here."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard import config as settings
from regard.config import Config
from regard.errors import ConfigError
from regard.formats.files import format_suffix
from regard.formats.labeled.recognition import recognize
from regard.formats.registry import find_reader
from regard.formats.text import read_lines
from regard.formats.unsupported import require_text_suffix
from regard.jobs.run_kind import require_task
from regard.jobs.tasks.task import Task
from regard.run import open_run

MODULES = {
    "translate": "regard.jobs.tasks.translation.task",
    "classify": "regard.jobs.tasks.classification.task",
    "tag": "regard.jobs.tasks.tagging.task",
    "causal-lm": "regard.jobs.tasks.language.causal_lm",
    "masked-lm": "regard.jobs.tasks.language.masked_lm",
    "embed": "regard.jobs.tasks.embedding.task",
    "denoise": "regard.jobs.tasks.denoising.task",
}
"""Imported when they are needed: training one job loads nothing of the others."""


def get_task(name: str) -> Task:
    """The task of this name."""
    task: Task = importlib.import_module(MODULES[name]).TASK
    return task


def task_of(config: Config) -> Task:
    """The task that a config is for."""
    return get_task(config.task)


def open_predictor(folder: Path, task: str, device: str) -> Any:
    """What predicts with the best weights of a run of this task; other runs are refused."""
    run = open_run(folder)
    require_task(run, run.load_config(), task)
    return get_task(task).load_predictor(folder, device)


COLUMN_OPTIONS = ("--text", "--text-pair", "--label")
COLUMN_SETTINGS = {
    f"{task}.{name}": option
    for task, names in (("classify", ("text", "text_pair", "label")), ("embed", ("text", "text_pair", "similarity")))
    for name, option in zip(names, COLUMN_OPTIONS, strict=True)
}
"""The settings of columns, and the options that set them."""
TASKS_OF_FILES = {"labels": "classify", "tags": "tag"}
"""What is trained on files of labeled text, where no task is named."""
UNNAMED_SUFFIXES = (".csv", ".conll")
"""Formats of labeled text alone: without a task their files are an error, unless a plug-in reads pairs from them."""


def guess_task(files: Sequence[str]) -> str | None:
    """The task that training files are for, where they leave no doubt; None: pairs of sentences, as ever."""
    paths = [Path(file) for file in files]
    if kind := recognize(paths):
        return TASKS_OF_FILES[kind]
    for path in paths:
        suffix = format_suffix(path)
        if suffix in UNNAMED_SUFFIXES and path.is_file() and find_reader(suffix) is None:
            raise ConfigError(f"{path}: does not say what to train for; name it with --task: {', '.join(MODULES)}")
    if len(paths) % 2 and all(map(_is_text, paths)):
        raise ConfigError(
            f"{paths[-1]}: a text file without a partner does not say what to train for; name it with --task: "
            f"{', '.join(MODULES)}. The first needs two aligned files"
        )
    return None


def _is_text(path: Path) -> bool:
    """Whether a file has lines of plain text, without columns."""
    if not path.is_file() or find_reader(format_suffix(path)) is not None:
        return False
    require_text_suffix(path)
    return "\t" not in next(read_lines(path), "")


def complete_task(config: Config) -> Config:
    """The config with the task that its columns or files are for, where it names none.

    Columns that its task does not read are refused: they would be ignored silently.
    """
    values = settings.flatten(config.model_dump())
    columns = [name for name in COLUMN_SETTINGS if values[name]]
    section = columns[0].partition(".")[0] if columns else None
    if "task" not in settings.explicit_settings(config) and (task := section or guess_task(config.data.train)):
        config = settings.with_values(config, {"task": task})
    if section and section != config.task:
        option = COLUMN_SETTINGS[columns[0]]
        raise ConfigError(f"{option} names a column of a table, which --task {config.task} does not read")
    return config
