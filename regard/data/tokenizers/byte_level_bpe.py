"""Byte-level BPE, the tokenizer of GPT-2 and related models, through the tokenizers library.

Every byte is a token, so that any text has ids and they give it back exactly. There is no token for padding, and none
is needed: in a causal model, no token attends to what is on its right.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regard.data.tokenizers.wordpiece import explain_damage, import_tokenizers
from regard.errors import DataError
from regard.files import parse_json

EOS_TOKEN = "<|endoftext|>"
NO_PAD = -1
"""The padding id of a model whose vocabulary has none: no token is masked."""
VERSION_LINE = "#version"  # how merges.txt may begin


def byte_characters() -> list[str]:
    """The printable character that stands for each byte in a vocabulary: itself, or one from U+0100 on."""
    characters, count = [], 0
    for byte in range(256):
        is_printable = 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD)
        characters.append(chr(byte if is_printable else 0x100 + count))
        count += not is_printable
    return characters


BYTE_OF_CHARACTER = {character: byte for byte, character in enumerate(byte_characters())}


class ByteLevelBPE:
    """Text <-> token ids, without special tokens around them."""

    pad_id = NO_PAD

    def __init__(self, tokenizer_json: bytes):
        self.tokenizer_json = tokenizer_json
        """The content of tokenizer.json."""
        _require_byte_level(tokenizer_json)
        tokenizers = import_tokenizers()
        with explain_damage():
            self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer_json.decode("utf-8"))
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
            self._tokenizer.model.dropout = None  # one segmentation of a text, always the same
            ids = dict(self._tokenizer.get_vocab(with_added_tokens=True))
            added_tokens = self._tokenizer.get_added_tokens_decoder()
        if missing := [token for token in (EOS_TOKEN, *BYTE_OF_CHARACTER) if token not in ids]:
            raise DataError(f"tokenizer.json: has no token {missing[0]}, which byte-level BPE needs")
        self.eos_id = int(ids[EOS_TOKEN])
        self.bos_id = self.eos_id  # the end of one document is the beginning of the next
        self._special_ids = {self.eos_id} | {int(i) for i, token in added_tokens.items() if token.special}
        self._tokens = {int(i): token for token, i in ids.items()}

    @property
    def vocab_size(self) -> int:
        """The smallest embedding table that has a row for every token."""
        return max(self._tokens) + 1

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        with explain_damage():
            encodings = self._tokenizer.encode_batch(
                [_require_unicode(text) for text in texts], add_special_tokens=False
            )
            return [list(encoding.ids) for encoding in encodings]

    def spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The characters of `text` that each token covers; a part of a character covers it."""
        characters = [number for number, character in enumerate(text) for _ in character.encode()]
        spans, begin = [], 0
        for length in (len(self.token_bytes(i)) for i in ids):
            covered = characters[begin : begin + length] or [0]
            spans.append((covered[0], covered[-1] + bool(length)))
            begin += length
        return spans

    def token_bytes(self, token_id: int) -> bytes:
        """The part of a text that a token stands for, which may be a part of a character; none for a special token."""
        token = "" if token_id in self._special_ids else self._tokens.get(token_id, "")
        if all(character in BYTE_OF_CHARACTER for character in token):
            return bytes(BYTE_OF_CHARACTER[character] for character in token)
        return token.encode("utf-8")  # a token that was added as text

    def byte_decoder(self, prompt: Sequence[int]) -> Callable[[int], bytes]:
        """What gives, for each token after a prompt, the bytes that it adds to the text: always the same ones."""
        return self.token_bytes

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens; bytes that are no characters become U+FFFD."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", errors="replace")

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        """The name of each token in the vocabulary, with U+0120 for a space."""
        return [self._tokens.get(int(i), "") for i in ids]


def from_merges(vocab: Mapping[str, int], merges: str, add_prefix_space: bool = False) -> ByteLevelBPE:
    """A tokenizer from GPT-2's older files: vocab.json, and merges.txt with two tokens per line."""
    lines = merges.split("\n")
    pairs = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == 1 and line.startswith(VERSION_LINE)):
            continue
        pair = line.removesuffix("\r").split(" ")
        if len(pair) != 2:
            raise DataError(f"merges.txt, line {number:,}: expected two tokens with a space between them")
        pairs.append((pair[0], pair[1]))
    tokenizers = import_tokenizers()
    with explain_damage("vocab.json, merges.txt"):
        tokenizer = tokenizers.ByteLevelBPETokenizer(dict(vocab), pairs, add_prefix_space)
        if EOS_TOKEN in vocab:
            tokenizer.add_special_tokens([EOS_TOKEN])
        text = tokenizer.to_str()
    return ByteLevelBPE(json.dumps(parse_json(text), ensure_ascii=False).encode())


def _require_byte_level(tokenizer_json: bytes) -> None:
    """Refuse another kind of tokenizer: its tokens would be read as bytes all the same."""
    try:
        parts = parse_json(tokenizer_json, dict[str, Any])
    except ValueError as error:
        raise DataError(f"tokenizer.json: not a valid tokenizer ({error})") from None
    model, decoder = parts.get("model"), parts.get("decoder")
    model_type = model.get("type", "BPE") if isinstance(model, dict) else None
    decoder_type = decoder.get("type") if isinstance(decoder, dict) else None
    if (model_type, decoder_type) != ("BPE", "ByteLevel"):
        raise DataError(
            f"tokenizer.json: has a model of type {model_type!a:.40} and a decoder of type {decoder_type!a:.40}; "
            f"expected 'BPE' and 'ByteLevel', as GPT-2 has them"
        )


def _require_unicode(text: str) -> str:
    """Refuse half of a surrogate pair, which no encoding of text has."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"a text has {text[error.start]!a} at character {error.start + 1:,}, which is no text"
        ) from None
    return text
