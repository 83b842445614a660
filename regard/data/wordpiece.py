"""WordPiece, the tokenizer of BERT and related models, through the tokenizers library."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from regard.errors import ConfigError, DataError, RegardError
from regard.files import parse_json

PAD_TOKEN = "[PAD]"
REQUIRED_TOKENS = ("[UNK]", "[CLS]", "[SEP]")


class WordPiece:
    """Text <-> token ids, each text between [CLS] and [SEP]."""

    def __init__(self, tokenizer_json: bytes):
        self.tokenizer_json = tokenizer_json
        """The content of tokenizer.json."""
        tokenizers = import_tokenizers()
        with explain_damage():
            self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer_json.decode("utf-8"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        pad_id = self._tokenizer.token_to_id(PAD_TOKEN)
        if pad_id is None:
            raise DataError(
                f"tokenizer.json: has no token {PAD_TOKEN}, so texts of different lengths cannot be embedded"
            )
        self.pad_id = int(pad_id)

    @property
    def vocab_size(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def encode(self, texts: Sequence[str], max_length: int) -> list[list[int]]:
        """The ids of each text with its special tokens, truncated to `max_length`."""
        self._tokenizer.enable_truncation(max_length)
        with explain_damage():
            return [list(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts))]

    def spans(self, text: str, max_length: int) -> list[tuple[int, int]]:
        """The characters of `text` that each token covers; a special token covers none."""
        self._tokenizer.enable_truncation(max_length)
        with explain_damage():
            return [(int(a), int(b)) for a, b in self._tokenizer.encode(text).offsets]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        """The text of each token."""
        return [str(self._tokenizer.id_to_token(int(i))) for i in ids]


@contextlib.contextmanager
def explain_damage(location: str = "tokenizer.json") -> Iterator[None]:
    """A DataError for what the library raises or panics with; what ends the program stays as it is."""
    try:
        yield
    except (RegardError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:  # the library raises nothing more precise, and its panics are no Exception
        raise DataError(f"{location}: not a valid tokenizer ({str(error).strip()[:200]})") from None


def from_vocab(tokens: Sequence[str], tokenizer_config: Mapping[str, Any]) -> WordPiece:
    """A tokenizer from BERT's older files: vocab.txt, one token per line, blank ones included, and its config."""
    ids = {token: i for i, token in enumerate(tokens) if token}
    if missing := [token for token in REQUIRED_TOKENS if token not in ids]:
        raise DataError(f"vocab.txt: has no token {missing[0]}, which BERT needs")
    tokenizer = import_tokenizers().BertWordPieceTokenizer(
        vocab=ids,
        lowercase=bool(tokenizer_config.get("do_lower_case", True)),
        strip_accents=tokenizer_config.get("strip_accents"),
        handle_chinese_chars=bool(tokenizer_config.get("tokenize_chinese_chars", True)),
    )
    return WordPiece(json.dumps(parse_json(tokenizer.to_str()), ensure_ascii=False).encode())


def import_tokenizers() -> Any:
    """The tokenizers library, which is an optional dependency."""
    try:
        import tokenizers
    except ImportError:
        raise ConfigError(
            "this tokenizer needs the tokenizers library; in Regard's source folder: pip install '.[bert]'"
        ) from None
    return tokenizers
