"""Batches by token budget, of sentences of like length, in an order that depends on (seed, epoch) alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.data.store import Array, Corpus, Texts
from regard.data.tokenizer import BOS, EOS, PAD, Tokenizer, Tokenizers
from regard.errors import DataError

POOL = 1 << 17  # pairs shuffled and sorted together; a larger corpus is shuffled by blocks, so memory stays flat
BLOCK = 1 << 10


@dataclass(frozen=True)
class Batch:
    """Padded ids. The source ends in eos; the target is shifted by one between in and out."""

    source: Tensor  # (B, S)
    target_in: Tensor  # (B, T)  bos w1 … wn
    target_out: Tensor  # (B, T)  w1 … wn eos
    tokens: int  # real tokens of target_out

    def to(self, device: torch.device) -> "Batch":
        if device.type == "cpu":
            return self
        return Batch(self.source.to(device), self.target_in.to(device), self.target_out.to(device), self.tokens)


@dataclass(frozen=True)
class Place:
    """Where in the data a run stands: so many batches into an epoch."""

    epoch: int = 0
    batch: int = 0


def pad(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of ids as one matrix, padded on the right."""
    matrix = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return torch.from_numpy(matrix)


def collate(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
    """Unmarked ids of both sides -> a Batch."""
    return Batch(
        source=pad([[*row, EOS] for row in sources]),
        target_in=pad([[BOS, *row] for row in targets]),
        target_out=pad([[*row, EOS] for row in targets]),
        tokens=sum(len(row) + 1 for row in targets),
    )


@dataclass(frozen=True)
class Batches:
    """A corpus cut into batches, again in every epoch."""

    corpus: Corpus
    tokenizers: Tokenizers
    budget: int
    longest: int
    seed: int
    sampling: float = 0.0

    def after(self, place: Place) -> Iterator[tuple[Place, Batch]]:
        """Batches from a place on, for ever, each with the place that comes after it."""
        while True:
            number = -1
            for number, rows in enumerate(self.plan(place.epoch)):
                if number >= place.batch:
                    yield Place(place.epoch, number + 1), self.make(rows, place.epoch, number)
            if number < 0:
                raise DataError(
                    f"no pair is at most data.max_length={self.longest} pieces long; raise it, or check the files"
                )
            place = Place(place.epoch + 1)

    def plan(self, epoch: int) -> Iterator[Array]:
        """Which pairs stand together in each batch of an epoch."""
        rng = np.random.default_rng([self.seed, epoch])
        for pool in _pools(len(self.corpus), rng):
            size = self._sizes(pool)
            fits = size.max(axis=0) <= self.longest
            yield from _cut(pool[fits], size[:, fits], self.budget, rng)

    def make(self, rows: Array, epoch: int, number: int) -> Batch:
        """The batch of these pairs; where segmentations are sampled, those of this epoch."""
        if not self.sampling:
            sources = [self.corpus.source_ids[i].tolist() for i in rows]
            return collate(sources, [self.corpus.target_ids[i].tolist() for i in rows])
        seeds = np.random.SeedSequence([self.seed, epoch, number]).generate_state(2).tolist()
        sources = self._sampled(self.corpus.source, self.tokenizers.source, rows, seeds[0])
        return collate(sources, self._sampled(self.corpus.target, self.tokenizers.target, rows, seeds[1]))

    def left_out(self) -> int:
        """How many pairs are longer than `longest` and never seen."""
        return int(sum((self._sizes(pool).max(axis=0) > self.longest).sum() for pool in _pools(len(self.corpus), None)))

    def _sampled(self, texts: Texts, tokenizer: Tokenizer, rows: Array, seed: int) -> list[list[int]]:
        sampled = tokenizer.sample([texts[i] for i in rows], self.sampling, seed)
        return [ids[: self.longest - 1] for ids in sampled]

    def _sizes(self, rows: Array) -> Array:
        """Lengths of both sides with their marks: (2, rows)."""
        return np.stack((self.corpus.source_ids.lengths(rows), self.corpus.target_ids.lengths(rows))) + 1


def in_order(corpus: Corpus, budget: int) -> Iterator[tuple[Array, Batch]]:
    """Every pair once, shortest first, with the row numbers of each batch: for checking, where order is free."""
    rows = np.arange(len(corpus))
    size = np.stack((corpus.source_ids.lengths(rows), corpus.target_ids.lengths(rows))) + 1
    for chosen in _cut(rows, size, budget, None):
        sources = [corpus.source_ids[i].tolist() for i in chosen]
        yield chosen, collate(sources, [corpus.target_ids[i].tolist() for i in chosen])


def _pools(count: int, rng: np.random.Generator | None) -> Iterator[Array]:
    """All rows, in pools that fit memory; shuffled unless there is no generator."""
    if count <= POOL:
        yield np.arange(count) if rng is None else rng.permutation(count)
        return
    blocks = np.arange(-(-count // BLOCK))
    blocks = blocks if rng is None else rng.permutation(blocks)
    for start in range(0, len(blocks), POOL // BLOCK):
        chosen = blocks[start : start + POOL // BLOCK]
        rows = (chosen[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        rows = rows[rows < count]
        yield rows if rng is None else rng.permutation(rows)


def _cut(rows: Array, size: Array, budget: int, rng: np.random.Generator | None) -> Iterator[Array]:
    """Sort rows by length and cut them where (sentences x longest side) would pass the budget."""
    longest = size.max(axis=0)
    order = np.lexsort((size[0], longest))
    groups: list[Array] = []
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - start) * longest[order[end]] > budget:
            groups.append(rows[order[start:end]])
            start = end
    for i in range(len(groups)) if rng is None else rng.permutation(len(groups)):
        yield groups[i]
