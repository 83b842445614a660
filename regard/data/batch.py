"""Batches of sentences of similar length, limited by tokens, in an order that depends only on (seed, epoch)."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from regard.data.store import Array, Corpus, RaggedArray
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, Tokenizer, Tokenizers
from regard.errors import DataError
from regard.files import Count

POOL = 1 << 16  # pairs shuffled and sorted together; a larger corpus is shuffled by blocks, so memory stays flat
BLOCK = 1 << 10


@dataclass(frozen=True)
class Batch:
    """Padded token ids. The source ends in EOS; target_out is target_in shifted by one."""

    source: Tensor  # (B, S)
    target_in: Tensor  # (B, T)  bos w1 … wn
    target_out: Tensor  # (B, T)  w1 … wn eos
    num_targets: int  # tokens of target_out without padding

    def to(self, device: torch.device) -> "Batch":
        if device.type == "cpu":
            return self
        return Batch(self.source.to(device), self.target_in.to(device), self.target_out.to(device), self.num_targets)

    def duplicate(self) -> "Batch":
        """The batch with every sentence twice: (B, …) -> (2B, …), the copies after the originals."""
        source, target_in, target_out = (x.repeat(2, 1) for x in (self.source, self.target_in, self.target_out))
        return Batch(source, target_in, target_out, 2 * self.num_targets)

    def shuffle_inputs(self) -> "Batch | None":
        """The batch with the source of another sentence for each; None where there is no other."""
        return replace(self, source=self.source.roll(1, dims=0)) if len(self.source) > 1 else None


@dataclass(frozen=True)
class DataPosition:
    """A position in the training data: an epoch, and how many of its batches were read."""

    epoch: Count = 0
    batch: Count = 0


def pad(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of ids as one matrix (B, T), padded on the right."""
    matrix = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return torch.from_numpy(matrix)


def collate(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
    """A Batch of ids without BOS and EOS, which are added here."""
    return Batch(
        source=pad([[*row, EOS] for row in sources]),
        target_in=pad([[BOS, *row] for row in targets]),
        target_out=pad([[*row, EOS] for row in targets]),
        num_targets=sum(len(row) + 1 for row in targets),
    )


class TrainingBatch(Protocol):
    """What a training loop needs to know of a batch."""

    @property
    def num_targets(self) -> int:
        """The targets that its loss is summed over."""
        ...

    def to(self, device: torch.device) -> Self: ...

    def duplicate(self) -> Self:
        """The batch with every row twice, the copies after the originals."""
        ...

    def shuffle_inputs(self) -> Self | None:
        """The batch with the input of another row for each; None where that makes no sense."""
        ...


class Collator(Protocol):
    """Rows of ids -> a batch. All of its noise comes from the seed: (seed of the run, epoch, number of the batch)."""

    def __call__(self, sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> Any: ...


@dataclass(frozen=True)
class TranslationCollator:
    """Batches of pairs; with subword regularization, in segmentations that are sampled again in every epoch."""

    tokenizers: Tokenizers
    subword_regularization: float = 0.0
    max_length: int = 0
    """Longest side, in tokens, of a sampled segmentation."""

    def __call__(self, sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> Batch:
        if not self.subword_regularization:
            return collate(sources, targets)
        seeds = np.random.SeedSequence(list(seed)).generate_state(2).tolist()
        return collate(
            self._sample_segmentation(sources, self.tokenizers.source, seeds[0]),
            self._sample_segmentation(targets, self.tokenizers.target, seeds[1]),
        )

    def _sample_segmentation(self, rows: list[list[int]], tokenizer: Tokenizer, seed: int) -> list[list[int]]:
        return [
            ids[: self.max_length - 1] for ids in tokenizer.sample_segmentation(rows, self.subword_regularization, seed)
        ]


@dataclass(frozen=True)
class Batches:
    """A corpus divided into batches, in another way in every epoch."""

    corpus: Corpus
    collator: Collator
    max_tokens: int
    max_length: int
    seed: int
    concat_augment: float = 0.0
    curriculum_epochs: int = 0
    """Epochs at the start whose batches are in order of length, short ones first.  Amodei et al. 2016 (SortaGrad)."""
    early_collator: Collator | None = None
    """The collator up to a progress of training, without the noise that comes later."""
    early_until: float = 0.0

    def iterate_from(
        self,
        position: DataPosition,
        rank: int = 0,
        world_size: int = 1,
        progress: Callable[[], float] = lambda: 1.0,
    ) -> Iterator[tuple[DataPosition, Any]]:
        """Batches from a position on, without end, each with the position after it.

        `progress` is that of training, from 0 to 1, when the next batch is made.
        With `world_size` processes, only every world_size-th batch is built here; the others are None.
        """
        rank_cycle = itertools.cycle(range(world_size))
        while True:
            index = -1
            for index, rows in enumerate(self.plan_epoch(position.epoch)):
                if index >= position.batch:
                    is_local = next(rank_cycle) == rank
                    yield (
                        DataPosition(position.epoch, index + 1),
                        self.at(progress()).make_batch(rows, position.epoch, index) if is_local else None,
                    )
            if index < 0:
                raise DataError(
                    f"no pair has at most data.max_length={self.max_length} tokens; raise it, or check the files"
                )
            position = DataPosition(position.epoch + 1)

    def at(self, progress: float) -> Self:
        """The same batches with the collator of a progress of training."""
        if self.early_collator is None or progress >= self.early_until:
            return self
        return replace(self, collator=self.early_collator)

    def plan_epoch(self, epoch: int) -> Iterator[Array]:
        """The pairs of each batch of an epoch: rows of (pair, pair that is appended to it, or -1)."""
        rng = np.random.default_rng([self.seed, epoch])
        for pool in iterate_pools(len(self.corpus), rng):
            rows = self._add_concatenated(pool, rng)
            lengths = self._lengths(rows)
            fits = lengths.max(axis=0) <= self.max_length
            order = rng if epoch >= self.curriculum_epochs else None
            yield from bucket_by_length(rows[fits], lengths[:, fits], self.max_tokens, order)

    def make_batch(self, rows: Array, epoch: int, index: int) -> Any:
        """The batch of these pairs, with the noise of this epoch."""
        sources, targets = _gather_ids(self.corpus.source_ids, rows), _gather_ids(self.corpus.target_ids, rows)
        return self.collator(sources, targets, (self.seed, epoch, index))

    def count_batches(self) -> int:
        """Number of batches of the first epoch; the other epochs have about as many."""
        return sum(1 for _ in self.plan_epoch(0))

    def count_epochs(self, position: DataPosition) -> float:
        """Passes over the corpus up to a position, with the fraction of the pairs that the last one has read."""
        sizes = [len(rows) for rows in self.plan_epoch(position.epoch)]
        return position.epoch + sum(sizes[: position.batch]) / max(1, sum(sizes))

    def count_too_long(self) -> int:
        """Number of pairs longer than `max_length`, which are never trained on."""
        pools = iterate_pools(len(self.corpus), None)
        return int(sum((self._lengths(single_pairs(pool)).max(axis=0) > self.max_length).sum() for pool in pools))

    def _add_concatenated(self, pool: Array, rng: np.random.Generator) -> Array:
        """A pool of pairs, and `concat_augment` times as many concatenations of two of them: (rows, 2)."""
        extra = int(len(pool) * self.concat_augment)
        return np.concatenate((single_pairs(pool), rng.choice(pool, (extra, 2)))) if extra else single_pairs(pool)

    def _lengths(self, rows: Array) -> Array:
        """Lengths of both sides with BOS or EOS: (rows, 2) -> (2, rows)."""
        has_second = rows[:, 1] >= 0
        sides = (self.corpus.source_ids, self.corpus.target_ids)
        return (
            np.stack([side.lengths(rows[:, 0]) + side.lengths(rows[:, 1] * has_second) * has_second for side in sides])
            + 1
        )


def _collate_plainly(sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> Batch:
    return collate(sources, targets)


def batches_by_length(
    corpus: Corpus,
    max_tokens: int,
    max_pairs: int | None = None,
    max_length: int | None = None,
    collator: Collator = _collate_plainly,
) -> Iterator[tuple[Array, Any]]:
    """Every pair once, shortest first, with the row numbers of each batch: for validation, where order is free.

    `max_pairs` limits them to a sample that is spread over the corpus, `max_length` to pairs of at most that length.
    """
    rows = np.arange(0, len(corpus), -(-len(corpus) // max_pairs) if max_pairs else 1)
    lengths = np.stack((corpus.source_ids.lengths(rows), corpus.target_ids.lengths(rows))) + 1
    if max_length:
        fits = lengths.max(axis=0) <= max_length
        rows, lengths = rows[fits], lengths[:, fits]
    for number, batch_rows in enumerate(bucket_by_length(rows, lengths, max_tokens, None)):
        pairs = single_pairs(batch_rows)
        sources, targets = _gather_ids(corpus.source_ids, pairs), _gather_ids(corpus.target_ids, pairs)
        yield batch_rows, collator(sources, targets, (number,))


def single_pairs(rows: Array) -> Array:
    """Pairs without a second one: (rows,) -> (rows, 2)."""
    return np.stack((rows, np.full_like(rows, -1)), axis=1)


def _gather_ids(ids: RaggedArray, rows: Array) -> list[list[int]]:
    """The ids of each row of (pair, pair that is appended to it, or -1)."""
    return [[t for i in row if i >= 0 for t in ids[i].tolist()] for row in rows]


def iterate_pools(count: int, rng: np.random.Generator | None) -> Iterator[Array]:
    """All rows, in pools that fit into memory; shuffled if there is a generator."""
    if count <= POOL:
        yield np.arange(count) if rng is None else rng.permutation(count)
        return
    blocks = np.arange(-(-count // BLOCK))
    blocks = blocks if rng is None else rng.permutation(blocks)
    for start in range(0, len(blocks), POOL // BLOCK):
        pool_blocks = blocks[start : start + POOL // BLOCK]
        rows = (pool_blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        rows = rows[rows < count]
        yield rows if rng is None else rng.permutation(rows)


def bucket_by_length(rows: Array, lengths: Array, max_tokens: int, rng: np.random.Generator | None) -> Iterator[Array]:
    """Sort rows by length and start a new batch where (sentences x longest side) would exceed max_tokens."""
    max_lengths = lengths.max(axis=0)
    order = np.lexsort((lengths[0], max_lengths))
    batches: list[Array] = []
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - start) * max_lengths[order[end]] > max_tokens:
            batches.append(rows[order[start:end]])
            start = end
    for i in range(len(batches)) if rng is None else rng.permutation(len(batches)):
        yield batches[i]
