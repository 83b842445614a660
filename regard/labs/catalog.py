"""All labs, by theme in reading order, and where to find one by its name."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from regard.errors import LabError
from regard.labs.header import LabHeader, read_header

THEMES = ("equation", "heads", "order", "lengths", "distance", "depth", "numbers", "meaning", "raw_text")


@dataclass(frozen=True)
class Theme:
    """A folder of labs."""

    name: str
    title: str
    paragraph: str
    labs: tuple[LabHeader, ...]


@cache
def read_themes() -> tuple[Theme, ...]:
    """Every theme with the headers of its labs; no lab is loaded."""
    return tuple(_read_theme(name) for name in THEMES)


def all_labs() -> Iterator[LabHeader]:
    for theme in read_themes():
        yield from theme.labs


def find_lab(name: str) -> Path:
    """The file of a lab, by its name or by a path."""
    if name.endswith(".py"):
        if not Path(name).is_file():
            raise LabError(f"there is no file {name}")
        return Path(name)
    paths = {lab.name: lab.path for lab in all_labs()}
    if name not in paths:
        close = get_close_matches(name, paths, n=3, cutoff=0.5) or [one for one in paths if name in one]
        hint = f"did you mean {' or '.join(close)}?" if close else "`regard lab` lists them"
        raise LabError(f"there is no lab '{name}'; {hint}")
    return paths[name]


def read_folder(folder: Path) -> Theme:
    """The labs of a user's own folder as a theme, in the order of their names."""
    labs = tuple(read_header(path) for path in sorted(folder.glob("*.py")) if path.name != "__init__.py")
    if not labs:
        raise LabError(f"there is no lab in {folder}: it has no file of Python")
    return Theme(folder.name, folder.resolve().name, "", labs)


def _read_theme(name: str) -> Theme:
    package = importlib.import_module(f"regard.labs.{name}")
    title, _, paragraph = (package.__doc__ or "").partition("\n")
    folder = Path(package.__path__[0])
    labs = tuple(read_header(folder / f"{lab}.py") for lab in package.LABS)
    return Theme(name, title.rstrip("."), " ".join(paragraph.split()), labs)
