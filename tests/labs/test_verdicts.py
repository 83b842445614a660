"""Every lab finds what it is expected to find, and something else where its mechanism is taken out."""

import importlib

import pytest
import torch

from regard.labs.catalog import THEMES, all_labs, find_lab, read_themes
from regard.labs.header import MAX_LINES
from regard.labs.lab import load_lab
from regard.labs.verdict import Verdict

EXPECTED = {
    name: (theme, expected)
    for theme in THEMES
    for name, expected in importlib.import_module(f"tests.labs.expected.{theme}").EXPECTED.items()
}
FAST = [name for name, (_, (_, speed)) in EXPECTED.items() if speed == "fast"]
SLOW = [name for name, (_, (_, speed)) in EXPECTED.items() if speed == "slow"]
CASES = [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


def test_every_lab_has_an_expectation_in_its_theme():
    assert {lab.name: lab.theme for lab in all_labs()} == {name: theme for name, (theme, _) in EXPECTED.items()}


def test_every_file_of_a_theme_is_listed():
    for theme in read_themes():
        folder = theme.labs[0].path.parent if theme.labs else None
        if folder is not None:
            assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == {lab.name for lab in theme.labs}


@pytest.mark.parametrize("lab", list(all_labs()), ids=lambda lab: lab.name)
def test_a_lab_is_short_and_says_what_it_is(lab):
    lines = lab.path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES
    assert {"broken", "control"} & set(lab.functions)
    assert "draw" in lab.functions


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_as_expected_and_turns_without_the_mechanism(name):
    torch.set_num_threads(1)
    lab = load_lab(find_lab(name))
    result = lab.run()
    assert result.finding.verdict == Verdict(EXPECTED[name][1][0]), result.sentence
    assert result.picture().text(80)
    counterpart = lab.run_counterpart().verdict
    assert counterpart not in (result.finding.verdict, Verdict.UNDECIDED)
