"""Word alignment read from cross-attention, and its error rate against gold."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass

import torch
from torch import Tensor

from regard.config import Head
from regard.errors import DataError
from regard.inspection.example import NONE, Example, Side
from regard.inspection.trace import sites, weights
from regard.model.transformer import EncoderDecoder

Span = tuple[int, int]
Links = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Counts:
    """What an alignment shares with gold, added up over sentences."""

    found: int = 0
    sure: int = 0
    both: int = 0
    """Found, and sure in gold."""
    allowed: int = 0
    """Found, and at least possible in gold."""

    def __add__(self, other: "Counts") -> "Counts":
        mine, theirs = astuple(self), astuple(other)
        return Counts(*(a + b for a, b in zip(mine, theirs, strict=True)))

    @property
    def error_rate(self) -> float:
        """AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), links A, sure ones S, possible ones P.  Och and Ney 2003."""
        return 1 - (self.both + self.allowed) / (self.found + self.sure) if self.found + self.sure else 0.0

    @property
    def precision(self) -> float:
        """|A ∩ P| / |A|"""
        return self.allowed / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """|A ∩ S| / |S|"""
        return self.both / self.sure if self.sure else 0.0


Pairs = Iterable[tuple[int, int]]


def compare(found: Pairs, gold: Pairs, possible: Pairs = ()) -> Counts:
    """Links (source word, target word) of one sentence against gold; what is sure is possible as well."""
    mine, sure = set(found), set(gold)
    return Counts(len(mine), len(sure), len(mine & sure), len(mine & (sure | set(possible))))


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


def to_words(weights: Tensor, target: Side, source: Side) -> Tensor:
    """Piece weights (…, T, S) -> word weights (…, target words, source words); rows sum to 1, marks are left out.

    Attention to a word is the sum over its pieces, attention from a word the mean over its own.  Clark et al. 2019.
    """
    into, onto = _belongs(source).to(weights), _belongs(target).to(weights)
    mixed = _mean(onto) @ weights @ into.T
    return mixed / mixed.sum(dim=-1, keepdim=True).clamp(min=1e-9)


def _belongs(side: Side) -> Tensor:
    """Which pieces each word has: (words, pieces)."""
    table = torch.zeros(len(side.words), len(side))
    for piece, word in enumerate(side.word):
        if word != NONE:
            table[word, piece] = 1
    return table


@dataclass(frozen=True)
class Aligned:
    """How well one head of cross-attention aligns words, or all of them averaged."""

    counts: Counts
    """Against gold, where it is known."""
    penalty: float
    """Without gold: how far it is from one source word for each target word, and the other way round."""
    links: tuple[Links, ...]
    """What it aligns in every sentence."""


@dataclass(frozen=True)
class Aligners:
    """Every head of cross-attention as an aligner, best first, and their mean."""

    heads: Mapping[Head, Aligned]
    average: Aligned
    gold: bool
    """Whether they were judged by the truth, and not by their shape."""

    @property
    def best(self) -> tuple[Head, Aligned]:
        return next(iter(self.heads.items()))


def penalty(words: Tensor) -> float:
    """Coverage and absentmindedness of word weights (T, S); 0 for a one-to-one alignment.  Rikters and Fishel 2017."""
    if not words.numel():
        return 0.0
    coverage = -(1 + (1 - words.sum(dim=0)).abs().pow(6)).log().mean()
    spread = (words * words.clamp(min=1e-30).log()).sum(dim=1).mean()
    return -float(coverage + spread)


def align_heads(model: EncoderDecoder, examples: Sequence[Example]) -> Aligners:
    """Every head of cross-attention as an aligner, judged by gold where it is known, else by its penalty.

    The row that writes a word is the one that aligns it. The mean is of all heads' weights, not of their links.
    """
    crosses = [site for site in sites(model) if site.kind == "cross"]
    heads = [head for site in crosses for head in site.heads]
    seen: list[Tensor] = []  # of each sentence (heads, target words, source words)
    for example, looks in zip(examples, weights(model, examples), strict=True):
        assert example.target is not None
        every = torch.cat([looks[site.name].float() for site in crosses])
        seen.append(to_words(every, example.target, example.source))
    gold = has_gold(examples)
    found = {head: _aligned([words[i] for words in seen], examples) for i, head in enumerate(heads)}
    order = sorted(found, key=lambda head: found[head].counts.error_rate if gold else found[head].penalty)
    mean = _aligned([words.mean(dim=0) for words in seen], examples)
    return Aligners({head: found[head] for head in order}, mean, gold)


def _aligned(seen: Sequence[Tensor], examples: Sequence[Example]) -> Aligned:
    links = tuple(link(words) for words in seen)
    total = Counts()
    for own, example in zip(links, examples, strict=True):
        if example.alignment is not None:
            total += compare(own, example.alignment, example.possible)
    return Aligned(total, sum(map(penalty, seen)) / len(seen), links)


def has_gold(examples: Iterable[Example]) -> bool:
    """Whether the truth is known of any link, so that aligners can be judged by it."""
    return any(example.alignment or example.possible for example in examples)


def read_pharaoh(line: str, where: str) -> tuple[Links, Links]:
    """Sure and possible links of a line as people exchange them: `0-0 1-2 3p1`, source word and target word."""
    kinds: dict[str, set[tuple[int, int]]] = {"-": set(), "p": set()}
    for text in line.split():
        match = re.fullmatch(r"(\d+)([-p])(\d+)", text)
        if match is None:
            raise DataError(f"{where}: '{text}' is no link; expected 0-0 for a sure one, 0p0 for a possible one")
        kinds[match[2]].add((int(match[1]), int(match[3])))
    return frozenset(kinds["-"]), frozenset(kinds["p"])


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links as people exchange them: `0-0 1-2`, source word and target word."""
    return " ".join(f"{s}-{t}" for s, t in sorted(links))
