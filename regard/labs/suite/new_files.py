"""Files of labs for the user: a copy of one of ours, and a skeleton that runs."""

import re
from pathlib import Path

from regard.atomic import write_text
from regard.errors import LabError

NAME = re.compile(r"[a-z][a-z0-9_]*")
SKELETON = '''"""{title}."""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "What is claimed, in one sentence."
SOURCE = "who claims it, and where"
PREDICT = "What number do you expect?"
CHANGE = "SIZE=1000: does the interval become narrower?"
TURN = {{"SIZE": (7, 70, 700)}}

SIZE = 7


def measure(draw_numbers: Callable[[int], torch.Tensor]) -> float:
    """Replace this by a measurement: one number of one seed."""
    return float(draw_numbers(SIZE).mean())


def run(seeds: Sequence[int], draw_numbers: Callable[[int], torch.Tensor] = torch.randn) -> Finding:
    values = over(seeds, partial(measure, draw_numbers))
    return Finding(
        # `least` is a part of the claim: how large the effect has to be to matter. Choose it before you measure.
        [Effect("the mean of random numbers", values, least=0.05)],
        Table.from_rows({{"seed": str(seed), "mean": value}} for seed, value in zip(seeds, values, strict=True)),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "seed", "mean")


def broken(seeds: Sequence[int]) -> Finding:
    """The mechanism taken out: the verdict must turn. Here all numbers are 0, so their mean is, too."""
    return run(seeds, draw_numbers=torch.zeros)
'''


def write_copy(source: Path, out: Path | None) -> Path:
    """A copy of a lab's file, in the current folder unless `out` says where; an existing file is never replaced."""
    return _write_new(out, source.name, source.read_text(encoding="utf-8"))


def write_skeleton(name: str, out: Path | None) -> Path:
    """A new lab that runs, and whose verdict is undecided."""
    name = name.removesuffix(".py")
    if not NAME.fullmatch(name):
        raise LabError(f"'{name}' cannot name a lab: use small letters, digits and _, as in my_claim")
    return _write_new(out, f"{name}.py", SKELETON.format(title=name.replace("_", " ").capitalize()))


def _write_new(out: Path | None, name: str, text: str) -> Path:
    path = Path(name) if out is None else out / name if out.is_dir() else out
    if path.exists() or path.is_symlink():
        raise LabError(f"{path} exists and is not replaced; name another file with --out")
    write_text(path, text)
    return path
