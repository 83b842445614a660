"""Paired tests are sacreBLEU's, to the last digit."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from regard.errors import DataError
from regard.metrics import paired_tests

WORDS = (
    "le",
    "la",
    "un",
    "une",
    "chien",
    "chat",
    "fille",
    "garçon",
    "mange",
    "dort",
    "voit",
    "grand",
    "rouge",
    ".",
    ",",
)


def texts(seed: int, noise: float) -> list[str]:
    rng, out = random.Random(3), []
    other = random.Random(seed)
    for _ in range(37):
        words = rng.choices(WORDS, k=rng.randint(3, 11))
        out.append(" ".join(w if other.random() > noise else other.choice(WORDS) for w in words))
    return out


SYSTEMS = {"first": texts(1, 0.3), "second": texts(2, 0.35), "third": texts(3, 0.6)}
REFERENCES = texts(0, 0.0)


@pytest.mark.parametrize("kind", ["bs", "ar"])
@pytest.mark.parametrize("seed", ["12345", "7"])
def test_they_agree_with_the_sacrebleu_command(kind: str, seed: str, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    for name, lines in (SYSTEMS | {"ref": REFERENCES}).items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def run_sacrebleu(*options: str) -> str:
        command = [sys.executable, "-m", "sacrebleu", "ref", "-i", *SYSTEMS, f"--paired-{kind}", *options]
        out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=dict(os.environ))
        return out.stdout

    ours = paired_tests(SYSTEMS, REFERENCES, kind)
    compared = 0
    for row in json.loads(run_sacrebleu("-f", "json", "-m", "bleu")):
        name = row["system"].removeprefix("Baseline: ")
        for metric, title in (("bleu", "BLEU"),):
            test = ours[name][metric]
            assert test.score == pytest.approx(row[title]["score"], abs=1e-9)
            assert (test.p is None) == (name == "first")
            if test.p is not None:
                assert test.p == row[title]["p_value"]
                compared += 1
    assert compared == 2
    # As JSON the command cannot write chrF and TER: their bootstrap numbers have another type.
    text = run_sacrebleu("-f", "text", "-m", "chrf", "ter")
    chances = [float(p) for p in re.findall(r"p = ([0-9.]+)\)", text)]
    assert chances == [round(ours[s][m].p, 4) for s in ("second", "third") for m in ("chrf", "ter")]
    assert ours["second"]["bleu"].p != ours["third"]["bleu"].p  # else the comparison would say nothing


def test_a_much_worse_system_is_significantly_so_and_an_equal_one_is_not():
    tests = paired_tests({"a": SYSTEMS["first"], "same": SYSTEMS["first"], "worse": SYSTEMS["third"]}, REFERENCES, "bs")
    assert tests["worse"]["bleu"].significant and not tests["same"]["bleu"].significant
    assert not tests["a"]["bleu"].significant


def test_lists_of_unequal_length_and_a_single_system_are_refused():
    with pytest.raises(DataError, match="36 translations but 37 references"):
        paired_tests({"a": SYSTEMS["first"], "b": SYSTEMS["second"][:-1]}, REFERENCES, "bs")
    with pytest.raises(DataError, match="two systems"):
        paired_tests({"a": SYSTEMS["first"]}, REFERENCES, "ar")
