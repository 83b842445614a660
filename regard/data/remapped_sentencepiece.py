"""Pieces of a SentencePiece model under ids of their own: what models have that were not made here.

Marian cuts each language with a model of its own and looks the pieces up in one table for both. The table is kept in
the order that this house wants (padding, unknown, begin, end, then the rest), so nobody else need know of it.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from regard.data.tokenizer import BOS, EOS, PAD, SPACE, UNK, Tokenizer

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")  # the pieces of PAD, UNK, BOS and EOS
LANGUAGE_TAG = re.compile(r">>[^<>]+<<")
"""What a text for a model of several target languages begins with: >>fra<< and then the text."""


class RemappedSentencePiece(Tokenizer):
    """Text <-> ids of pieces, by a SentencePiece model and a table that says which piece has which id."""

    def __init__(self, model: bytes, id_to_token: tuple[str, ...]):
        super().__init__(model)
        self.id_to_token = id_to_token
        self._token_to_id = {piece: i for i, piece in enumerate(id_to_token) if i not in (PAD, BOS, EOS)}

    @property
    def vocab_size(self) -> int:
        return len(self.id_to_token)

    @property
    def vocabulary(self) -> object:
        return self.id_to_token

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self._token_to_id.get(piece, UNK) for piece in self._segment(text)] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        text = self._processor.decode_pieces([self.id_to_token[i] for i in ids if i not in (PAD, BOS, EOS)])
        return str(text).replace(SPACE, " ").strip()  # the model leaves pieces of the other language as they are

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self.id_to_token[int(i)] for i in ids]

    def spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """What the model itself says, since it may have changed letters before it cut them."""
        begin = len(language[0]) if (language := LANGUAGE_TAG.match(text)) else 0
        spans = [(begin + first, begin + last) for first, last in _offsets(self._processor, text[begin:])]
        return [(0, begin), *spans] if begin else spans

    def _segment(self, text: str) -> list[str]:
        language = LANGUAGE_TAG.match(text)
        if language is None:
            return self._processor.encode(text, out_type=str)
        return [language[0], *self._processor.encode(text[language.end() :], out_type=str)]

    def _score(self, i: int) -> float:
        """A piece of the other language is never part of a text in this one."""
        piece_id = self._processor.piece_to_id(self.id_to_token[i])
        return -math.inf if self._processor.is_unknown(piece_id) else float(self._processor.get_score(piece_id))


def _offsets(processor: Any, text: str) -> Iterable[tuple[int, int]]:
    """The characters of each piece; how SentencePiece is asked for them depends on its version."""
    if hasattr(processor, "encode_as_offset_mapping"):
        return processor.encode_as_offset_mapping(text)["offsets"]
    return [(piece.begin, piece.end) for piece in processor.encode(text, out_type="immutable_proto").pieces]
