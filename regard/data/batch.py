"""Batches by token budget, of sentences of like length, in an order that depends on (seed, epoch) alone."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.data.store import Array, Corpus, Ragged
from regard.data.tokenizer import BOS, EOS, PAD, Tokenizer, Tokenizers
from regard.errors import DataError

POOL = 1 << 16  # pairs shuffled and sorted together; a larger corpus is shuffled by blocks, so memory stays flat
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

    def twice(self) -> "Batch":
        """Every sentence again below all of them."""
        source, target_in, target_out = (x.repeat(2, 1) for x in (self.source, self.target_in, self.target_out))
        return Batch(source, target_in, target_out, 2 * self.tokens)


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
    concatenate: float = 0.0

    def after(self, place: Place, rank: int = 0, size: int = 1) -> Iterator[tuple[Place, Batch | None]]:
        """Batches from a place on, for ever, each with the place that comes after it.

        Where `size` processes share them, only every size-th is made, and the others are None.
        """
        turn = itertools.cycle(range(size))
        while True:
            number = -1
            for number, rows in enumerate(self.plan(place.epoch)):
                if number >= place.batch:
                    mine = next(turn) == rank
                    yield Place(place.epoch, number + 1), self.make(rows, place.epoch, number) if mine else None
            if number < 0:
                raise DataError(
                    f"no pair is at most data.max_length={self.longest} pieces long; raise it, or check the files"
                )
            place = Place(place.epoch + 1)

    def plan(self, epoch: int) -> Iterator[Array]:
        """Which pairs stand together in each batch of an epoch: rows of (pair, the one put after it or -1)."""
        rng = np.random.default_rng([self.seed, epoch])
        for pool in _pools(len(self.corpus), rng):
            rows = self._with_ends_joined(pool, rng)
            size = self._sizes(rows)
            fits = size.max(axis=0) <= self.longest
            yield from _cut(rows[fits], size[:, fits], self.budget, rng)

    def make(self, rows: Array, epoch: int, number: int) -> Batch:
        """The batch of these pairs; where segmentations are sampled, those of this epoch."""
        sources, targets = _joined(self.corpus.source_ids, rows), _joined(self.corpus.target_ids, rows)
        if not self.sampling:
            return collate(sources, targets)
        seeds = np.random.SeedSequence([self.seed, epoch, number]).generate_state(2).tolist()
        return collate(
            self._sampled(sources, self.tokenizers.source, seeds[0]),
            self._sampled(targets, self.tokenizers.target, seeds[1]),
        )

    def in_an_epoch(self) -> int:
        """How many batches the first epoch has; the others have about as many."""
        return sum(1 for _ in self.plan(0))

    def left_out(self) -> int:
        """How many pairs are longer than `longest` and never seen."""
        pools = _pools(len(self.corpus), None)
        return int(sum((self._sizes(_alone(pool)).max(axis=0) > self.longest).sum() for pool in pools))

    def _sampled(self, rows: list[list[int]], tokenizer: Tokenizer, seed: int) -> list[list[int]]:
        return [ids[: self.longest - 1] for ids in tokenizer.sample(rows, self.sampling, seed)]

    def _with_ends_joined(self, pool: Array, rng: np.random.Generator) -> Array:
        """A pool of pairs, and as many of them joined end to end as asked for: (rows, 2)."""
        extra = int(len(pool) * self.concatenate)
        return np.concatenate((_alone(pool), rng.choice(pool, (extra, 2)))) if extra else _alone(pool)

    def _sizes(self, rows: Array) -> Array:
        """Lengths of both sides with their marks: (rows, 2) -> (2, rows)."""
        second = rows[:, 1] >= 0
        sides = (self.corpus.source_ids, self.corpus.target_ids)
        return np.stack([side.lengths(rows[:, 0]) + side.lengths(rows[:, 1] * second) * second for side in sides]) + 1


def in_order(
    corpus: Corpus, budget: int, most: int | None = None, longest: int | None = None
) -> Iterator[tuple[Array, Batch]]:
    """Every pair once, shortest first, with the row numbers of each batch: for checking, where order is free.

    Or at most so many of them, spread over the corpus, and none that is longer than `longest` pieces.
    """
    rows = np.arange(0, len(corpus), -(-len(corpus) // most) if most else 1)
    size = np.stack((corpus.source_ids.lengths(rows), corpus.target_ids.lengths(rows))) + 1
    if longest:
        fits = size.max(axis=0) <= longest
        rows, size = rows[fits], size[:, fits]
    for chosen in _cut(rows, size, budget, None):
        pairs = _alone(chosen)
        yield chosen, collate(_joined(corpus.source_ids, pairs), _joined(corpus.target_ids, pairs))


def _alone(rows: Array) -> Array:
    """Pairs with nothing put after them: (rows,) -> (rows, 2)."""
    return np.stack((rows, np.full_like(rows, -1)), axis=1)


def _joined(ids: Ragged, rows: Array) -> list[list[int]]:
    """The ids of each row of (pair, the one put after it or -1)."""
    return [[t for i in row if i >= 0 for t in ids[i].tolist()] for row in rows]


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
