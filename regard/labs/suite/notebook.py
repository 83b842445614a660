"""A lab as a Jupyter notebook: its file cut into cells, then its run and its picture."""

import ast
import json
from collections.abc import Iterator
from itertools import groupby

from regard.labs.header import LabHeader, parse_source
from regard.labs.lab import Lab

Cell = dict[str, object]

INSTALL = """\
import importlib.util

if importlib.util.find_spec("regard") is None:  # as in Colab
    get_ipython().run_line_magic("pip", "install regard")"""
RUN = """\
finding = run({seeds!r})
finding"""
DRAW = "draw(finding).chart(finding.headline)"


def write_notebook(lab: Lab) -> str:
    """The notebook as JSON (nbformat 4.5), without outputs."""
    header = lab.header
    texts: list[tuple[str, str]] = [("markdown", _introduce(header)), ("code", INSTALL)]
    texts += [("code", source) for source in split_source(header)]
    texts += [("markdown", "## What is found"), ("code", RUN.format(seeds=range(1, 1 + lab.num_seeds)))]
    texts += [("code", DRAW), ("markdown", f"## What to change next\n\n{header.change}")]
    content = {
        "cells": [_cell(number, kind, text) for number, (kind, text) in enumerate(texts)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def split_source(header: LabHeader) -> Iterator[str]:
    """The statements of the file with the comments above them; imports are one cell, and so are constants."""
    lines = header.path.read_text(encoding="utf-8").split("\n")
    statements = parse_source(header.path).body[1:]  # after the docstring, which is the title

    def kind(statement: ast.stmt) -> object:
        simple = isinstance(statement, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)
        return isinstance(statement, ast.Import | ast.ImportFrom) if simple else id(statement)

    end = next(iter(parse_source(header.path).body)).end_lineno or 0
    for _, group in groupby(statements, key=kind):
        last = list(group)[-1].end_lineno or end
        yield "\n".join(lines[end:last]).strip("\n")
        end = last


def _introduce(header: LabHeader) -> str:
    return (
        f"# {header.title}\n\n> {header.claim}\n\n{header.source}\n\n**Predict.** {header.predict} "
        f"Write down a number before you run the cells."
    )


def _cell(number: int, kind: str, text: str) -> Cell:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    cell: Cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines}
    return {**cell, "execution_count": None, "outputs": []} if kind == "code" else cell
