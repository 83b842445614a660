"""What is looked at: a sentence, or a pair, cut into pieces, with the word that each piece belongs to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.data.corpora import GoldPair, Link, word_spans
from regard.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, Tokenizers
from regard.data.wordpiece import WordPiece
from regard.errors import DataError

MAX_TOKENS = 512
"""Pieces of a sentence that can still be looked at: every head holds a square of them."""
NO_WORD = -1
"""The word of a piece that belongs to no word."""


@dataclass(frozen=True)
class TokenizedText:
    """One text as a model reads it: ids and what people see of them."""

    text: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    word_ids: tuple[int, ...]
    """Which of the words each piece belongs to; -1: none."""
    words: tuple[str, ...]
    special_tokens_mask: tuple[bool, ...]
    """Whether a piece is a mark of begin or end, and no text."""

    def __len__(self) -> int:
        return len(self.ids)

    def is_separator(self, i: int) -> bool:
        """Whether a piece is a mark or punctuation: something to rest on, not to read."""
        return self.special_tokens_mask[i] or not any(map(str.isalnum, self.tokens[i].removeprefix("▁")))


@dataclass(frozen=True)
class Example:
    """A source and, for a translator, what the decoder reads and writes, with whatever gold is known."""

    source: TokenizedText
    decoder_input: TokenizedText | None = None
    """<s> w1 … wn"""
    target: TokenizedText | None = None
    """w1 … wn </s>"""
    alignment: tuple[tuple[int, int], ...] | None = None
    """Sure links (source word, target word); None where nothing is known."""
    possible_alignment: tuple[tuple[int, int], ...] = ()
    """Links that are not asked for, and not wrong."""
    source_links: tuple[Link, ...] = ()
    target_links: tuple[Link, ...] = ()
    line: int | None = None
    """Which pair of its files it is, from 0; None where it comes from none."""

    def query_tokens(self, kind: str) -> TokenizedText:
        """The queries of a kind of attention, by what they have been given: the decoder's read."""
        side = self.source if kind == "encoder" else self.decoder_input
        assert side is not None
        return side

    def query_labels(self, kind: str) -> TokenizedText:
        """The queries as people know them: by what cross-attention writes in a row, else by the token that looks."""
        if kind != "cross":
            return self.query_tokens(kind)
        assert self.target is not None
        return self.target

    def key_tokens(self, kind: str) -> TokenizedText:
        """The keys of a kind of attention."""
        side = self.decoder_input if kind == "decoder" else self.source
        assert side is not None
        return side


def build_pair_example(tokenizers: Tokenizers, source: str, target: str, gold: GoldPair | None = None) -> Example:
    """A pair as an encoder-decoder reads it."""
    (source_ids,), (target_ids,) = tokenizers.source.encode([source]), tokenizers.target.encode([target])
    return Example(
        source=_tokenize_side(tokenizers.source, source, source_ids, suffix_id=EOS),
        decoder_input=_tokenize_side(tokenizers.target, target, target_ids, prefix_id=BOS),
        target=_tokenize_side(tokenizers.target, target, target_ids, suffix_id=EOS),
        alignment=None if gold is None else gold.alignment,
        source_links=() if gold is None else gold.source_links,
        target_links=() if gold is None else gold.target_links,
    )


def build_text_example(tokenizer: WordPiece, text: str, max_length: int, gold: GoldPair | None = None) -> Example:
    """A text as an encoder alone reads it."""
    (ids,) = tokenizer.encode([text], max_length)
    token_spans = tokenizer.spans(text, max_length)
    special_tokens_mask = tuple(a == b for a, b in token_spans)
    word_ids, words = assign_words(text, token_spans)
    side = TokenizedText(
        text, tuple(ids), tuple(tokenizer.convert_ids_to_tokens(ids)), word_ids, words, special_tokens_mask
    )
    return Example(side, source_links=() if gold is None else gold.source_links)


def tokens_from_ids(ids: Sequence[int]) -> TokenizedText:
    """Ids without any text behind them, for probes: every piece is a word of its own."""
    special_tokens_mask = tuple(i in (PAD, BOS, EOS) for i in ids)
    tokens = tuple(f"#{i}" for i in ids)
    return TokenizedText("", tuple(ids), tokens, tuple(range(len(tokens))), tokens, special_tokens_mask)


def assign_words(text: str, token_spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The word that each piece, given by its characters, shares most with; and the words."""
    spans = word_spans(text)
    return tuple(_best_overlap(token_span, spans) for token_span in token_spans), tuple(text[a:b] for a, b in spans)


def with_whitespace_words(side: TokenizedText) -> TokenizedText:
    """The same side with words as spaces cut them, as files of gold alignments count them."""
    whitespace_ids = whitespace_word_ids(side)
    word_ids = tuple(word_id if word_id == NO_WORD else whitespace_ids[word_id] for word_id in side.word_ids)
    return replace(side, word_ids=word_ids, words=tuple(side.text.split()))


def whitespace_word_ids(side: TokenizedText) -> list[int]:
    """Which of the words between spaces each word of a side is, or is a part of."""
    spans = [match.span() for match in re.finditer(r"\S+", side.text)]
    if len(side.words) == len(spans):
        return list(range(len(spans)))
    return [next(n for n, (a, b) in enumerate(spans) if a <= start < b) for start, _ in word_spans(side.text)]


def token_positions(side: TokenizedText, word: str) -> list[int]:
    """Where the pieces of a word stand; of a word that comes twice, of the first one. Case may differ."""
    matches = [n for n, name in enumerate(side.words) if name.casefold() == word.casefold()]
    if not matches:
        available_words = ", ".join(dict.fromkeys(side.words))
        raise DataError(f"the word '{word}' is not in the sentence '{side.text}'; its words are: {available_words}")
    return [i for i, word_id in enumerate(side.word_ids) if word_id == matches[0]]


def _best_overlap(token_span: tuple[int, int], word_spans: Sequence[tuple[int, int]]) -> int:
    overlaps = [min(b, token_span[1]) - max(a, token_span[0]) for a, b in word_spans]
    best = max(range(len(word_spans)), key=overlaps.__getitem__, default=NO_WORD)
    return best if best != NO_WORD and overlaps[best] > 0 else NO_WORD


def _tokenize_side(
    tokenizer: Tokenizer, text: str, ids: Sequence[int], prefix_id: int = UNK, suffix_id: int = UNK
) -> TokenizedText:
    """Unmarked ids with one mark before or after them."""
    word_ids, words = assign_words(text, tokenizer.spans(text, ids))
    prefix, suffix = ([prefix_id] if prefix_id != UNK else []), ([suffix_id] if suffix_id != UNK else [])
    full_ids = [*prefix, *ids, *suffix]
    special_tokens = {BOS: "<s>", EOS: "</s>"}
    return TokenizedText(
        text,
        tuple(full_ids),
        (
            *(special_tokens[i] for i in prefix),
            *tokenizer.convert_ids_to_tokens(ids),
            *(special_tokens[i] for i in suffix),
        ),
        (*(NO_WORD for _ in prefix), *word_ids, *(NO_WORD for _ in suffix)),
        words,
        (*(True for _ in prefix), *(False for _ in ids), *(True for _ in suffix)),
    )
