"""Word alignment read from cross-attention, and its error rate against gold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Span = tuple[int, int]
Links = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Counts:
    """What an alignment shares with gold, added up over sentences."""

    found: int = 0
    gold: int = 0
    both: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.found + other.found, self.gold + other.gold, self.both + other.both)

    @property
    def error_rate(self) -> float:
        """AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), where all gold links are sure.  Och and Ney 2003."""
        return 1 - 2 * self.both / (self.found + self.gold) if self.found + self.gold else 0.0


def compare(found: Iterable[tuple[int, int]], gold: Iterable[tuple[int, int]]) -> Counts:
    """Links (source word, target word) of one sentence against gold."""
    mine, theirs = set(found), set(gold)
    return Counts(len(mine), len(theirs), len(mine & theirs))


def by_words(
    weights: Tensor,
    source: Sequence[Span],
    target: Sequence[Span],
    words: tuple[Sequence[Span], Sequence[Span]],
) -> Tensor:
    """Piece weights (T, S) -> word weights (target words, source words).

    `source` and `target` are the characters of each piece, `words` those of each source and target word. What goes to
    the source's eos is left out and each row brought back to a sum of 1, since an end mark aligns with nothing.
    """
    into, onto = _overlap(words[0], source), _overlap(words[1], target)
    pieces = weights[: len(target), : len(source)]
    mixed = _mean(onto) @ pieces @ into.T  # mean over a target word's pieces, sum over a source word's
    return mixed / mixed.sum(dim=1, keepdim=True).clamp(min=1e-9)


def link(words: Tensor) -> Links:
    """Each target word with the source word it looks at most: (target words, source words) -> links."""
    if not words.numel():
        return frozenset()
    return frozenset((int(s), t) for t, s in enumerate(words.argmax(dim=1).tolist()))


def _overlap(words: Sequence[Span], pieces: Sequence[Span]) -> Tensor:
    """The share of each piece's characters that fall into each word: (words, pieces)."""
    table = torch.zeros(len(words), len(pieces))
    for i, (a, b) in enumerate(words):
        for j, (c, d) in enumerate(pieces):
            table[i, j] = max(0, min(b, d) - max(a, c)) / max(1, d - c)
    return table


def _mean(rows: Tensor) -> Tensor:
    return rows / rows.sum(dim=1, keepdim=True).clamp(min=1e-9)
