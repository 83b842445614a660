"""The code that a reader opens to follow one forward pass of the plain encoder-decoder.

    python scripts/forward_lines.py

A file counts as a whole where one of its functions runs; blank lines, comments and docstrings do not count.
"""

import ast
import sys
from pathlib import Path
from types import FrameType

import torch

import regard
from regard.config import ModelConfig
from regard.model.build import build

ROOT = Path(regard.__file__).parent


def files_of_a_forward_pass() -> set[Path]:
    """Every file of the package of which the forward pass runs a function."""
    model = build(ModelConfig(dim=22, heads=2, ffn=13, layers=2), 23, 23, joint=True, pad=0)
    files: set[Path] = set()

    def profile(frame: FrameType, event: str, arg: object) -> None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT):
            files.add(path)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        model(torch.randint(4, 23, (2, 5)), torch.randint(4, 23, (2, 7)))
    finally:
        sys.setprofile(before)
    return files


def code_lines(source: str) -> int:
    """Lines without blank ones, comments and docstrings."""
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(source.split("\n"), start=1)
    return sum(bool(line.strip()) and line.strip()[0] != "#" and n not in docstrings for n, line in lines)


def forward_lines() -> dict[str, int]:
    """The code lines of each file of a forward pass."""
    files = sorted(files_of_a_forward_pass())
    return {str(path.relative_to(ROOT.parent)): code_lines(path.read_text(encoding="utf-8")) for path in files}


if __name__ == "__main__":
    counts = forward_lines()
    for name, count in counts.items():
        print(f"{count:5}  {name}")
    print(f"{sum(counts.values()):5}  lines in {len(counts)} files")
