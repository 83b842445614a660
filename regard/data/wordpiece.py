"""WordPiece, the tokeniser of BERT and its kin, through the tokenizers library."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from regard.errors import ConfigError, DataError

PADDING = "[PAD]"
MARKS = ("[UNK]", "[CLS]", "[SEP]")


class WordPiece:
    """Text <-> ids of pieces, each text between the marks that the model knows."""

    def __init__(self, file: bytes):
        self.file = file
        """What tokenizer.json holds."""
        try:
            self._tokenizer = _library().Tokenizer.from_str(file.decode("utf-8"))
        except ConfigError:
            raise
        except Exception as error:  # the library raises nothing more precise
            raise DataError(f"tokenizer.json: not a tokeniser that can be read ({error})") from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        found = self._tokenizer.token_to_id(PADDING)
        if found is None:
            raise DataError(f"tokenizer.json: has no piece {PADDING}, so texts of different lengths cannot be embedded")
        self.pad = int(found)

    @property
    def size(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def encode(self, texts: Sequence[str], longest: int) -> list[list[int]]:
        """The ids of each text with its marks; of a longer text, its beginning."""
        self._tokenizer.enable_truncation(longest)
        return [list(found.ids) for found in self._tokenizer.encode_batch(list(texts))]

    def spans(self, text: str, longest: int) -> list[tuple[int, int]]:
        """The characters of `text` that each of its pieces covers; a mark covers none."""
        self._tokenizer.enable_truncation(longest)
        return [(int(a), int(b)) for a, b in self._tokenizer.encode(text).offsets]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What each id looks like, for people."""
        return [str(self._tokenizer.id_to_token(int(i))) for i in ids]


def from_words(pieces: Sequence[str], about: Mapping[str, Any]) -> WordPiece:
    """A tokeniser out of BERT's older files: a piece a line, of which blank ones count, and what is said of case."""
    ids = {piece: i for i, piece in enumerate(pieces) if piece}
    if missing := [mark for mark in MARKS if mark not in ids]:
        raise DataError(f"vocab.txt: has no piece {missing[0]}, which BERT needs")
    made = _library().BertWordPieceTokenizer(
        vocab=ids,
        lowercase=bool(about.get("do_lower_case", True)),
        strip_accents=about.get("strip_accents"),
        handle_chinese_chars=bool(about.get("tokenize_chinese_chars", True)),
    )
    return WordPiece(json.dumps(json.loads(made.to_str()), ensure_ascii=False).encode())


def _library() -> Any:
    try:
        import tokenizers
    except ImportError:
        raise ConfigError("WordPiece needs the tokenizers library: pip install 'regard[bert]'") from None
    return tokenizers
