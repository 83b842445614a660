"""A folder with labs of every kind, what a run of all of them found, and a state folder of each test's own."""

from pathlib import Path

import pytest

from regard.labs.suite.suite import SuiteOptions, SuiteResult, choose_themes, run_suite

HEADER = '''"""{title}."""
import os
import time

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding, Need
from regard.report.pictures import BarPicture
from regard.report.table import Table

CLAIM = "Twice <{title}> & more is at least 5."
SOURCE = "a test"
PREDICT = "How much is *twice* it?"
CHANGE = "`SIZE=2`: is it less?"
CLAIMS = (7,)
'''
TWICE = """TURN = {"SIZE": (2, 3, 11)}
SIZE = 3


def double(number):
    return 2 * number


def run(seeds, double=double):
    values = [double(SIZE) + seed / 1000 for seed in seeds]
    table = Table({"seed": [str(seed) for seed in seeds], "twice": values})
    return Finding([Exact("rounding", [0.0]), Effect("twice it", values, least=5)], table, [Need("SIZE", [SIZE], 1)])


def draw(finding):
    return BarPicture(finding.table, "seed", "twice")


def broken(seeds):
    return run(seeds, double=lambda number: 0 * number)
"""
FAILING = "def run(seeds):\n    {statement}\n"
TEXT = TWICE.replace("double=double", "double=double, sentences=('one two three',)").replace(
    "double(SIZE) + seed / 1000", "double(len(sentences[0].split())) + seed / 1000"
)
LABS = {
    "twice": HEADER.format(title="Twice") + TWICE,
    "small": HEADER.format(title="Small")
    + TWICE.replace("SIZE = 3", "SIZE = 2").replace('TURN = {"SIZE": (2, 3, 11)}', ""),
    "needy": HEADER.format(title="Needy") + TWICE.replace("[SIZE], 1", "[SIZE], 13"),
    "text": HEADER.format(title="Text") + TEXT,
    "raises": HEADER.format(title="Raises") + FAILING.format(statement="print('noise'); return 1 / 0"),
    "leaves": HEADER.format(title="Leaves") + FAILING.format(statement="raise SystemExit(3)"),
    "dies": HEADER.format(title="Dies") + FAILING.format(statement="os._exit(5)"),
}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "regard"


@pytest.fixture(scope="session")
def own_labs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labs of a user."""
    folder = tmp_path_factory.mktemp("course") / "own"
    folder.mkdir()
    for name, text in LABS.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def suite(own_labs: Path) -> SuiteResult:
    """What was found with all of them, in two processes."""
    return run_suite(choose_themes(own_labs, ["own"]), SuiteOptions())
