"""How models of one stack read a text: whole texts, pairs of texts, words one by one, documents."""

from dataclasses import dataclass
from typing import Any, Protocol

from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.errors import DataError
from regard.inspection.example import (
    MAX_TOKENS,
    NO_WORD,
    TokenizedText,
    build_span_example,
    build_text_example,
    cover_words,
    main_words,
    tokenize_pair,
)
from regard.languages import word_spans
from regard.model.single_stack import DecoderOnly, EncoderOnly
from regard.tasks.generate import PromptTokenizer
from regard.tasks.masked_lm.filler import tokenize_masks
from regard.tasks.masked_lm.masking import require_mask

ALL_TOKENS = MAX_TOKENS * 1000
"""Texts are not truncated: what is too long to inspect is refused."""


class TextReader(Protocol):
    """A text -> the tokens that a model reads."""

    def read(self, text: str) -> TokenizedText: ...


class ModelOfTexts(Protocol):
    """What predicts for texts by a model of one stack: a classifier, a tagger, a language model …"""

    @property
    def model(self) -> EncoderOnly | DecoderOnly: ...

    @property
    def tokenizer(self) -> Any: ...


@dataclass(frozen=True)
class WholeText:
    """A text as an encoder reads it."""

    tokenizer: TextTokenizer

    def read(self, text: str) -> TokenizedText:
        return build_text_example(self.tokenizer, text, ALL_TOKENS).source


@dataclass(frozen=True)
class MaskedText:
    """A text as a masked language model reads it: each [MASK] is one token."""

    tokenizer: TextTokenizer

    def read(self, text: str) -> TokenizedText:
        ids, spans = tokenize_masks(text, self.tokenizer, require_mask(self.tokenizer), ALL_TOKENS)
        return build_span_example(text, ids, self.tokenizer.convert_ids_to_tokens(ids), spans).source


@dataclass(frozen=True)
class TextPair:
    """Two texts with a tab between them, as a classifier of pairs reads them."""

    tokenizer: TextTokenizer

    def read(self, text: str) -> TokenizedText:
        first, tab, second = text.partition("\t")
        if not tab or "\t" in second:
            raise DataError(f"'{text[:40]}': this run reads pairs of texts; expected two, separated by a tab")
        return tokenize_pair(self.tokenizer, (first, second), ALL_TOKENS)


@dataclass(frozen=True)
class SeparateWords:
    """The words of a sentence, encoded one by one, as a tagger reads them."""

    tokenizer: TextTokenizer

    def read(self, text: str) -> TokenizedText:
        words = tuple(text[a:b] for a, b in word_spans(text))
        (encoded,) = self.tokenizer.encode_words([words], ALL_TOKENS)
        starts = {position: n for n, position in enumerate(encoded.first_tokens) if position >= 0}
        special_tokens_mask = tuple(i in self.tokenizer.special_ids for i in encoded.ids)
        word_ids: list[int] = []
        for position, is_special in enumerate(special_tokens_mask):
            before = word_ids[-1] if word_ids else NO_WORD
            word_ids.append(NO_WORD if is_special else starts.get(position, before))
        tokens = tuple(self.tokenizer.convert_ids_to_tokens(encoded.ids))
        return TokenizedText(text, tuple(encoded.ids), tokens, tuple(word_ids), words, special_tokens_mask)


@dataclass(frozen=True)
class WholeDocument:
    """The beginning of a document, as a causal language model reads it."""

    tokenizer: PromptTokenizer

    def read(self, text: str) -> TokenizedText:
        (ids,) = self.tokenizer.encode([text])
        words, word_shares = cover_words(text, [(0, 0), *self.tokenizer.spans(text, ids)])
        ids = [self.tokenizer.bos_id, *ids]
        tokens = ("<s>", *self.tokenizer.convert_ids_to_tokens(ids[1:]))
        special_tokens_mask = tuple(position == 0 for position in range(len(ids)))
        return TokenizedText(text, tuple(ids), tokens, main_words(word_shares), words, special_tokens_mask, word_shares)
