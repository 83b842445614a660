"""Loading and running a lab: knobs, parts that are handed in, and errors with the line of the file."""

import re
from pathlib import Path

import pytest
import torch

from regard.errors import LabError
from regard.labs.lab import load_lab
from regard.labs.verdict import Verdict
from tests.labs.lab_files import write_lab


def test_a_lab_runs_with_its_seeds(tmp_path: Path):
    lab = load_lab(write_lab(tmp_path))
    result = lab.run(first_seed=7)
    assert result.seeds == (7, 8, 9)  # SEEDS = 3
    assert result.finding.verdict is Verdict.UNDECIDED or result.finding.verdict is Verdict.HOLDS
    assert result.sentence.endswith("Here: TOSSES = 11, RATE = 0.5, NAME = coin, WIDTHS = 2, 3, SEEDS = 3; 3 seeds.")
    assert result.picture().text(60).startswith("heads by seed")
    assert lab.run(first_seed=7).finding.sentence == result.finding.sentence


def test_a_part_is_handed_in_by_its_name(tmp_path: Path):
    lab = load_lab(write_lab(tmp_path))
    assert lab.run(toss=torch.zeros).finding.parts[0].mean == 1.0
    assert lab.run_counterpart().parts[0].mean == 0.0


def test_a_knob_is_turned_for_one_lab_only(tmp_path: Path):
    path = write_lab(tmp_path)
    turned = load_lab(path, {"TOSSES": "7", "RATE": "1", "NAME": "penny", "WIDTHS": "5"})
    assert turned.knobs == {"TOSSES": 7, "RATE": 1.0, "NAME": "penny", "WIDTHS": (5,), "SEEDS": 3}
    assert turned.run().finding.parts[0].mean == 1.0
    assert load_lab(path).knobs["TOSSES"] == 11


@pytest.mark.parametrize(
    ("knob", "text", "message"),
    [
        ("TOSES", "7", "lab 'coin' has no knob 'TOSES'; did you mean TOSSES?"),
        ("tosses", "7", "lab 'coin' has no knob 'tosses'; did you mean TOSSES?"),
        ("CLAIM", "x", "lab 'coin' has no knob 'CLAIM'; it has TOSSES, RATE, NAME, WIDTHS, SEEDS"),
        ("TOSSES", "many", "knob TOSSES of lab 'coin' cannot be 'many'; expected one like 11"),
        ("TOSSES", "7.5", "knob TOSSES of lab 'coin' cannot be '7.5'; expected one like 11"),
        ("TOSSES", "True", "knob TOSSES of lab 'coin' cannot be 'True'; expected one like 11"),
        (
            "TOSSES",
            "__import__('os')",
            "knob TOSSES of lab 'coin' cannot be \"__import__('os')\"; expected one like 11",
        ),
        ("WIDTHS", "(2, 'x')", "knob WIDTHS of lab 'coin' cannot be \"(2, 'x')\"; expected one like (2, 3)"),
        ("WIDTHS", "()", "knob WIDTHS of lab 'coin' cannot be '()'; expected one like (2, 3)"),
    ],
)
def test_a_knob_that_does_not_fit_is_refused(tmp_path: Path, knob: str, text: str, message: str):
    with pytest.raises(LabError, match=f"^{re.escape(message)}$"):
        load_lab(write_lab(tmp_path), {knob: text})


def test_an_error_has_the_line_of_the_file(tmp_path: Path):
    lab = load_lab(write_lab(tmp_path, ("    heads = over(", "    seeds[99]\n    heads = over(")))
    with pytest.raises(LabError, match=r"^run\(\) of lab 'coin' failed: IndexError in line 21: tuple index"):
        lab.run()
    path = write_lab(tmp_path, ("TOSSES, RATE", "1 / 0\nTOSSES, RATE"))
    with pytest.raises(LabError, match=r"coin.py cannot be loaded: ZeroDivisionError in line 17: division by zero"):
        load_lab(path)


def test_a_run_returns_a_finding(tmp_path: Path):
    lab = load_lab(write_lab(tmp_path, ("    return Finding(", "    return str(")))
    with pytest.raises(LabError, match="failed: TypeError in line 22"):
        lab.run()
    lab = load_lab(write_lab(tmp_path, ("    heads = over(", "    return 7\n    heads = over(")))
    with pytest.raises(LabError, match=r"^run\(\) of lab 'coin' returned int, but a Finding is expected$"):
        lab.run()


def test_a_lab_without_a_counterpart_says_so(tmp_path: Path):
    lab = load_lab(write_lab(tmp_path, ("def broken(", "def other(")))
    with pytest.raises(LabError, match=r"lab 'coin' has neither broken\(seeds\) nor control\(seeds\)"):
        lab.run_counterpart()
    lab = load_lab(write_lab(tmp_path, ("def broken(", "def control(")))
    assert lab.run_counterpart().parts[0].mean == 0.0
