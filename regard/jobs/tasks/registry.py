"""The task of each name. A new task is a module with a TASK, and a line here."""

import importlib

from regard.config import Config
from regard.jobs.tasks.task import Task

MODULES = {
    "translate": "regard.jobs.tasks.translation.task",
    "classify": "regard.jobs.tasks.classification.task",
    "tag": "regard.jobs.tasks.tagging.task",
    "causal-lm": "regard.jobs.tasks.language.causal_lm",
    "masked-lm": "regard.jobs.tasks.language.masked_lm",
}
"""Imported when they are needed: training one job loads nothing of the others."""


def get_task(name: str) -> Task:
    """The task of this name."""
    task: Task = importlib.import_module(MODULES[name]).TASK
    return task


def task_of(config: Config) -> Task:
    """The task that a config is for."""
    return get_task(config.task)
