"""Pairs with gold annotation: word alignment and grammatical links.

A generated corpus knows its own grammar, so attention heads can be compared with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from regard.errors import DataError

LINK_KINDS = {
    "determiner-noun": "head: the noun; dependent: its article, possessive, demonstrative or number",
    "adjective-noun": "head: the noun; dependent: an adjective standing beside it",
    "predicate-noun": "head: the noun or pronoun; dependent: an adjective said of it through a form of 'be'",
    "subject-verb": "head: the finite verb, the word that agrees; dependent: the subject's noun or pronoun",
    "verb-object": "head: the verb that carries the meaning; dependent: the object's noun or pronoun",
}
"""Every kind of link and its direction. In a relative clause the dependent is the noun outside it."""


class Link(NamedTuple):
    """A grammatical tie between two words of one sentence, as indices into `split_words(sentence)`."""

    kind: str
    head: int
    dependent: int


Alignment = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class GoldPair:
    """A sentence, its translation, and the gold annotation of both."""

    source: str
    target: str
    alignment: Alignment
    """(source word, target word), sorted."""
    source_links: tuple[Link, ...] = ()
    target_links: tuple[Link, ...] = ()


def write_alignment(alignment: Iterable[tuple[int, int]]) -> str:
    """The Pharaoh form, `0-0 1-2`: source word, target word."""
    return " ".join(f"{source}-{target}" for source, target in alignment)


def read_alignment(text: str) -> Alignment:
    """The alignment that `write_alignment` wrote."""
    return tuple(_read_index_pair(item, text) for item in text.split())


def write_links(links: Iterable[Link]) -> str:
    """Links as `kind:head-dependent`, with a space between two."""
    return " ".join(f"{kind}:{head}-{dependent}" for kind, head, dependent in links)


def read_links(text: str) -> tuple[Link, ...]:
    """The links that `write_links` wrote."""
    links = []
    for item in text.split():
        kind, colon, ends = item.rpartition(":")
        if not colon or kind not in LINK_KINDS:
            raise DataError(f"link '{item}' is not 'kind:head-dependent' with a kind of {', '.join(LINK_KINDS)}")
        links.append(Link(kind, *_read_index_pair(ends, text)))
    return tuple(links)


def write_rows(pairs: Iterable[GoldPair]) -> Iterator[str]:
    """Lines of a TSV without line feeds: source, target, alignment, source links, target links."""
    for pair in pairs:
        for side in (pair.source, pair.target):
            if "\t" in side or "\n" in side or "\r" in side:
                raise DataError(f"a tab or line break inside {side!r} would break its TSV row; replace it by a space")
        yield "\t".join(
            (
                pair.source,
                pair.target,
                write_alignment(pair.alignment),
                write_links(pair.source_links),
                write_links(pair.target_links),
            )
        )


def read_row(row: str) -> GoldPair:
    """The pair that `write_rows` wrote."""
    columns = row.rstrip("\r\n").split("\t")
    if len(columns) != 5:
        raise DataError(
            f"a gold row has 5 columns (source, target, alignment, source links, target links), "
            f"this one has {len(columns)}: {row!r}"
        )
    source, target, alignment, source_links, target_links = columns
    return GoldPair(source, target, read_alignment(alignment), read_links(source_links), read_links(target_links))


def _read_index_pair(item: str, text: str) -> tuple[int, int]:
    left, dash, right = item.partition("-")
    if not (dash and left.isdecimal() and right.isdecimal()):
        raise DataError(f"'{item}' in '{text}' is not two word numbers joined by a dash, such as 0-2")
    return int(left), int(right)
