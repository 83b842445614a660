"""The ranges of pyproject.toml can be checked: each has a lower bound, and what is tested together lies within."""

from packaging.requirements import Requirement

from scripts.versions import ROOT, lower_bounds, read_requirements


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
