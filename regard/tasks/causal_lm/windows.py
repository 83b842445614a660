"""Documents as windows: one window a row, none over the border of two documents.

A document of n tokens is a sequence of n + 1 predictions: BOS predicts its first token, its last token EOS. A window is
a part of this sequence, with positions that begin at 0; its first token is seen, not predicted, unless it is BOS. In an
epoch every token is a target exactly once. No mask between documents is needed, and the loss of a document does
not depend on what else is in the batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data.batch import Batches, DataPosition, bucket_by_length, iterate_pools
from regard.data.store import Array, Corpus
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.tasks.text_batch import IGNORED, TokenLabelBatch, pad_rows

BEGIN, END = 1, 3
"""Columns of windows, which are rows of (document, begin, first target, end): the predictions from begin to end."""


@dataclass(frozen=True)
class WindowCollator:
    """Rows of ids and of labels -> a batch; there is no noise."""

    pad_id: int = PAD

    def __call__(self, sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> TokenLabelBatch:
        return TokenLabelBatch.of(pad_rows(sources, self.pad_id), pad_rows(targets, IGNORED))


@dataclass(frozen=True)
class WindowBatches(Batches):
    """The documents of a corpus, which are its targets, divided into windows in another way in every epoch."""

    bos_id: int = BOS
    eos_id: int = EOS

    def plan_epoch(self, epoch: int) -> Iterator[Array]:
        """The windows of each batch of an epoch: rows of (document, begin, first target, end)."""
        rng = np.random.default_rng([self.seed, epoch])
        offsets = rng.integers(1, self.max_length + 1, len(self.corpus))  # of the second window, by document
        for pool in iterate_pools(len(self.corpus), rng):
            lengths = _count_predictions(self.corpus, pool)
            windows = rng.permutation(cut_windows(pool, lengths, self.max_length, offsets[pool]))
            yield from bucket_by_length(windows, _window_lengths(windows)[None], self.max_tokens, rng)

    def make_batch(self, rows: Array, epoch: int, index: int) -> Any:
        """The batch of these windows."""
        ids, labels = gather_windows(self.corpus, rows, self.bos_id, self.eos_id)
        return self.collator(ids, labels, (self.seed, epoch, index))

    def count_epochs(self, position: DataPosition) -> float:
        """Passes over the corpus up to a position, with the fraction of the tokens that the last one has predicted."""
        sizes = [int(_window_lengths(rows).sum()) for rows in self.plan_epoch(position.epoch)]
        return position.epoch + sum(sizes[: position.batch]) / max(1, sum(sizes))

    def count_too_long(self) -> int:
        """None: a long document has many windows."""
        return 0


def validation_windows(
    corpus: Corpus, max_tokens: int, max_length: int, bos_id: int = BOS, eos_id: int = EOS, pad_id: int = PAD
) -> Iterator[tuple[Array, TokenLabelBatch]]:
    """The windows of a dev set and their batches, always the same: each begins in the middle of the one before it.

    Only what the window before has not predicted has a label, so every token is scored once, with at least half a
    window of context wherever the document has it.
    """
    collator, stride = WindowCollator(pad_id), max(1, max_length // 2)
    documents = np.arange(len(corpus))
    windows = cut_overlapping_windows(documents, _count_predictions(corpus, documents), max_length, stride)
    for rows in bucket_by_length(windows, _window_lengths(windows)[None], max_tokens, None):
        yield rows, collator(*gather_windows(corpus, rows, bos_id, eos_id), ())


def cut_windows(documents: Array, lengths: Array, max_length: int, offsets: Array) -> Array:
    """Adjacent windows of at most `max_length` predictions; the first of a long document ends at its offset."""
    offsets = np.where(lengths <= max_length, lengths, offsets)  # a document that fits into a window is one
    rest_counts = -(-(lengths - offsets) // max_length)
    number, index = _enumerate_windows(rest_counts + 1)
    end = np.minimum(offsets[number] + index * max_length, lengths[number])
    begin = np.where(index == 0, 0, offsets[number] + (index - 1) * max_length)
    return np.stack((documents[number], begin, begin, end), axis=1)


def cut_overlapping_windows(documents: Array, lengths: Array, max_length: int, stride: int) -> Array:
    """Windows of `max_length` predictions, one every `stride`; what an earlier one predicts is no target."""
    rest_counts = np.maximum(0, -(-(lengths - max_length) // stride))
    number, index = _enumerate_windows(rest_counts + 1)
    begin = index * stride
    end = np.minimum(begin + max_length, lengths[number])
    first_target = np.where(index == 0, 0, begin - stride + max_length)
    return np.stack((documents[number], begin, first_target, end), axis=1)


def gather_windows(corpus: Corpus, rows: Array, bos_id: int, eos_id: int) -> tuple[list[list[int]], list[list[int]]]:
    """The ids and the labels of each window."""
    all_ids: list[list[int]] = []
    all_labels: list[list[int]] = []
    for document, begin, first_target, end in rows.tolist():
        tokens = corpus.target_ids[document]
        ids = tokens[max(begin - 1, 0) : end - 1].tolist()
        labels = tokens[first_target:end].tolist()
        all_ids.append(ids if begin else [bos_id, *ids])
        all_labels.append([IGNORED] * (first_target - begin) + labels + [eos_id] * (end > len(tokens)))
    return all_ids, all_labels


def _count_predictions(corpus: Corpus, documents: Array) -> Array:
    """The tokens of each document, and EOS."""
    return corpus.target_ids.lengths(documents) + 1


def _enumerate_windows(counts: Array) -> tuple[Array, Array]:
    """For each window of all documents: the number of its document here, and its own number in that document."""
    number = np.repeat(np.arange(len(counts)), counts)
    return number, np.arange(len(number)) - np.repeat(np.cumsum(counts) - counts, counts)


def _window_lengths(windows: Array) -> Array:
    return np.asarray(windows[:, END] - windows[:, BEGIN])
