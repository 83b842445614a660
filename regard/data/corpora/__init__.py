"""Generated corpora with gold alignments: `CORPORA[name](count, seed)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from regard.data.corpora import algorithmic, english_french
from regard.data.corpora.gold import GoldPair, Link, write_rows

__all__ = ["CORPORA", "GoldPair", "Link", "write_rows"]

CORPORA: dict[str, Callable[[int, int], Iterator[GoldPair]]] = {
    "english-french": english_french.generate,
    **{task: partial(algorithmic.generate, task) for task in algorithmic.TASKS},
}
"""From a corpus' name to a function of (count, seed)."""
