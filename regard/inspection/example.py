"""What is looked at: a sentence, or a pair, cut into pieces, with the word that each piece belongs to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.data.corpora import GoldPair, Link, word_spans
from regard.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, Tokenizers
from regard.data.wordpiece import WordPiece
from regard.errors import DataError

LONGEST = 512
"""Pieces of a sentence that can still be looked at: every head holds a square of them."""
NONE = -1
"""The word of a piece that belongs to no word."""


@dataclass(frozen=True)
class Side:
    """One text as a model reads it: ids and what people see of them."""

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    word: tuple[int, ...]
    """Which of the words each piece belongs to; -1: none."""
    words: tuple[str, ...]
    special: tuple[bool, ...]
    """Whether a piece is a mark of begin or end, and no text."""

    def __len__(self) -> int:
        return len(self.ids)

    def mark(self, i: int) -> bool:
        """Whether a piece is a mark or punctuation: something to rest on, not to read."""
        return self.special[i] or not any(map(str.isalnum, self.pieces[i].removeprefix("▁")))


@dataclass(frozen=True)
class Example:
    """A source and, for a translator, what the decoder reads and writes, with whatever gold is known."""

    source: Side
    read: Side | None = None
    """<s> w1 … wn"""
    target: Side | None = None
    """w1 … wn </s>"""
    alignment: tuple[tuple[int, int], ...] | None = None
    """Sure links (source word, target word); None where nothing is known."""
    possible: tuple[tuple[int, int], ...] = ()
    """Links that are not asked for, and not wrong."""
    source_links: tuple[Link, ...] = ()
    target_links: tuple[Link, ...] = ()
    line: int | None = None
    """Which pair of its files it is, from 0; None where it comes from none."""

    def rows(self, kind: str) -> Side:
        """The queries of a kind of attention, by what they have been given: the decoder's read."""
        side = self.source if kind == "encoder" else self.read
        assert side is not None
        return side

    def named(self, kind: str) -> Side:
        """The queries as people know them: by what cross-attention writes in a row, else by the token that looks."""
        if kind != "cross":
            return self.rows(kind)
        assert self.target is not None
        return self.target

    def columns(self, kind: str) -> Side:
        """The keys of a kind of attention."""
        side = self.read if kind == "decoder" else self.source
        assert side is not None
        return side


def pair_example(tokenizers: Tokenizers, source: str, target: str, gold: GoldPair | None = None) -> Example:
    """A pair as an encoder-decoder reads it."""
    (source_ids,), (target_ids,) = tokenizers.source.encode([source]), tokenizers.target.encode([target])
    return Example(
        source=_side(tokenizers.source, source, source_ids, after=EOS),
        read=_side(tokenizers.target, target, target_ids, before=BOS),
        target=_side(tokenizers.target, target, target_ids, after=EOS),
        alignment=None if gold is None else gold.alignment,
        source_links=() if gold is None else gold.source_links,
        target_links=() if gold is None else gold.target_links,
    )


def text_example(tokenizer: WordPiece, text: str, longest: int, gold: GoldPair | None = None) -> Example:
    """A text as an encoder alone reads it."""
    (ids,) = tokenizer.encode([text], longest)
    covered = tokenizer.spans(text, longest)
    special = tuple(a == b for a, b in covered)
    word, words = belonging(text, covered)
    side = Side(text, tuple(ids), tuple(tokenizer.convert_ids_to_tokens(ids)), word, words, special)
    return Example(side, source_links=() if gold is None else gold.source_links)


def bare_side(ids: Sequence[int]) -> Side:
    """Ids without any text behind them, for probes: every piece is a word of its own."""
    marks = tuple(i in (PAD, BOS, EOS) for i in ids)
    names = tuple(f"#{i}" for i in ids)
    return Side("", tuple(ids), names, tuple(range(len(names))), names, marks)


def belonging(text: str, pieces: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The word that each piece, given by its characters, shares most with; and the words."""
    found = word_spans(text)
    return tuple(_most(piece, found) for piece in pieces), tuple(text[a:b] for a, b in found)


def by_spaces(side: Side) -> Side:
    """The same side with words as spaces cut them, as files of gold alignments count them."""
    within = spaced(side)
    word = tuple(at if at == NONE else within[at] for at in side.word)
    return replace(side, word=word, words=tuple(side.text.split()))


def spaced(side: Side) -> list[int]:
    """Which of the words between spaces each word of a side is, or is a part of."""
    tokens = [match.span() for match in re.finditer(r"\S+", side.text)]
    if len(side.words) == len(tokens):
        return list(range(len(tokens)))
    return [next(n for n, (a, b) in enumerate(tokens) if a <= start < b) for start, _ in word_spans(side.text)]


def pieces_of(side: Side, word: str) -> list[int]:
    """Where the pieces of a word stand; of a word that comes twice, of the first one. Case may differ."""
    places = [n for n, name in enumerate(side.words) if name.casefold() == word.casefold()]
    if not places:
        known = ", ".join(dict.fromkeys(side.words))
        raise DataError(f"the word '{word}' is not in the sentence '{side.text}'; its words are: {known}")
    return [i for i, at in enumerate(side.word) if at == places[0]]


def _most(piece: tuple[int, int], words: Sequence[tuple[int, int]]) -> int:
    shared = [min(b, piece[1]) - max(a, piece[0]) for a, b in words]
    best = max(range(len(words)), key=shared.__getitem__, default=NONE)
    return best if best != NONE and shared[best] > 0 else NONE


def _side(tokenizer: Tokenizer, text: str, ids: Sequence[int], before: int = UNK, after: int = UNK) -> Side:
    """Unmarked ids with one mark before or after them."""
    word, words = belonging(text, tokenizer.spans(text, ids))
    first, last = ([before] if before != UNK else []), ([after] if after != UNK else [])
    whole = [*first, *ids, *last]
    names = {BOS: "<s>", EOS: "</s>"}
    return Side(
        text,
        tuple(whole),
        (*(names[i] for i in first), *tokenizer.convert_ids_to_tokens(ids), *(names[i] for i in last)),
        (*(NONE for _ in first), *word, *(NONE for _ in last)),
        words,
        (*(True for _ in first), *(False for _ in ids), *(True for _ in last)),
    )
