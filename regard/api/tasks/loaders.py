"""What opens the model of a run, by the task that it was trained for."""

import importlib
from collections.abc import Callable
from typing import Any

from regard.jobs.run_kind import find_task, require_task
from regard.run import Run, open_run

MODULES = {
    "translate": ("regard.api.models", "load_translator"),
    "classify": ("regard.api.tasks.classification", "load_model"),
    "tag": ("regard.api.tasks.models", "load_tagger"),
    "causal-lm": ("regard.api.tasks.models", "load_generator"),
    "masked-lm": ("regard.api.tasks.models", "load_filler"),
    "denoise": ("regard.api.tasks.models", "load_denoiser"),
    "embed": ("regard.api.tasks.embedding", "load_model"),
}
"""Imported when they are needed: opening a run of one task loads nothing of the others."""

Loader = Callable[[Any, str, str], Any]
"""From a run folder, a device and a precision to a model."""


def find_loader(run: Run, expected: str | None = None) -> Loader:
    """What opens the model of a run; one of another task than expected is refused."""
    config = open_run(run.folder).load_config()
    task = expected or find_task(config)
    require_task(run, config, task)
    module, name = MODULES[task]
    loader: Loader = getattr(importlib.import_module(module), name)
    return loader
