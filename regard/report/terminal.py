"""Views for a terminal: plain text without color, printed by the caller."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from regard.errors import RegardError
from regard.report.text import display_width, isolate, replace_forbidden

LABEL_WIDTH = 22
SHADES = ((0.75, "█"), (0.5, "▓"), (0.25, "▒"), (0.1, "░"), (0.0, "·"))
LEGEND = "█ 0.75 and more   ▓ 0.5   ▒ 0.25   ░ 0.1   · less"
LINK_THRESHOLD = 0.25  # weight from which a source word is also named at the end of the row


def format_alignment(
    source: Sequence[str],
    target: Sequence[str],
    *,
    weights: Sequence[Sequence[float]] | None = None,
    pairs: Iterable[tuple[int, int]] | None = None,
    width: int = 100,
    plain: bool = False,
) -> str:
    """A translation with its word alignment: a line per target word, a column per source word.

             ┌ Die
             │ ┌ Katze
             │ │ ┌ schläft
        The  █ · ·  Die
        cat  · █ ·  Katze

    Pass either `weights` (a row per target word, a column per source word) or `pairs` of (source, target)
    positions from 0. Sentences that are too long for the width, and all if `plain`, become a list of target words with
    their source words. Right-to-left words are isolated, so that a terminal which reorders them keeps the columns.
    """
    matrix = _alignment_matrix(len(source), len(target), weights, pairs)
    names = [_clip(word, LABEL_WIDTH) for word in target]
    label_width = max(map(display_width, names), default=0)
    legend = [LEGEND] if weights is not None else []
    # Twelve cells stay free at the right for the last source word and for the words at the ends of rows.
    if label_width + 2 + 2 * len(source) + 12 <= width and not plain:
        return "\n".join(_draw_matrix(source, names, matrix, label_width, width) + legend)
    return "\n".join(_list_links(source, names, matrix, label_width, width))


def _clip(word: str, width: int) -> str:
    """The word on one line, truncated with an ellipsis if it does not fit."""
    word = "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in replace_forbidden(word))
    if display_width(word) <= width:
        return word
    prefix, used_width = "", 0
    for character in word:
        used_width += display_width(character)
        if used_width > width - 1:
            break
        prefix += character
    return prefix + "…" if width > 0 else ""


def _pad(word: str, width: int) -> str:
    return isolate(word) + " " * (width - display_width(word))


def _alignment_matrix(
    sources: int,
    targets: int,
    weights: Sequence[Sequence[float]] | None,
    pairs: Iterable[tuple[int, int]] | None,
) -> list[list[float]]:
    if (weights is None) == (pairs is None):
        raise RegardError("an alignment needs either weights or pairs")
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


def _draw_matrix(
    source: Sequence[str],
    names: Sequence[str],
    matrix: Sequence[Sequence[float]],
    label_width: int,
    width: int,
) -> list[str]:
    """Source words as a staircase, each at the top of its column."""
    lines = []
    for s, word in enumerate(source):
        stairs = " " * (label_width + 2) + "│ " * s + "┌ "
        lines.append(stairs + isolate(_clip(word, width - len(stairs))))
    for name, row in zip(names, matrix, strict=True):
        shades = " ".join(_shade(weight) for weight in row)
        line = f"{_pad(name, label_width)}  {shades}  "
        linked = ", ".join(isolate(source[s]) for s in _linked_positions(row))
        lines.append((line + _clip(linked, width - display_width(line))).rstrip())
    return lines


def _list_links(
    source: Sequence[str], names: Sequence[str], matrix: Sequence[Sequence[float]], label_width: int, width: int
) -> list[str]:
    """Each target word and its numbered source words, for sentences wider than the terminal."""
    lines = []
    for name, row in zip(names, matrix, strict=True):
        line = f"{_pad(name, label_width)} ←"
        for s in _linked_positions(row):
            link = f" {s + 1}:{isolate(_clip(source[s], LABEL_WIDTH))}"
            if display_width(line + link) > width:
                lines.append(line)
                line = " " * (label_width + 2)
            line += link
        lines.append(line)
    return lines


def _linked_positions(row: Sequence[float]) -> list[int]:
    """Positions with at least LINK_THRESHOLD, largest weight first; the largest one in any case."""
    order = sorted((s for s, weight in enumerate(row) if weight > 0), key=lambda s: -row[s])
    return [s for s in order if row[s] >= LINK_THRESHOLD] or order[:1]


def _shade(weight: float) -> str:
    return next((mark for threshold, mark in SHADES if weight >= threshold), "·")
