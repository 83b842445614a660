"""Pieces of a SentencePiece model under ids of their own: what models have that were not made here.

Marian cuts each language with a model of its own and looks the pieces up in one table for both. The table is kept in
the order that this house wants (padding, unknown, begin, end, then the rest), so nobody else need know of it.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from regard.data.tokenizer import BOS, EOS, PAD, SPACE, UNK, Tokenizer

MARKS = ("<pad>", "<unk>", "<s>", "</s>")  # the pieces of PAD, UNK, BOS and EOS
LANGUAGE = re.compile(r">>[^<>]+<<")
"""What a text for a model of several target languages begins with: >>fra<< and then the text."""


class Renumbered(Tokenizer):
    """Text <-> ids of pieces, by a SentencePiece model and a table that says which piece has which id."""

    def __init__(self, model: bytes, table: tuple[str, ...]):
        super().__init__(model)
        self.table = table
        self._ids = {piece: i for i, piece in enumerate(table) if i not in (PAD, BOS, EOS)}

    @property
    def size(self) -> int:
        return len(self.table)

    @property
    def vocabulary(self) -> object:
        return self.table

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self._ids.get(piece, UNK) for piece in self._cut(text)] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        text = self._pieces.decode_pieces([self.table[i] for i in ids if i not in (PAD, BOS, EOS)])
        return str(text).replace(SPACE, " ").strip()  # the model leaves pieces of the other language as they are

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.table[int(i)] for i in ids]

    def spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """What the model itself says, since it may have changed letters before it cut them."""
        begin = len(language[0]) if (language := LANGUAGE.match(text)) else 0
        spans = [(begin + first, begin + last) for first, last in _offsets(self._pieces, text[begin:])]
        return [(0, begin), *spans] if begin else spans

    def _cut(self, text: str) -> list[str]:
        language = LANGUAGE.match(text)
        if language is None:
            return self._pieces.encode(text, out_type=str)
        return [language[0], *self._pieces.encode(text[language.end() :], out_type=str)]

    def _score(self, i: int) -> float:
        """A piece of the other language is never part of a text in this one."""
        known = self._pieces.piece_to_id(self.table[i])
        return -math.inf if self._pieces.is_unknown(known) else float(self._pieces.get_score(known))


def _offsets(pieces: Any, text: str) -> Iterable[tuple[int, int]]:
    """The characters of each piece; how SentencePiece is asked for them depends on its version."""
    if hasattr(pieces, "encode_as_offset_mapping"):
        return pieces.encode_as_offset_mapping(text)["offsets"]
    return [(piece.begin, piece.end) for piece in pieces.encode(text, out_type="immutable_proto").pieces]
