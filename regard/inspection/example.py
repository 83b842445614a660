"""The inspected example: a sentence or a sentence pair, tokenized, with the word that each token belongs to."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from regard.data.corpora import GoldPair, Link
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, Tokenizers
from regard.errors import DataError
from regard.languages import is_unspaced, word_spans

MAX_TOKENS = 512
"""Tokens of a sentence that can be inspected at most: every head has a square matrix of them."""
NO_WORD = -1
"""The word id of a token that belongs to no word."""
WordShares = Mapping[int, float]
"""The words that a token covers, by index, each with its share of the token's characters. Shares sum to 1."""


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
    word_shares: tuple[WordShares, ...] = ()
    """For each token the words that it covers, with its share in each; empty: every token covers its word alone."""
    text_pair: str | None = None
    """The second text of a pair, whose words and tokens come after those of the first."""
    num_first_words: int = 0
    """The words of the first text of a pair."""
    token_type_ids: tuple[int, ...] = ()
    """0 for each token of the first text of a pair, 1 for those of the second; empty for a single text."""

    @property
    def input(self) -> str | tuple[str, str]:
        """The text, or the pair of texts."""
        return self.text if self.text_pair is None else (self.text, self.text_pair)

    def __len__(self) -> int:
        return len(self.ids)

    def covered_words(self) -> Sequence[WordShares]:
        """`word_shares`, in every case one entry per token."""
        return self.word_shares or [{} if word == NO_WORD else {word: 1.0} for word in self.word_ids]

    def word_groups(self) -> list[int]:
        """The group of each word: words that a token covers together cannot be distinguished."""
        joined = {word for shares in self.covered_words() for word in shares if word - 1 in shares}
        groups: list[int] = []
        for word in range(len(self.words)):
            groups.append(groups[-1] + (word not in joined) if groups else 0)
        return groups

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


def build_text_example(tokenizer: TextTokenizer, text: str, max_length: int, gold: GoldPair | None = None) -> Example:
    """Tokenize a text for a model of one stack."""
    (ids,) = tokenizer.encode([text], max_length)
    tokens = tokenizer.convert_ids_to_tokens(ids)
    return build_span_example(text, ids, tokens, tokenizer.spans(text, max_length), gold)


def build_span_example(
    text: str,
    ids: Sequence[int],
    tokens: Sequence[str],
    token_spans: Sequence[tuple[int, int]],
    gold: GoldPair | None = None,
) -> Example:
    """A text whose tokens are known with the characters that each covers."""
    special_tokens_mask = tuple(a == b for a, b in token_spans)
    words, word_shares = cover_words(text, token_spans)
    side = TokenizedText(
        text, tuple(ids), tuple(tokens), main_words(word_shares), words, special_tokens_mask, word_shares
    )
    return Example(side, source_links=() if gold is None else gold.source_links)


def build_single_stack_example(side: TokenizedText, causal: bool, gold: GoldPair | None = None) -> Example:
    """A text for an encoder; for a decoder-only model, which reads it as its own input, on both sides."""
    links = () if gold is None else gold.source_links
    return Example(side, side if causal else None, source_links=links, target_links=links if causal else ())


def tokenize_pair(tokenizer: TextTokenizer, pair: tuple[str, str], max_length: int) -> TokenizedText:
    """Two texts as one sequence; the words of the second come after those of the first."""
    (ids,) = tokenizer.encode_pairs([pair], max_length)
    token_type_ids = tuple(tokenizer.token_type_ids(ids))
    spans = pair_spans(tokenizer, pair, ids)
    (first_words, first_shares), (second_words, second_shares) = map(cover_words, pair, spans)
    shifted = tuple({len(first_words) + word: x for word, x in shares.items()} for shares in second_shares)
    word_shares = (*first_shares, *shifted)
    return TokenizedText(
        pair[0],
        tuple(ids),
        tuple(tokenizer.convert_ids_to_tokens(ids)),
        main_words(word_shares),
        (*first_words, *second_words),
        tuple(a == b for one in spans for a, b in one),
        word_shares,
        pair[1],
        len(first_words),
        token_type_ids,
    )


def pair_spans(
    tokenizer: TextTokenizer, pair: tuple[str, str], ids: Sequence[int]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The characters of its own text that each token of an encoded pair covers; both texts end in a special token."""
    num_first = tokenizer.token_type_ids(ids).count(0)
    lengths = (num_first, len(ids) - num_first)
    first, second = (tokenizer.spans(text, len(ids) + 2) for text in pair)
    (alone,) = tokenizer.encode([pair[1]], len(ids) + 2)
    begin = int(len(alone) > 1 and alone[0] in tokenizer.special_ids)  # [CLS] is before the first text alone
    return [*first[: lengths[0] - 1], (0, 0)], [*second[begin : begin + lengths[1] - 1], (0, 0)]


def tokens_from_ids(ids: Sequence[int]) -> TokenizedText:
    """Ids without a text, for probes: every token is a word of its own."""
    special_tokens_mask = tuple(i in (PAD, BOS, EOS) for i in ids)
    tokens = tuple(f"#{i}" for i in ids)
    return TokenizedText("", tuple(ids), tokens, tuple(range(len(tokens))), tokens, special_tokens_mask)


def cover_words(
    text: str, token_spans: Sequence[tuple[int, int]]
) -> tuple[tuple[str, ...], tuple[dict[int, float], ...]]:
    """The words of a text, and for each token (a character span) the words that it covers, with its share in each.

    A script without spaces has tokens that cover several words.
    """
    spans = word_spans(text)
    return tuple(text[a:b] for a, b in spans), tuple(_shares(token_span, spans) for token_span in token_spans)


def _shares(token_span: tuple[int, int], spans: Sequence[tuple[int, int]]) -> dict[int, float]:
    """The share of each word in the characters of a token; blanks belong to no word and do not count."""
    overlaps = {n: min(b, token_span[1]) - max(a, token_span[0]) for n, (a, b) in enumerate(spans)}
    covered = {n: overlap for n, overlap in overlaps.items() if overlap > 0}
    return {n: overlap / sum(covered.values()) for n, overlap in covered.items()}


def main_words(word_shares: Sequence[WordShares]) -> tuple[int, ...]:
    """The word that each token covers most of; of several the first."""
    return tuple(max(shares, key=shares.__getitem__, default=NO_WORD) for shares in word_shares)


def with_whitespace_words(side: TokenizedText) -> TokenizedText:
    """The same tokens with words split at whitespace, as files of gold alignments count them."""
    whitespace_ids = whitespace_word_ids(side)
    word_shares: list[dict[int, float]] = []
    for shares in side.covered_words():
        by_whitespace: dict[int, float] = {}
        for word, share in shares.items():
            by_whitespace[whitespace_ids[word]] = by_whitespace.get(whitespace_ids[word], 0.0) + share
        word_shares.append(by_whitespace)
    return replace(
        side, word_ids=main_words(word_shares), words=tuple(side.text.split()), word_shares=tuple(word_shares)
    )


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
    return [i for i, shares in enumerate(side.covered_words()) if matches[0] in shares]


def _tokenize_side(
    tokenizer: Tokenizer, text: str, ids: Sequence[int], prefix_id: int = UNK, suffix_id: int = UNK
) -> TokenizedText:
    """Ids with one special token before or after them."""
    words, word_shares = cover_words(text, tokenizer.spans(text, ids))
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
        (*(NO_WORD for _ in prefix), *main_words(word_shares), *(NO_WORD for _ in suffix)),
        words,
        (*(True for _ in prefix), *(False for _ in ids), *(True for _ in suffix)),
        (*({} for _ in prefix), *word_shares, *({} for _ in suffix)),
    )
