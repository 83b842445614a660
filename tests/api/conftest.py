"""A folder with a corpus and a run, as a user of the Python API has one after five minutes."""

import os
from pathlib import Path

import pytest

import regard
from regard.config import parse_assignments
from tests.jobs.conftest import TINY

SMALL = parse_assignments(TINY)


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """pairs.tsv, new.tsv, and a run that has seen them for a few steps; no test writes here but evaluate."""
    folder = tmp_path_factory.mktemp("user")
    regard.corpus("english-french", pairs=300, seed=1, out=folder / "pairs.tsv")
    regard.corpus("english-french", pairs=13, seed=7, out=folder / "new.tsv")
    regard.train(folder / "pairs.tsv", out=folder / "runs" / "mine", steps=7, source="en", target="fr", settings=SMALL)
    return folder


@pytest.fixture
def folder(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, as the current folder."""
    monkeypatch.chdir(trained)
    assert Path(os.curdir).resolve() == trained.resolve()
    return trained
