"""What a lab may be run on or with: sentences of the user, and functions of a student."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.errors import FormatError, LabError
from regard.formats import read_pairs
from regard.formats.reader import read_lines
from regard.formats.registry import find_reader
from regard.labs.header import LabHeader
from regard.labs.lab import Lab

SENTENCES = "sentences"
"""The parameter of run(…) by which a lab takes sentences."""


def read_sentences(paths: Sequence[str]) -> list[str]:
    """The source sides of pairs, or the lines of one text file; empty ones are left out."""
    if len(paths) == 1 and Path(paths[0]).is_file() and not find_reader(Path(paths[0]).suffix):
        sentences: Iterable[str] = read_lines(Path(paths[0]))
    else:
        sentences = (pair.source for pair in read_pairs(paths))
    kept_sentences = [sentence.strip() for sentence in sentences if sentence.strip()]
    if not kept_sentences:
        raise FormatError(f"{' '.join(paths)}: there is no sentence; expected one on each line, or pairs")
    return kept_sentences


def require_sentences(lab: LabHeader, labs: Iterable[LabHeader]) -> None:
    """Refuse data for a lab that takes none, and name those that do."""
    if SENTENCES in lab.parameters:
        return
    takers = [one.name for one in labs if SENTENCES in one.parameters]
    hint = f"these do: {', '.join(takers)}" if takers else "none of the labs does; one of your own may"
    raise LabError(f"lab '{lab.name}' takes no sentences, since its run has no parameter `{SENTENCES}`; {hint}")


def match_parts(lab: Lab, parts: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The parameters of a lab's run for which there is a part: one of their own name, or of their default's."""
    matches = {}
    for name, parameter in inspect.signature(lab.module.run).parameters.items():
        default = getattr(parameter.default, "__name__", "")
        if name in parts or default in parts:
            matches[name] = parts[name] if name in parts else parts[default]
    return matches


def mechanisms(lab: Lab) -> list[str]:
    """The names by which parts can take the place of a lab's mechanisms."""
    names: dict[str, None] = {}
    for name, parameter in inspect.signature(lab.module.run).parameters.items():
        if parameter.default is not parameter.empty and name != SENTENCES:
            names |= dict.fromkeys([name, getattr(parameter.default, "__name__", name)])
    return list(names)


def require_match(lab: Lab, path: Path) -> None:
    """Refuse a file of which a lab can use nothing."""
    parts = load_parts(path)
    if not match_parts(lab, parts):
        expected = mechanisms(lab)
        takes = f"it takes {', '.join(expected)}" if expected else "its run takes no mechanism"
        raise LabError(
            f"lab '{lab.header.name}' can use nothing of {path}, which has {', '.join(parts) or 'no function'}; {takes}"
        )


def load_parts(path: Path) -> dict[str, Callable[..., Any]]:
    """The functions of a student's file."""
    from regard.labs.checker import load_parts as load_functions  # which imports torch, and every assignment

    return dict(load_functions(path))
