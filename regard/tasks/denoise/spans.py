"""Which spans of a text are hidden: drawn as BART's text infilling, or as T5's span corruption.

Lewis et al. 2020, as fairseq draws them: whole words; Raffel et al. 2020: tokens. Both return spans in the order of the
text that do not overlap. An empty span hides nothing, but a mask stands in its place.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from regard.data.store import Array


class HiddenSpan(NamedTuple):
    """The tokens from `begin` to `end`, which is not one of them."""

    begin: int
    end: int


class SpanScheme(Protocol):
    """How the spans of a text are drawn."""

    @property
    def rate(self) -> float: ...

    def draw(self, starts_word: Array, rng: np.random.Generator) -> list[HiddenSpan]:
        """The spans of a text, of which it is known which tokens begin a word (T,)."""
        ...


@dataclass(frozen=True)
class TextInfilling:
    """A share of the words, in spans whose lengths are Poisson distributed; one of length 0 is an inserted mask."""

    rate: float = 0.3
    mean_length: float = 3.0

    def draw(self, starts_word: Array, rng: np.random.Generator) -> list[HiddenSpan]:
        is_start = starts_word.copy()
        is_start[:1] = True  # the first token begins a word in any case
        words = np.flatnonzero(is_start)
        lengths = draw_lengths(math.ceil(self.rate * len(words)), self.mean_length, rng)
        hidden = [length for length in lengths if length]
        begins = rng.permutation(len(words))[: len(hidden)].tolist()
        borders = [*words.tolist(), len(starts_word)]
        spans: list[HiddenSpan] = []
        for begin, length in sorted(zip(begins, hidden, strict=True)):
            span = HiddenSpan(borders[begin], borders[min(begin + length, len(words))])
            if spans and span.begin < spans[-1].end:  # a span that begins within another one continues it
                span = HiddenSpan(spans[-1].begin, max(spans.pop().end, span.end))
            spans.append(span)
        num_removed = sum(end - begin - 1 for begin, end in spans)  # the masked text is never the longer one
        return insert_empty(spans, min(len(lengths) - len(hidden), num_removed), len(starts_word), rng)


@dataclass(frozen=True)
class SpanCorruption:
    """A share of the tokens, in as many spans as their mean length allows; all divisions are equally likely."""

    rate: float = 0.15
    mean_length: float = 3.0

    def draw(self, starts_word: Array, rng: np.random.Generator) -> list[HiddenSpan]:
        length = len(starts_word)
        if length < 2 or not self.rate:
            return []
        num_hidden = min(max(round(length * self.rate), 1), length - 1)
        num_spans = min(max(round(num_hidden / self.mean_length), 1), length - num_hidden)
        hidden, visible = (divide(n, num_spans, rng) for n in (num_hidden, length - num_hidden))
        ends = np.cumsum(hidden + visible)  # what is visible comes first
        return [HiddenSpan(end - size, end) for end, size in zip(ends.tolist(), hidden.tolist(), strict=True)]


SPAN_SCHEMES: dict[str, type[TextInfilling] | type[SpanCorruption]] = {"bart": TextInfilling, "t5": SpanCorruption}


def draw_lengths(budget: int, mean: float, rng: np.random.Generator) -> list[int]:
    """Poisson lengths until they sum up to the budget; the last one is cut to it."""
    lengths: list[int] = []
    left = budget
    while left > 0:
        lengths.append(min(int(rng.poisson(mean)), left))
        left -= lengths[-1]
    return lengths


def divide(total: int, parts: int, rng: np.random.Generator) -> Array:
    """A random division into parts of at least one: (parts,)."""
    cuts = np.sort(rng.permutation(total - 1)[: parts - 1]) + 1
    return np.diff(np.concatenate(([0], cuts, [total])))


def insert_empty(spans: list[HiddenSpan], count: int, length: int, rng: np.random.Generator) -> list[HiddenSpan]:
    """The spans of a text of this length with empty ones between what is visible and the other masks."""
    if not count:
        return spans
    covered = {i: span for span in spans for i in range(span.begin, span.end)}
    units = [i for i in range(length) if i not in covered or covered[i].begin == i]  # visible tokens and masks
    chosen = np.sort(rng.permutation(len(units) + count)[:count]) - np.arange(count)
    begins = [*units, length]
    return sorted([*spans, *(HiddenSpan(begins[i], begins[i]) for i in chosen.tolist())])
