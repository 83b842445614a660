"""WordPiece, the tokeniser of BERT and its kin, through the tokenizers library."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from regard.errors import ConfigError, DataError

PAD_TOKEN = "[PAD]"
REQUIRED_TOKENS = ("[UNK]", "[CLS]", "[SEP]")


class WordPiece:
    """Text <-> ids of pieces, each text between the marks that the model knows."""

    def __init__(self, tokenizer_json: bytes):
        self.tokenizer_json = tokenizer_json
        """What tokenizer.json holds."""
        try:
            self._tokenizer = _import_tokenizers().Tokenizer.from_str(tokenizer_json.decode("utf-8"))
        except ConfigError:
            raise
        except Exception as error:  # the library raises nothing more precise
            raise DataError(f"tokenizer.json: not a tokeniser that can be read ({error})") from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        pad_id = self._tokenizer.token_to_id(PAD_TOKEN)
        if pad_id is None:
            raise DataError(
                f"tokenizer.json: has no piece {PAD_TOKEN}, so texts of different lengths cannot be embedded"
            )
        self.pad_id = int(pad_id)

    @property
    def vocab_size(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def encode(self, texts: Sequence[str], max_length: int) -> list[list[int]]:
        """The ids of each text with its marks; of a longer text, its beginning."""
        self._tokenizer.enable_truncation(max_length)
        return [list(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts))]

    def spans(self, text: str, max_length: int) -> list[tuple[int, int]]:
        """The characters of `text` that each of its pieces covers; a mark covers none."""
        self._tokenizer.enable_truncation(max_length)
        return [(int(a), int(b)) for a, b in self._tokenizer.encode(text).offsets]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        """What each id looks like, for people."""
        return [str(self._tokenizer.id_to_token(int(i))) for i in ids]


def from_vocab(tokens: Sequence[str], tokenizer_config: Mapping[str, Any]) -> WordPiece:
    """A tokeniser out of BERT's older files: a piece a line, of which blank ones count, and what is said of case."""
    ids = {token: i for i, token in enumerate(tokens) if token}
    if missing := [mark for mark in REQUIRED_TOKENS if mark not in ids]:
        raise DataError(f"vocab.txt: has no piece {missing[0]}, which BERT needs")
    tokenizer = _import_tokenizers().BertWordPieceTokenizer(
        vocab=ids,
        lowercase=bool(tokenizer_config.get("do_lower_case", True)),
        strip_accents=tokenizer_config.get("strip_accents"),
        handle_chinese_chars=bool(tokenizer_config.get("tokenize_chinese_chars", True)),
    )
    return WordPiece(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False).encode())


def _import_tokenizers() -> Any:
    try:
        import tokenizers
    except ImportError:
        raise ConfigError("WordPiece needs the tokenizers library: pip install 'regard[bert]'") from None
    return tokenizers
