"""The ranges of pyproject.toml can be checked: each has a lower bound, and what is tested together lies within."""

import tomllib

import pytest
from packaging.requirements import Requirement

from scripts.versions import EXTRAS, FILES, ROOT, Outcome, lower_bounds, read_requirements, smoke_commands
from tests.docs.test_commands import mistakes


def test_a_lower_bound_becomes_an_exact_version():
    assert lower_bounds(["lxml>=5", "psycopg[binary]>=3.1", "mkdocs>=1.6,<2", "polib"]) == [
        "lxml==5",
        "psycopg==3.1",
        "mkdocs==1.6",
    ]


def test_every_requirement_has_a_lower_bound():
    assert len(lower_bounds(read_requirements())) == len(read_requirements()) > 13


def test_versions_that_are_tested_together_lie_in_the_ranges():
    exact = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split("\n") if "==" in line)
    ranges = {Requirement(text).name: Requirement(text).specifier for text in read_requirements()}
    assert {name for name, allowed in ranges.items() if name in exact and exact[name] not in allowed} == set()
    assert len(ranges.keys() & exact.keys()) > 13


def test_all_extras_of_users_are_installed():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(EXTRAS) == extras.keys() - {"dev", "docs"}


@pytest.mark.parametrize(
    "line", [line for line in smoke_commands() if line.startswith("regard ") and "--help" not in line]
)
def test_the_commands_of_the_smoke_path_exist(line: str):
    assert mistakes(line.removeprefix("regard ")) == []


def test_the_files_of_the_smoke_path_can_be_read():
    compile(FILES["make_bert.py"], "make_bert.py", "exec")
    assert {len(line.split("\t")) for line in FILES["japanese.tsv"].splitlines()} == {2}


def test_an_outcome_shows_what_failed():
    lines = list(
        Outcome("newest", "Python 3.13.0", "28 of 29 commands", "numpy 2", ["regard heads\nerror: x\n"]).lines()
    )
    assert lines[0] == "## newest, Python 3.13.0: 28 of 29 commands" and lines[2] == "numpy 2"
    assert lines[-5:] == ["", "```text", "regard heads\nerror: x", "```", ""]
