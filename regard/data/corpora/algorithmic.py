"""Tasks with one right answer: copy, reverse, sort, and a dictionary to learn by heart.

A model that cannot copy cannot translate; one that learned positions wrongly cannot reverse. Sources and
targets are symbols parted by spaces, and each source has one target.
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
    shortest: int = 3,
    longest: int = 10,
    symbols: int = 26,
    dictionary: int = 0,
) -> Iterator[GoldPair]:
    """So many pairs, no source twice, lengths equally likely while they last.

    `dictionary` seeds what "lookup" looks up, apart from `seed`, so that all samples ask for the same words.
    """
    if task not in TASKS:
        raise DataError(f"unknown task '{task}'; choose one of {', '.join(TASKS)}")
    if not 1 <= shortest <= longest:
        raise DataError(f"lengths from {shortest} to {longest}: need 1 <= shortest <= longest")
    if symbols < 1:
        raise DataError(f"cannot write with {symbols} symbols; need at least 1")
    exist = sum(symbols**length for length in range(shortest, longest + 1))
    if not 0 <= count <= exist:
        raise DataError(
            f"cannot give {count} distinct sources: {exist} exist with {symbols} symbols and lengths from "
            f"{shortest} to {longest}; ask for fewer, or allow more symbols or lengths"
        )
    sources = _sources(Random(seed), shortest, longest, symbols)
    meanings = make_dictionary(symbols, dictionary)
    names = alphabet(symbols, string.ascii_lowercase)
    return (_pair(task, next(sources), names, meanings) for _ in range(count))


def alphabet(symbols: int, letters: str) -> list[str]:
    """So many names of equal width, in alphabetical order: a b c, or aa ab ac where letters run out."""
    width = 1
    while len(letters) ** width < symbols:
        width += 1
    everything = map("".join, product(letters, repeat=width))
    return [name for name, _ in zip(everything, range(symbols), strict=False)]


def make_dictionary(symbols: int, seed: int) -> Dictionary:
    """For each symbol one to three capitals: a lookup changes length, as translation does."""
    generator = Random(seed)
    capitals = alphabet(symbols, string.ascii_uppercase)
    return [tuple(generator.choices(capitals, k=generator.choice((1, 1, 2, 3)))) for _ in range(symbols)]


def _sources(generator: Random, shortest: int, longest: int, symbols: int) -> Iterator[tuple[int, ...]]:
    """Every sequence of these lengths once, in random order."""
    lengths = list(range(shortest, longest + 1))
    used: dict[int, set[tuple[int, ...]]] = {length: set() for length in lengths}
    rest: dict[int, list[tuple[int, ...]]] = {}
    while lengths:
        length = generator.choice(lengths)
        seen = used[length]
        # Drawing blindly is quick until half of a length is used; from then on, draw from what is left.
        if length not in rest and 2 * len(seen) >= symbols**length:
            rest[length] = [each for each in product(range(symbols), repeat=length) if each not in seen]
            generator.shuffle(rest[length])
        if length in rest:
            source = rest[length].pop()
            if not rest[length]:
                lengths.remove(length)
        else:
            source = tuple(generator.choices(range(symbols), k=length))
            if source in seen:
                continue
            seen.add(source)
        yield source


def _pair(task: Task, source: tuple[int, ...], names: list[str], meanings: Dictionary) -> GoldPair:
    if task == "lookup":
        target = [(at, meaning) for at, symbol in enumerate(source) for meaning in meanings[symbol]]
    else:
        target = [(at, names[source[at]]) for at in _order(task, source)]
    return GoldPair(
        " ".join(names[symbol] for symbol in source),
        " ".join(text for _, text in target),
        tuple(sorted((at, to) for to, (at, _) in enumerate(target))),
    )


def _order(task: Task, source: tuple[int, ...]) -> list[int]:
    """Which source place each target place takes its symbol from; sorting keeps equals in their order."""
    places = list(range(len(source)))
    if task == "reverse":
        places.reverse()
    elif task == "sort":
        places.sort(key=source.__getitem__)
    return places
