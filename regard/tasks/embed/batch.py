"""Batches of texts that belong together, cut by rows: the rows of a batch are each other's negatives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import Batches, iterate_pools, single_pairs
from regard.data.store import Array
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.tasks.embed.rows import separator_of, split_row
from regard.tasks.text_batch import pad_rows


@dataclass(frozen=True)
class RelatedBatch:
    """Padded ids: B texts, then their B positives, then all first hard negatives, all second ones …"""

    ids: Tensor  # (P · B, T)
    keys: Tensor  # (P · B,)  equal where texts are equal
    num_targets: int  # B
    similarities: Tensor | None = None  # (B,)  in steps: only their order counts

    def to(self, device: torch.device) -> "RelatedBatch":
        if device.type == "cpu":
            return self
        similarities = None if self.similarities is None else self.similarities.to(device)
        return RelatedBatch(self.ids.to(device), self.keys.to(device), self.num_targets, similarities)

    def shuffle_inputs(self) -> "RelatedBatch | None":
        """The batch with another text for each positive; None where there is no other."""
        if self.num_targets < 2:
            return None
        order = torch.arange(len(self.ids))
        order[: self.num_targets] = order[: self.num_targets].roll(1)
        return replace(self, ids=self.ids[order], keys=self.keys[order])


@dataclass(frozen=True)
class RelatedCollator:
    """Rows of ids -> a batch."""

    tokenizer: TextTokenizer

    def __call__(self, sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> RelatedBatch:
        separator = separator_of(self.tokenizer)
        rows = [split_row(row, separator) for row in sources]
        texts = [text for column in zip(*rows, strict=True) for text in column]
        similarities = torch.tensor([row[0] for row in targets]) if all(targets) else None
        keys = torch.tensor([key_of(text) for text in texts])
        return RelatedBatch(pad_rows(texts, self.tokenizer.pad_id), keys, len(rows), similarities)


def key_of(ids: Sequence[int]) -> int:
    """A number that is the same for the same ids, in any process."""
    return int.from_bytes(blake2b(np.asarray(ids, np.int64).tobytes(), digest_size=8).digest(), "little", signed=True)


@dataclass(frozen=True)
class RowBatches(Batches):
    """Batches of a number of rows, in random order; of fewer where their texts are long, so that memory is bounded."""

    max_rows: int = 64

    def plan_epoch(self, epoch: int) -> Iterator[Array]:
        rng = np.random.default_rng([self.seed, epoch])
        for pool in iterate_pools(len(self.corpus), rng):
            lengths = self.corpus.source_ids.lengths(pool)
            yield from map(single_pairs, cut_rows(pool, lengths, self.max_rows, self.max_tokens))

    def count_too_long(self) -> int:
        """None: texts are truncated."""
        return 0


def cut_rows(rows: Array, lengths: Array, max_rows: int, max_tokens: int) -> Iterator[Array]:
    """Rows in their order, at most `max_rows` in a batch, and at least two: a row alone has no negatives.

    A batch also ends where its texts have `max_tokens` tokens, without padding. A single row that is left over belongs
    to no batch; in the next epoch it is another one.
    """
    begin, tokens = 0, 0
    for end, length in enumerate(lengths.tolist()):
        is_full = end - begin >= max_rows or tokens + length > max_tokens
        if is_full and end - begin > 1:
            yield rows[begin:end]
            begin, tokens = end, 0
        tokens += length
    if len(rows) - begin > 1:
        yield rows[begin:]
