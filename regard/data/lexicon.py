"""How often tokens are translations of each other: IBM Model 1 in both directions.  Brown et al. 1993.

Guided alignment counts in hashed slots, since it asks for the probability of given pairs. Here the question is which
pairs there are, so every pair of tokens that occur in the same sentence pair is counted exactly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.store import Array, Corpus, IdRow
from regard.data.tokenizers.tokenizer import EOS
from regard.progress import track

MAX_CELLS = 1 << 24  # pairs of positions that are counted; a larger corpus is sampled
BLOCK_CELLS = 1 << 19  # of sentence pairs that are counted together
MAX_LENGTH = 100  # tokens; longer sentences are not counted
ITERATIONS = 4


@dataclass(frozen=True)
class Lexicon:
    """P pairs of a source token and a target token, and how probable it is that the one brings the other."""

    source: Array  # (P,)  ascending
    target: Array  # (P,)
    probability: Array
    """How often the two are aligned for each time that the source token occurs, the mean of both directions: (P,)."""
    frequency: Array
    """How often each target token occurs in a sentence: (V,)."""


@dataclass(frozen=True)
class _Block:
    """The C cells (source position, target position) of some sentence pairs."""

    pairs: Array  # (C,) which pair of tokens a cell has
    rows: Array  # (C,) its target position, counted over all sentence pairs of the block
    columns: Array  # (C,) its source position, likewise


def count_lexicon(rows: Sequence[IdRow], source_size: int, target_size: int) -> Lexicon:
    """The lexicon of sentence pairs, as ids without EOS, which is added for words without a counterpart."""
    keys = np.unique(np.concatenate([_NONE, *(np.unique(keys) for keys, _, _ in _cells(rows, target_size))]))
    blocks = [
        _Block(
            np.searchsorted(keys, block_keys).astype(np.int32), _shorten(target_positions), _shorten(source_positions)
        )
        for block_keys, target_positions, source_positions in _cells(rows, target_size)
    ]
    source, target = keys // target_size, keys % target_size
    alignments = np.zeros(len(keys), np.float32)
    for explained, explaining in track([("target", source), ("source", target)], "counting translations of tokens"):
        alignments += _fit(blocks, explaining, explained) / 2
    counts = [np.bincount(np.concatenate([_NONE, *(row[side] for row in rows)])) for side in (0, 1)]
    source_counts, target_counts = (
        np.pad(count, (0, size - len(count))) for count, size in zip(counts, (source_size, target_size), strict=True)
    )
    source_counts[EOS] = target_counts[EOS] = len(rows)
    probability = alignments / np.maximum(source_counts, 1)[source]
    return Lexicon(source, target, probability.astype(np.float32), target_counts / max(1, len(rows)))


def _shorten(positions: Array) -> Array:
    """In half of the memory."""
    return positions.astype(np.int32)


def sample_corpus(corpus: Corpus) -> list[IdRow]:
    """Sentence pairs that are spread over a corpus, as many as are counted."""
    every = np.arange(len(corpus))
    chosen = spread(np.stack((corpus.source_ids.lengths(every), corpus.target_ids.lengths(every))))
    return [(corpus.source_ids[row].tolist(), corpus.target_ids[row].tolist()) for row in chosen.tolist()]


def spread(lengths: Array) -> Array:
    """The numbers of the sentence pairs to count, of these lengths (2, N): all short ones, or MAX_CELLS cells."""
    lengths = lengths + 1
    short = np.flatnonzero(lengths.max(axis=0, initial=0) <= MAX_LENGTH)
    num_cells = int(lengths[:, short].prod(axis=0).sum())
    return short[:: max(1, -(-num_cells // MAX_CELLS))]


_NONE = np.empty(0, np.int64)


def _fit(blocks: list[_Block], tokens: Array, explained: str) -> Array:
    """Expected alignments (P,) of the model that explains the tokens of one side by those of the other (P,)."""
    probabilities = np.ones(len(tokens), np.float32)
    alignments = probabilities
    for _ in range(ITERATIONS):
        alignments = np.zeros(len(tokens), np.float32)
        for block in blocks:
            positions = block.rows if explained == "target" else block.columns
            cells = probabilities[block.pairs]
            posteriors = cells / np.maximum(np.bincount(positions, weights=cells), 1e-30)[positions]
            np.add.at(alignments, block.pairs, posteriors.astype(np.float32))
        totals = np.bincount(tokens, weights=alignments) if len(tokens) else alignments
        probabilities = (alignments / np.maximum(totals, 1e-30)[tokens]).astype(np.float32)
    return alignments


def _cells(rows: Sequence[IdRow], target_size: int) -> Iterator[tuple[Array, Array, Array]]:
    """Blocks of cells: the key of the pair of tokens, the target position and the source position of each."""
    keys: list[Array] = []
    positions: tuple[list[Array], list[Array]] = [], []
    starts, num_cells = [0, 0], 0
    for row in rows:
        source, target = (np.append(np.asarray(side, np.int64), EOS) for side in row)
        keys.append((source * target_size + target[:, None]).ravel())  # (T · S,)
        positions[0].append(np.repeat(np.arange(starts[0], starts[0] + len(target)), len(source)))
        positions[1].append(np.tile(np.arange(starts[1], starts[1] + len(source)), len(target)))
        starts, num_cells = [starts[0] + len(target), starts[1] + len(source)], num_cells + len(keys[-1])
        if num_cells >= BLOCK_CELLS:
            yield np.concatenate(keys), np.concatenate(positions[0]), np.concatenate(positions[1])
            keys, positions, starts, num_cells = [], ([], []), [0, 0], 0
    if keys:
        yield np.concatenate(keys), np.concatenate(positions[0]), np.concatenate(positions[1])
