"""SentencePiece with other ids than the model's own: the tokenizer of imported models.

Marian segments each language with its own SentencePiece model and looks the tokens up in one vocabulary for both. The
vocabulary is stored in the order that all other code expects: padding, unknown, BOS, EOS, then the rest.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, SPACE, UNK, Tokenizer

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")  # PAD, UNK, BOS and EOS
LANGUAGE_TAG = re.compile(r">>[^<>]+<<")
"""Prefix that selects the target language of a multilingual model: >>fra<< and then the text."""


class RemappedSentencePiece(Tokenizer):
    """Text <-> token ids, by a SentencePiece model and a vocabulary that gives each token its id."""

    def __init__(self, model: bytes, id_to_token: tuple[str, ...]):
        super().__init__(model)
        self.id_to_token = id_to_token
        self._token_to_id = {token: i for i, token in enumerate(id_to_token) if i not in (PAD, BOS, EOS)}

    @property
    def vocab_size(self) -> int:
        return len(self.id_to_token)

    @property
    def vocabulary(self) -> object:
        return self.id_to_token

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self._token_to_id.get(token, UNK) for token in self._segment(text)] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        text = self._processor.decode_pieces([self.id_to_token[i] for i in ids if i not in (PAD, BOS, EOS)])
        return str(text).replace(SPACE, " ").strip()  # the model leaves tokens of the other language as they are

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self.id_to_token[int(i)] for i in ids]

    def spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The offsets of the model itself, since it may have normalized the text before it segmented it."""
        begin = len(language[0]) if (language := LANGUAGE_TAG.match(text)) else 0
        spans = [(begin + first, begin + last) for first, last in _offsets(self._processor, text[begin:])]
        return [(0, begin), *spans] if begin else spans

    def _segment(self, text: str) -> list[str]:
        language = LANGUAGE_TAG.match(text)
        if language is None:
            return self._processor.encode(text, out_type=str)
        return [language[0], *self._processor.encode(text[language.end() :], out_type=str)]

    def _score(self, i: int) -> float:
        """-inf for a token of the other language, which never occurs in a text of this one."""
        piece_id = self._processor.piece_to_id(self.id_to_token[i])
        return -math.inf if self._processor.is_unknown(piece_id) else float(self._processor.get_score(piece_id))


def _offsets(processor: Any, text: str) -> Iterable[tuple[int, int]]:
    """The character span of each token; the call depends on the version of SentencePiece."""
    if hasattr(processor, "encode_as_offset_mapping"):
        return processor.encode_as_offset_mapping(text)["offsets"]
    return [(piece.begin, piece.end) for piece in processor.encode(text, out_type="immutable_proto").pieces]
