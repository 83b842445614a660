"""The inspected example: a sentence or a sentence pair, tokenized, with the word that each token belongs to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.data.corpora import GoldPair, Link
from regard.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, Tokenizers
from regard.data.wordpiece import WordPiece
from regard.errors import DataError
from regard.languages import is_unspaced, word_spans

MAX_TOKENS = 512
"""Tokens of a sentence that can be inspected at most: every head has a square matrix of them."""
NO_WORD = -1
"""The word id of a token that belongs to no word."""


@dataclass(frozen=True)
class TokenizedText:
    """A text as the model reads it: token ids, token strings and words."""

    text: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    word_ids: tuple[int, ...]
    """The index in `words` that each token belongs to; -1 for none."""
    words: tuple[str, ...]
    special_tokens_mask: tuple[bool, ...]
    """True for tokens that are no text, such as bos and eos."""

    def __len__(self) -> int:
        return len(self.ids)

    def is_separator(self, i: int) -> bool:
        """Whether a token is a special token or punctuation: a typical attention sink."""
        return self.special_tokens_mask[i] or not any(map(str.isalnum, self.tokens[i].removeprefix("▁")))


@dataclass(frozen=True)
class Example:
    """A source and, for an encoder-decoder, the decoder's input and target, with gold annotations where known."""

    source: TokenizedText
    decoder_input: TokenizedText | None = None
    """<s> w1 … wn"""
    target: TokenizedText | None = None
    """w1 … wn </s>"""
    alignment: tuple[tuple[int, int], ...] | None = None
    """Sure links (source word, target word); None where no gold alignment is known."""
    possible_alignment: tuple[tuple[int, int], ...] = ()
    """Possible links: they are not required, and not counted as wrong."""
    source_links: tuple[Link, ...] = ()
    target_links: tuple[Link, ...] = ()
    line: int | None = None
    """Line number in the input files, from 0; None if the example is not from a file."""

    def query_tokens(self, kind: str) -> TokenizedText:
        """The query tokens of a kind of attention, by the input of each row; for the decoder its own input."""
        side = self.source if kind == "encoder" else self.decoder_input
        assert side is not None
        return side

    def query_labels(self, kind: str) -> TokenizedText:
        """Labels of the query rows: in cross-attention the token that a row predicts, else the token itself."""
        if kind != "cross":
            return self.query_tokens(kind)
        assert self.target is not None
        return self.target

    def key_tokens(self, kind: str) -> TokenizedText:
        """The key tokens of a kind of attention."""
        side = self.decoder_input if kind == "decoder" else self.source
        assert side is not None
        return side


def build_pair_example(tokenizers: Tokenizers, source: str, target: str, gold: GoldPair | None = None) -> Example:
    """Tokenize a sentence pair for an encoder-decoder."""
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
    """Tokenize a text for an encoder-only model."""
    (ids,) = tokenizer.encode([text], max_length)
    token_spans = tokenizer.spans(text, max_length)
    special_tokens_mask = tuple(a == b for a, b in token_spans)
    word_ids, words = assign_words(text, token_spans)
    side = TokenizedText(
        text, tuple(ids), tuple(tokenizer.convert_ids_to_tokens(ids)), word_ids, words, special_tokens_mask
    )
    return Example(side, source_links=() if gold is None else gold.source_links)


def tokens_from_ids(ids: Sequence[int]) -> TokenizedText:
    """Ids without a text, for probes: every token is a word of its own."""
    special_tokens_mask = tuple(i in (PAD, BOS, EOS) for i in ids)
    tokens = tuple(f"#{i}" for i in ids)
    return TokenizedText("", tuple(ids), tokens, tuple(range(len(tokens))), tokens, special_tokens_mask)


def assign_words(text: str, token_spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The word that each token (a character span) overlaps most with, and the words."""
    spans = word_spans(text)
    return tuple(_best_overlap(token_span, spans) for token_span in token_spans), tuple(text[a:b] for a, b in spans)


def with_whitespace_words(side: TokenizedText) -> TokenizedText:
    """The same tokens with words split at whitespace, as files of gold alignments count them."""
    whitespace_ids = whitespace_word_ids(side)
    word_ids = tuple(word_id if word_id == NO_WORD else whitespace_ids[word_id] for word_id in side.word_ids)
    return replace(side, word_ids=word_ids, words=tuple(side.text.split()))


def whitespace_word_ids(side: TokenizedText) -> list[int]:
    """The whitespace-separated word that contains each word of a text."""
    spans = [match.span() for match in re.finditer(r"\S+", side.text)]
    if len(side.words) == len(spans):
        return list(range(len(spans)))
    return [next(n for n, (a, b) in enumerate(spans) if a <= start < b) for start, _ in word_spans(side.text)]


def count_pharaoh_words(sides: Sequence[TokenizedText]) -> list[list[int]]:
    """The number that each word of each text has in a Pharaoh file: words are split at whitespace.

    Text of a script without spaces is counted by the words of the segmenter, unless it was segmented before.
    """
    unspaced_sides = [side for side in sides if is_unspaced(side.text)]
    num_chunks = sum(len(side.text.split()) for side in unspaced_sides)
    is_segmented = num_chunks * 2 >= sum(len(side.words) for side in unspaced_sides)
    return [
        list(range(len(side.words))) if is_unspaced(side.text) and not is_segmented else whitespace_word_ids(side)
        for side in sides
    ]


def token_positions(side: TokenizedText, word: str) -> list[int]:
    """The positions of the tokens of a word: of its first occurrence, ignoring case."""
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
    """Ids with one special token before or after them."""
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
