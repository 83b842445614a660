"""WordPiece, the tokenizer of BERT and related models, through the tokenizers library."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from regard.data.tokenizers.text_tokenizer import MASK_TOKEN, EncodedWords, types_after
from regard.errors import ConfigError, DataError, RegardError
from regard.files import parse_json

PAD_TOKEN = "[PAD]"
SEPARATOR = "[SEP]"
REQUIRED_TOKENS = ("[UNK]", "[CLS]", SEPARATOR)
CONTINUATION = "##"  # of a word: the prefix of tokens that do not begin one


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
        self.mask_id: int | None = self._tokenizer.token_to_id(MASK_TOKEN)
        special_ids = map(self._tokenizer.token_to_id, (PAD_TOKEN, "[CLS]", SEPARATOR, MASK_TOKEN))
        self.special_ids = frozenset(i for i in special_ids if i is not None)

    @property
    def vocab_size(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def encode(self, texts: Sequence[str], max_length: int) -> list[list[int]]:
        """The ids of each text with its special tokens, truncated to `max_length`."""
        return [list(encoding.ids) for encoding in self._encode_batch(list(texts), max_length)]

    def encode_pairs(self, pairs: Sequence[tuple[str, str]], max_length: int) -> list[list[int]]:
        """The ids of each pair as one sequence: [CLS] first [SEP] second [SEP]; the longer one is truncated first."""
        return [list(encoding.ids) for encoding in self._encode_batch(list(pairs), max_length)]

    def encode_words(self, sentences: Sequence[Sequence[str]], max_length: int) -> list[EncodedWords]:
        """The ids of each sentence, its words encoded one by one."""
        rows = [list(words) for words in sentences]
        encodings = self._encode_batch(rows, max_length, is_pretokenized=True)
        return [_locate_words(encoding, len(row)) for encoding, row in zip(encodings, rows, strict=True)]

    def sample_segmentation(
        self, rows: Sequence[Sequence[int]], split_probability: float, seed: int
    ) -> list[list[int]]:
        """Refused: the tokens of WordPiece are not the merges of shorter ones."""
        raise ConfigError(
            f"data.subword_regularization={split_probability:g} needs a SentencePiece tokenizer, and that of the "
            f"initial run is WordPiece; leave it out, or use model.word_dropout"
        )

    def token_type_ids(self, ids: Sequence[int]) -> list[int]:
        """0 for the tokens of the first text, 1 for those of the second."""
        return types_after(ids, self._tokenizer.token_to_id(SEPARATOR))

    def starts_word(self, ids: Sequence[int]) -> list[bool]:
        """Whether each token begins a word."""
        tokens = zip(ids, self.convert_ids_to_tokens(ids), strict=True)
        return [i not in self.special_ids and not token.startswith(CONTINUATION) for i, token in tokens]

    def spans(self, text: str, max_length: int) -> list[tuple[int, int]]:
        """The characters of `text` that each token covers; a special token covers none."""
        (encoding,) = self._encode_batch([text], max_length)
        return [(int(a), int(b)) for a, b in encoding.offsets]

    def _encode_batch(self, inputs: list[Any], max_length: int, is_pretokenized: bool = False) -> list[Any]:
        self._tokenizer.enable_truncation(max_length)
        with explain_damage():
            return list(self._tokenizer.encode_batch(inputs, is_pretokenized=is_pretokenized))

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        """The text of each token."""
        return [str(self._tokenizer.id_to_token(int(i))) for i in ids]


def _locate_words(encoding: Any, num_words: int) -> EncodedWords:
    first_tokens = [-1] * num_words
    for position, word in enumerate(encoding.word_ids):
        if word is not None and first_tokens[word] < 0:
            first_tokens[word] = position
    return EncodedWords(list(encoding.ids), first_tokens)


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
