"""A complete lab as text, for tests that change it."""

from pathlib import Path

TEXT = '''"""A coin."""

import torch

from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.report.pictures import BarPicture
from regard.report.table import Table

CLAIM, SOURCE = "A coin is fair.", "a bet"
PREDICT = "How many heads?"
CHANGE: str = "TOSSES=7"
CLAIMS = (3, 5)
TURN = {"TOSSES": (5, 7)}

TOSSES, RATE, NAME, WIDTHS, SEEDS = 11, 0.5, "coin", (2, 3), 3


def run(seeds, toss=torch.rand):
    heads = over(seeds, lambda: float((toss(TOSSES) < RATE).double().mean()))
    return Finding([Effect("heads", heads, least=0.01)], Table({"seed": [str(s) for s in seeds], "heads": heads}))


def draw(finding):
    return BarPicture(finding.table, "seed", "heads")


def broken(seeds):
    return run(seeds, toss=torch.ones)
'''


def write_lab(folder: Path, *changes: tuple[str, str], name: str = "coin.py") -> Path:
    """The lab with these replacements, each of which is found."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
