"""What is read of a lab without running it, and what is said of a file that is none."""

import re
from pathlib import Path

import pytest

from regard.errors import LabError
from regard.labs.header import read_header
from tests.labs.lab_files import TEXT, write_lab


def refusal(path: Path) -> str:
    with pytest.raises(LabError) as error:
        read_header(path)
    return str(error.value).replace(str(path), "FILE")


def test_a_header_is_read(tmp_path: Path):
    header = read_header(write_lab(tmp_path))
    assert (header.name, header.theme, header.title) == ("coin", tmp_path.name, "A coin")
    assert (header.claim, header.source) == ("A coin is fair.", "a bet")
    assert (header.predict, header.change) == ("How many heads?", "TOSSES=7")
    assert (header.claims, header.turn) == ((3, 5), {"TOSSES": (5, 7)})
    assert header.functions == ("run", "draw", "broken")


def test_nothing_of_the_file_is_run(tmp_path: Path):
    witness = tmp_path / "witness"
    header = read_header(write_lab(tmp_path, ("import torch\n", f"open({str(witness)!r}, 'w'); 1 / 0\n")))
    assert header.name == "coin"
    assert not witness.exists()


def test_claims_and_knob_may_be_missing(tmp_path: Path):
    header = read_header(write_lab(tmp_path, ("CLAIMS = (3, 5)\n", ""), ('TURN = {"TOSSES": (5, 7)}\n', "")))
    assert (header.claims, header.turn) == ((), {})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "def run(",
            "def walk(",
            "FILE is not a lab: it has no function run(seeds); `regard lab --new NAME` writes one",
        ),
        ('"""A coin."""', "", "FILE is not a complete lab: it lacks a title, the docstring of the file"),
        ("PREDICT", "predict", "FILE is not a complete lab: it lacks PREDICT"),
        ('"a bet"', "7", "FILE is not a complete lab: it lacks SOURCE"),
        ("(3, 5)", "5", "FILE: CLAIMS is 5; expected a tuple of numbers, as (21,)"),
        ("(3, 5)", "('3',)", "FILE: CLAIMS is ('3',); expected a tuple of numbers, as (21,)"),
        ('{"TOSSES": (5, 7)}', "7", "FILE: TURN is 7; expected a knob and its values, as {'DIM': (16, 64)}"),
        ("(5, 7)}", "()}", "FILE: TURN is {'TOSSES': ()}; expected a knob and its values, as {'DIM': (16, 64)}"),
        ("def draw(finding):", "def draw(finding:", "FILE, line 25, column 9: '(' was never closed"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(tmp_path: Path, old: str, new: str, message: str):
    assert refusal(write_lab(tmp_path, (old, new))) == message


def test_several_missing_texts_are_said_at_once(tmp_path: Path):
    message = refusal(write_lab(tmp_path, ('"""A coin."""', ""), ("CHANGE: str", "change"), ("PREDICT", "predict")))
    assert message.endswith("it lacks a title, the docstring of the file, PREDICT, CHANGE")


def test_a_file_that_cannot_be_read(tmp_path: Path):
    assert refusal(tmp_path / "missing.py") == "FILE cannot be read: No such file or directory"
    path = tmp_path / "latin.py"
    path.write_bytes(TEXT.encode() + b"# \xe9\n")
    assert refusal(path) == "FILE is not a file of Python: it is not UTF-8 text"


@pytest.mark.parametrize("text", ["x = 1\0", "x = " + "(" * 5000 + ")" * 5000, "x = " + "-" * 100_000 + "1"])
def test_a_hostile_file_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "hostile.py"
    path.write_text(text, encoding="utf-8")
    # the reason is Python's own, which differs by version
    assert re.match(r"FILE((, line \d+, column \d+)?| is not a file of Python): \w", refusal(path))
