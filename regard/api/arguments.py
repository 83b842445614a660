"""Arguments as people write them, in the form that jobs take them."""

import os
from collections.abc import Sequence
from pathlib import Path

AnyPath = str | os.PathLike[str]
"""A path as a string, a `Path`, or an object that stands for one, as a `TrainedRun` does."""
Files = AnyPath | Sequence[AnyPath]
"""One file of pairs, or two aligned text files."""


def list_files(files: Files | Sequence[Files] | None) -> list[str]:
    """The paths of one file or of several; none for None."""
    if files is None:
        return []
    if isinstance(files, str | os.PathLike):
        return [os.fspath(files)]
    return [path for file in files for path in list_files(file)]


def to_paths(files: Sequence[Files]) -> list[Path]:
    """The paths of positional arguments, of which each may be a list: train(a, b) is train([a, b])."""
    return list(map(Path, list_files(files)))


def optional_path(path: AnyPath | None) -> Path | None:
    return None if path is None else Path(path)


def require_text(text: str, function: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{function} takes one sentence as a str, got {type(text).__name__}")


def require_texts(texts: Sequence[str], function: str) -> list[str]:
    """The texts of a list or a tuple; anything else is a TypeError that says what was expected."""
    if not isinstance(texts, list | tuple):
        raise TypeError(f"{function} takes a str or a list of str, got {type(texts).__name__}")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{function} takes a list of str, but item {i} is of type {type(text).__name__}")
    return list(texts)
