"""Views for a terminal: plain text, no colour, callers print."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from regard.errors import RegardError
from regard.report.charts.downsample import thin
from regard.report.text import cells, clean

LABEL_WIDTH = 22
SHADES = ((0.75, "█"), (0.5, "▓"), (0.25, "▒"), (0.1, "░"), (0.0, "·"))
LEGEND = "█ 0.75 and more   ▓ 0.5   ▒ 0.25   ░ 0.1   · less"
LINKED = 0.25  # a weight from which on the word is also named at the row's end
STEPS = "▁▂▃▄▅▆▇█"


def alignment(
    source: Sequence[str],
    target: Sequence[str],
    *,
    weights: Sequence[Sequence[float]] | None = None,
    pairs: Iterable[tuple[int, int]] | None = None,
    width: int = 100,
) -> str:
    """A translation with its word alignment: a line per target word, a column per source word.

             ┌ Die
             │ ┌ Katze
             │ │ ┌ schläft
        The  █ · ·  Die
        cat  · █ ·  Katze

    Give either `weights` (a row per target word, a column per source word) or `pairs` of (source, target)
    positions from 0. Sentences too long for the width become a list of target words with the words behind.
    """
    matrix = _matrix(len(source), len(target), weights, pairs)
    names = [_clip(word, LABEL_WIDTH) for word in target]
    room = max(map(cells, names), default=0)
    legend = [LEGEND] if weights is not None else []
    # Twelve cells stay free at the right: for the last source word, and for the words named at a row's end.
    if room + 2 + 2 * len(source) + 12 <= width:
        return "\n".join(_drawn(source, names, matrix, room, width) + legend)
    return "\n".join(_listed(source, names, matrix, room, width))


def sparkline(values: Sequence[float | None], width: int = 60) -> str:
    """The course of a row of numbers in one line of blocks; a gap where there is no number."""
    known = [(float(n), value if _finite(value) else None) for n, value in enumerate(values)]
    heights = [value for _, value in thin(known, width)]
    finite = [value for value in heights if value is not None]
    if not finite:
        return " " * len(heights)
    low, span = min(finite), max(finite) - min(finite)
    top = len(STEPS) - 1
    return "".join(
        " " if value is None else STEPS[round((value - low) / span * top) if span else top // 2] for value in heights
    )


def _clip(word: str, room: int) -> str:
    """The word on one line, cut with an ellipsis where it does not fit."""
    word = "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in clean(word))
    if cells(word) <= room:
        return word
    kept, used = "", 0
    for character in word:
        used += cells(character)
        if used > room - 1:
            break
        kept += character
    return kept + "…" if room > 0 else ""


def _pad(word: str, room: int) -> str:
    return word + " " * (room - cells(word))


def _matrix(
    sources: int,
    targets: int,
    weights: Sequence[Sequence[float]] | None,
    pairs: Iterable[tuple[int, int]] | None,
) -> list[list[float]]:
    if (weights is None) == (pairs is None):
        raise RegardError("an alignment is given by weights or by pairs: one of the two")
    if weights is not None:
        sizes = {len(row) for row in weights}
        if len(weights) != targets or sizes - {sources}:
            raise RegardError(
                f"alignment weights must be {targets} rows (target words) of {sources} (source words); "
                f"got {len(weights)} of {sorted(sizes)}"
            )
        return [[float(weight) for weight in row] for row in weights]
    matrix = [[0.0] * sources for _ in range(targets)]
    for s, t in pairs or ():
        if not (0 <= s < sources and 0 <= t < targets):
            raise RegardError(
                f"alignment pair {s}-{t} points outside {sources} source words and {targets} target words"
            )
        matrix[t][s] = 1.0
    return matrix


def _drawn(
    source: Sequence[str],
    names: Sequence[str],
    matrix: Sequence[Sequence[float]],
    room: int,
    width: int,
) -> list[str]:
    """Source words as a staircase, each standing at the head of its own column."""
    lines = []
    for s, word in enumerate(source):
        stairs = " " * (room + 2) + "│ " * s + "┌ "
        lines.append(stairs + _clip(word, width - len(stairs)))
    for name, row in zip(names, matrix, strict=True):
        shades = " ".join(_shade(weight) for weight in row)
        line = f"{_pad(name, room)}  {shades}  "
        lines.append((line + _clip(", ".join(source[s] for s in _links(row)), width - cells(line))).rstrip())
    return lines


def _listed(
    source: Sequence[str], names: Sequence[str], matrix: Sequence[Sequence[float]], room: int, width: int
) -> list[str]:
    """A target word and the numbered source words behind it, for sentences wider than the terminal."""
    lines = []
    for name, row in zip(names, matrix, strict=True):
        line = f"{_pad(name, room)} ←"
        for s in _links(row):
            link = f" {s + 1}:{_clip(source[s], LABEL_WIDTH)}"
            if cells(line + link) > width:
                lines.append(line)
                line = " " * (room + 2)
            line += link
        lines.append(line)
    return lines


def _links(row: Sequence[float]) -> list[int]:
    """Positions worth naming, the heaviest first; the heaviest even when it is light."""
    order = sorted((s for s, weight in enumerate(row) if weight > 0), key=lambda s: -row[s])
    return [s for s in order if row[s] >= LINKED] or order[:1]


def _shade(weight: float) -> str:
    return next((mark for least, mark in SHADES if weight >= least), "·")


def _finite(value: float | None) -> bool:
    return value is not None and -float("inf") < value < float("inf")
