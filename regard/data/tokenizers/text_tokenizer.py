"""The tokenizers of single texts: complete sequences of ids, special tokens included, as an encoder reads them."""

import functools
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, SPACE, Tokenizer

MASK_TOKEN = "[MASK]"


class EncodedWords(NamedTuple):
    """The words of a sentence as ids, and where each word begins."""

    ids: list[int]
    first_tokens: list[int]
    """The position of each word's first token; -1 for a word without tokens, or beyond the maximum length."""


class TextTokenizer(Protocol):
    """Texts -> ids with special tokens: WordPiece, and SentencePiece by `SentencePieceText`."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def pad_id(self) -> int: ...

    @property
    def mask_id(self) -> int | None:
        """The token that stands for a hidden one; None where the vocabulary has none."""
        ...

    @property
    def special_ids(self) -> frozenset[int]:
        """Tokens that no text has: they are never masked and cover no characters."""
        ...

    def encode(self, texts: Sequence[str], max_length: int) -> list[list[int]]:
        """The ids of each text, truncated to `max_length`."""
        ...

    def encode_pairs(self, pairs: Sequence[tuple[str, str]], max_length: int) -> list[list[int]]:
        """The ids of each pair of texts as one sequence; the longer text is truncated first."""
        ...

    def encode_words(self, sentences: Sequence[Sequence[str]], max_length: int) -> list[EncodedWords]:
        """The ids of each sentence, its words encoded one by one."""
        ...

    def sample_segmentation(
        self, rows: Sequence[Sequence[int]], split_probability: float, seed: int
    ) -> list[list[int]]:
        """Subword regularization: the ids of the same texts, with tokens split at random."""
        ...

    def token_type_ids(self, ids: Sequence[int]) -> list[int]:
        """0 for the tokens of the first text, 1 for those of the second."""
        ...

    def starts_word(self, ids: Sequence[int]) -> list[bool]:
        """Whether each token begins a word."""
        ...

    def spans(self, text: str, max_length: int) -> list[tuple[int, int]]:
        """The characters of `text` that each token of `encode` covers; a special token covers none."""
        ...

    def decode(self, ids: Sequence[int]) -> str: ...

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]: ...


class SentencePieceText:
    """A SentencePiece tokenizer as a TextTokenizer: every text ends in EOS, so that none is empty."""

    pad_id = PAD

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer

    @property
    def vocab_size(self) -> int:
        return self.tokenizer.vocab_size

    @functools.cached_property
    def mask_id(self) -> int | None:
        return self.tokenizer.find_control_symbol(MASK_TOKEN)

    @functools.cached_property
    def special_ids(self) -> frozenset[int]:
        return frozenset({PAD, BOS, EOS} if self.mask_id is None else {PAD, BOS, EOS, self.mask_id})

    def encode(self, texts: Sequence[str], max_length: int) -> list[list[int]]:
        return [[*ids[: max_length - 1], EOS] for ids in self.tokenizer.encode(texts)]

    def encode_pairs(self, pairs: Sequence[tuple[str, str]], max_length: int) -> list[list[int]]:
        firsts, seconds = (self.tokenizer.encode([pair[side] for pair in pairs]) for side in (0, 1))
        rows = (truncate_pair(a, b, max_length - 2) for a, b in zip(firsts, seconds, strict=True))
        return [[*a, EOS, *b, EOS] for a, b in rows]

    def encode_words(self, sentences: Sequence[Sequence[str]], max_length: int) -> list[EncodedWords]:
        return [join_words(self.tokenizer.encode(words), max_length - 1) for words in sentences]

    def sample_segmentation(
        self, rows: Sequence[Sequence[int]], split_probability: float, seed: int
    ) -> list[list[int]]:
        return self.tokenizer.sample_segmentation(rows, split_probability, seed)

    def token_type_ids(self, ids: Sequence[int]) -> list[int]:
        return types_after(ids, EOS)

    def starts_word(self, ids: Sequence[int]) -> list[bool]:
        return [token.startswith(SPACE) for token in self.convert_ids_to_tokens(ids)]

    def spans(self, text: str, max_length: int) -> list[tuple[int, int]]:
        (ids,) = self.tokenizer.encode([text])
        return [*self.tokenizer.spans(text, ids)[: max_length - 1], (0, 0)]

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return self.tokenizer.convert_ids_to_tokens(ids)

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(ids)


def join_words(rows: Sequence[Sequence[int]], limit: int) -> EncodedWords:
    """The ids of words as one sentence that ends in EOS, which is not among the `limit` tokens."""
    ids: list[int] = []
    first_tokens = []
    for row in rows:
        first_tokens.append(len(ids) if row and len(ids) < limit else -1)
        ids += row
    return EncodedWords([*ids[:limit], EOS], first_tokens)


def truncate_pair(first: Sequence[int], second: Sequence[int], limit: int) -> tuple[Sequence[int], Sequence[int]]:
    """Two texts of at most `limit` tokens together: the longer one is truncated, then both alike."""
    length = min(len(first), max(limit - len(second), limit - limit // 2))
    return first[:length], second[: limit - length]


def types_after(ids: Sequence[int], separator: int) -> list[int]:
    """0 up to the first separator, 1 after it."""
    end = ids.index(separator) + 1 if separator in ids else len(ids)
    return [0] * end + [1] * (len(ids) - end)
