"""What the loops around other people's models share: ids, and two ways to make batches."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

PAD, BOS, EOS, FIRST = 0, 1, 2, 3
Pair = tuple[list[int], list[int]]


def load(folder: Path) -> tuple[list[Pair], int]:
    """All pairs as ids, and the vocabulary size."""
    words = (folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
    ids = {word: FIRST + i for i, word in enumerate(words)}
    sides = [
        [[ids.get(word, FIRST) for word in line.split(" ")] for line in _lines(folder / f"train.{side}")]
        for side in ("source", "target")
    ]
    return list(zip(*sides, strict=True)), FIRST + len(words)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def random_batches(pairs: list[Pair], size: int) -> Iterator[list[Pair]]:
    """Batches of a fixed number of sentences, in random order, as tutorials do."""
    rng = np.random.default_rng(1)
    while True:
        order = rng.permutation(len(pairs))
        for start in range(0, len(order) - size + 1, size):
            yield [pairs[i] for i in order[start : start + size]]


def like_lengths(pairs: list[Pair], tokens: int) -> Iterator[list[Pair]]:
    """Sentences of like length together, cut where sentences times the longest side would pass the budget."""
    rng = np.random.default_rng(1)
    longest = [max(len(one), len(two)) + 1 for one, two in pairs]
    order = sorted(range(len(pairs)), key=lambda i: (longest[i], len(pairs[i][0])))
    groups: list[list[Pair]] = [[]]
    for i in order:
        if groups[-1] and (len(groups[-1]) + 1) * longest[i] > tokens:
            groups.append([])
        groups[-1].append(pairs[i])
    while True:
        for i in rng.permutation(len(groups)):
            yield groups[i]


def padded(batch: list[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """Source with its end, target in, target out."""
    rows = (
        [[*source, EOS] for source, _ in batch],
        [[BOS, *target] for _, target in batch],
        [[*target, EOS] for _, target in batch],
    )
    source, into, out = (_pad(side) for side in rows)
    return source, into, out


def _pad(rows: list[list[int]]) -> Tensor:
    matrix = torch.full((len(rows), max(map(len, rows))), PAD)
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = torch.tensor(row)
    return matrix
