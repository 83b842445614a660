"""What opens the model of a run, by the task that it was trained for."""

import importlib
from collections.abc import Callable
from typing import Any

from regard.run import Run, open_run

MODULES = {
    "translate": ("regard.api.models", "load_translator"),
    "classify": ("regard.api.classification", "load_model"),
}
"""Imported when they are needed: opening a run of one task loads nothing of the others."""

Loader = Callable[[Any, str, str], Any]
"""From a run folder, a device and a precision to a model."""


def find_loader(run: Run) -> Loader:
    """What opens the model of a run."""
    module, name = MODULES[open_run(run.folder).load_config().task]
    loader: Loader = getattr(importlib.import_module(module), name)
    return loader
