"""Tasks with one right answer: copy, reverse, sort, and the lookup of a fixed dictionary.

A model that cannot copy cannot translate; one that learned positions wrongly cannot reverse. Sources and
targets are symbols separated by spaces, and each source has one target.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Literal, get_args

from regard.data.corpora.gold import GoldPair
from regard.errors import DataError

Task = Literal["copy", "reverse", "sort", "lookup"]
TASKS: tuple[Task, ...] = get_args(Task)
Dictionary = list[tuple[str, ...]]


def generate(
    task: Task,
    count: int,
    seed: int,
    min_length: int = 3,
    max_length: int = 10,
    symbols: int = 26,
    dictionary_seed: int = 0,
) -> Iterator[GoldPair]:
    """`count` pairs, no source twice, all lengths equally likely as long as they are not exhausted.

    `dictionary_seed` seeds the dictionary of "lookup" apart from `seed`, so that all samples use the same one.
    """
    if task not in TASKS:
        raise DataError(f"unknown task '{task}'; choose one of {', '.join(TASKS)}")
    if not 1 <= min_length <= max_length:
        raise DataError(f"lengths from {min_length} to {max_length}: need 1 <= min_length <= max_length")
    if symbols < 1:
        raise DataError(f"cannot write with {symbols} symbols; need at least 1")
    num_possible = sum(symbols**length for length in range(min_length, max_length + 1))
    if not 0 <= count <= num_possible:
        raise DataError(
            f"cannot give {count} distinct sources: {num_possible} exist with {symbols} symbols and lengths from "
            f"{min_length} to {max_length}; ask for fewer, or allow more symbols or lengths"
        )
    sources = _sources(Random(seed), min_length, max_length, symbols)
    meanings = make_dictionary(symbols, dictionary_seed)
    names = alphabet(symbols, string.ascii_lowercase)
    return (_pair(task, next(sources), names, meanings) for _ in range(count))


def alphabet(symbols: int, letters: str) -> list[str]:
    """Names of equal width, in alphabetical order: a b c, or aa ab ac if there are too few letters."""
    width = 1
    while len(letters) ** width < symbols:
        width += 1
    all_names = map("".join, product(letters, repeat=width))
    return [name for name, _ in zip(all_names, range(symbols), strict=False)]


def make_dictionary(symbols: int, seed: int) -> Dictionary:
    """For each symbol one to three capitals: a lookup changes length, as translation does."""
    generator = Random(seed)
    capitals = alphabet(symbols, string.ascii_uppercase)
    return [tuple(generator.choices(capitals, k=generator.choice((1, 1, 2, 3)))) for _ in range(symbols)]


def _sources(generator: Random, min_length: int, max_length: int, symbols: int) -> Iterator[tuple[int, ...]]:
    """Every sequence of these lengths once, in random order."""
    lengths = list(range(min_length, max_length + 1))
    used_by_length: dict[int, set[tuple[int, ...]]] = {length: set() for length in lengths}
    remaining: dict[int, list[tuple[int, ...]]] = {}
    while lengths:
        length = generator.choice(lengths)
        used_sources = used_by_length[length]
        # Rejection sampling is fast until half of a length is used; from then on, draw from the remaining ones.
        if length not in remaining and 2 * len(used_sources) >= symbols**length:
            remaining[length] = [
                sequence for sequence in product(range(symbols), repeat=length) if sequence not in used_sources
            ]
            generator.shuffle(remaining[length])
        if length in remaining:
            source = remaining[length].pop()
            if not remaining[length]:
                lengths.remove(length)
        else:
            source = tuple(generator.choices(range(symbols), k=length))
            if source in used_sources:
                continue
            used_sources.add(source)
        yield source


def _pair(task: Task, source: tuple[int, ...], names: list[str], meanings: Dictionary) -> GoldPair:
    if task == "lookup":
        target = [(source_index, meaning) for source_index, symbol in enumerate(source) for meaning in meanings[symbol]]
    else:
        target = [(source_index, names[source[source_index]]) for source_index in _order(task, source)]
    return GoldPair(
        " ".join(names[symbol] for symbol in source),
        " ".join(text for _, text in target),
        tuple(sorted((source_index, target_index) for target_index, (source_index, _) in enumerate(target))),
    )


def _order(task: Task, source: tuple[int, ...]) -> list[int]:
    """The source position of the symbol at each target position; sorting is stable."""
    positions = list(range(len(source)))
    if task == "reverse":
        positions.reverse()
    elif task == "sort":
        positions.sort(key=source.__getitem__)
    return positions
