"""What opens the model of a run, by the task that it was trained for."""

import importlib
from collections.abc import Callable
from typing import Any

from regard.errors import RunError
from regard.run import Run, open_run

MODULES = {
    "translate": ("regard.api.models", "load_translator"),
    "classify": ("regard.api.tasks.classification", "load_model"),
    "tag": ("regard.api.tasks.models", "load_tagger"),
    "causal-lm": ("regard.api.tasks.models", "load_generator"),
    "masked-lm": ("regard.api.tasks.models", "load_filler"),
}
"""Imported when they are needed: opening a run of one task loads nothing of the others."""

Loader = Callable[[Any, str, str], Any]
"""From a run folder, a device and a precision to a model."""


def find_loader(run: Run, expected: str | None = None) -> Loader:
    """What opens the model of a run; one of another task than expected is refused."""
    task = open_run(run.folder).load_config().task
    if expected is not None and task != expected:
        raise RunError(f"{run.folder}: was trained with --task {task}, not --task {expected}")
    module, name = MODULES[task]
    loader: Loader = getattr(importlib.import_module(module), name)
    return loader
