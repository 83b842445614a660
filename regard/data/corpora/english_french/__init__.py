"""English and French sentences by a grammar written here, with true alignments and grammatical links.

Real grammar, small vocabulary: agreement, elision, contraction, clitics, adjective placement, four tenses,
negation, questions, relatives. The same English sentence always has the same French. Where English leaves
open what French must decide, the grammar decides once:

- "you" is "vous"; I, we, you, they and "who" are masculine; so are nouns such as "friend" or "child".
- The simple past is a passé composé, "was/were -ing" an imparfait, "will" a futur simple; but the simple past
  of a verb of state (be, have, know, love ...) is an imparfait.
- Every word of either side is aligned to at least one word of the other.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

from regard.data.corpora.english_french import english, lexicon
from regard.data.corpora.english_french.sentences import draft_pair
from regard.data.corpora.gold import GoldPair
from regard.errors import DataError
from regard.languages import split_words

__all__ = ["Splits", "combinations", "generate", "is_reserved", "split"]

RESERVED_FRACTION = 0.065
"""Share of adjective-noun and verb-object combinations that never occur in training."""
_PATIENCE = 50_000
"""Drafts in a row without a new sentence before we give up."""


@dataclass(frozen=True)
class Splits:
    """Four splits without a common source; the last one consists of combinations that never occur in the others."""

    train: list[GoldPair]
    dev: list[GoldPair]
    test: list[GoldPair]
    compositional: list[GoldPair]


def generate(count: int, seed: int) -> Iterator[GoldPair]:
    """`count` pairs, no source twice; the same seed gives the same pairs."""
    if count < 0:
        raise DataError(f"cannot generate {count} pairs; ask for 0 or more")
    stream = _stream(seed)
    return (next(stream) for _ in range(count))


def _stream(seed: int) -> Iterator[GoldPair]:
    generator = Random(seed)
    used_sources: set[str] = set()
    idle = 0
    while idle < _PATIENCE:
        pair = draft_pair(generator)
        if pair is None or pair.source in used_sources:
            idle += 1
            continue
        idle = 0
        used_sources.add(pair.source)
        yield pair
    raise DataError(f"no new sentence in {_PATIENCE} drafts after {len(used_sources)}; ask for fewer pairs")


def split(train: int, dev: int, test: int, compositional: int, seed: int) -> Splits:
    """Train, dev and test of one kind, and a split of reserved combinations of words that occur in train."""
    if min(train, dev, test, compositional) < 0:
        raise DataError(f"sizes are {train}, {dev}, {test} and {compositional}; none may be negative")
    if compositional and not train:
        raise DataError("a compositional set needs training pairs: all its words must be known from them")
    stream = _stream(seed)
    open_pairs: list[GoldPair] = []
    reserved_pairs: list[GoldPair] = []
    while len(open_pairs) < train + dev + test:
        pair = next(stream)
        (reserved_pairs if _is_held_out(pair) else open_pairs).append(pair)
    train_vocabulary = {word for pair in open_pairs[:train] for word in _vocabulary(pair)}
    compositional_pairs = [pair for pair in reserved_pairs if _vocabulary(pair) <= train_vocabulary][:compositional]
    attempts = 0
    while len(compositional_pairs) < compositional:
        pair = next(stream)
        attempts += 1
        if _is_held_out(pair) and _vocabulary(pair) <= train_vocabulary:
            compositional_pairs.append(pair)
        elif attempts > 500 * (compositional + 10):
            raise DataError(
                f"only {len(compositional_pairs)} of {compositional} compositional pairs consist of words that occur "
                f"in {train} training pairs; use more training pairs"
            )
    return Splits(open_pairs[:train], open_pairs[train : train + dev], open_pairs[train + dev :], compositional_pairs)


def combinations(pair: GoldPair) -> set[tuple[str, str, str]]:
    """What the English combines, as lemmas: ("adjective", "old", "king"), ("verb", "eat", "apple")."""
    text = [word.lower() for word in split_words(pair.source)]
    nouns, verbs = _lemmas()
    triples = set()
    for kind, head, dependent in pair.source_links:
        if kind in ("adjective-noun", "predicate-noun") and text[head] in nouns:
            triples.add(("adjective", text[dependent], nouns[text[head]]))
        elif kind == "verb-object" and text[dependent] in nouns:
            triples.add(("verb", verbs[text[head]], nouns[text[dependent]]))
    return triples


@cache
def is_reserved(combination: tuple[str, str, str]) -> bool:
    """Whether a combination is reserved for the compositional split: the same for every seed and machine."""
    return zlib.crc32(" ".join(combination).encode()) < RESERVED_FRACTION * 2**32


def _is_held_out(pair: GoldPair) -> bool:
    return any(is_reserved(combination) for combination in combinations(pair))


def _vocabulary(pair: GoldPair) -> set[str]:
    """Its words in lower case; French words are marked, so that "table" counts once for each language."""
    return {word.lower() for word in split_words(pair.source)} | {
        "fr " + word.lower() for word in split_words(pair.target)
    }


@cache
def _lemmas() -> tuple[dict[str, str], dict[str, str]]:
    """From any English form to its lemma: nouns, verbs."""
    nouns = {form: noun.english for noun in lexicon.NOUNS for form in (noun.english, noun.english_plural)}
    verbs = {}
    for verb in (*lexicon.VERBS, *lexicon.DITRANSITIVE):
        base = verb.english
        for form in (base, english.third_person(base), english.past(base), english.gerund(base)):
            verbs[form] = base
    return nouns, verbs
