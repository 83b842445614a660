"""A finished run with previews, and copies of it that may be changed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.jobs.train.fit import train_run
from regard.run import Run
from tests.jobs.conftest import files, tiny

__all__ = ["files", "tiny"]


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return []


@pytest.fixture
def watched_run(
    tiny: Callable, trained_once: list[Path], tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> Run:
    """A translator of seven steps that was validated at every third one."""
    if not trained_once:
        folder = tmp_path_factory.mktemp("live") / "run"
        list(train_run(folder, tiny("train.steps=7", "train.validate_every=3"), False, lambda: False))
        trained_once.append(folder)
    return Run(shutil.copytree(trained_once[0], tmp_path / "run"))
