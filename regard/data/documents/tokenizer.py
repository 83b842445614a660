"""The tokenizer of documents: decode(encode(text)) == text for every text, line ends included.

SentencePiece knows sentences, not lines: it puts a blank before a text, and learns nothing from a line end. So a
document is encoded line by line, as the tokenizer was trained, and the byte token of the line feed stands between the
lines. U+2581, which SentencePiece decodes as a blank, is escaped.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from regard.data.tokenizers.tokenizer import BOS, BYTE_TOKEN, EOS, MAX_SENTENCE_BYTES, PAD, SPACE, Tokenizer
from regard.errors import DataError

NEWLINE_TOKEN = "<0x0A>"
ESCAPE = "\U0010fffd"  # the last character for private use
ESCAPES = {SPACE: f"{ESCAPE}s", ESCAPE: f"{ESCAPE}e"}
ORIGINALS = {escape: character for character, escape in ESCAPES.items()}
_CHARACTERS = re.compile(f"[{SPACE}{ESCAPE}]")
_ESCAPED = re.compile("|".join(ORIGINALS))
_ESCAPE_BYTES = ESCAPE.encode()
_ORIGINAL_BYTES = {escape.encode(): character.encode() for escape, character in ORIGINALS.items()}
_ESCAPED_BYTES = re.compile(b"|".join(_ORIGINAL_BYTES))


class DocumentTokenizer(Tokenizer):
    """Documents <-> token ids, without loss."""

    pad_id, bos_id, eos_id = PAD, BOS, EOS

    def __init__(self, model: bytes):
        super().__init__(model)
        self.newline_id = int(self._processor.piece_to_id(NEWLINE_TOKEN))
        if self._processor.is_unknown(self.newline_id):
            raise DataError(
                f"the tokenizer has no token {NEWLINE_TOKEN}, so that it cannot encode line ends; train it with "
                f"byte fallback"
            )

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each document, without BOS and EOS."""
        return [self._encode_document(text) for text in texts]

    def _encode_document(self, text: str) -> list[int]:
        ids, *others = super().encode(_escape(text).split("\n"))
        for line in others:
            ids.append(self.newline_id)
            ids += line
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        return _unescape("\n".join(super(DocumentTokenizer, self).decode(line) for line in self._split_lines(ids)))

    def spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The characters of `text` that each token covers; the line feed covers itself."""
        spans: list[tuple[int, int]] = []
        begin = 0
        for line, line_ids in zip(_escape(text).split("\n"), self._split_lines(ids), strict=True):
            if begin:
                spans.append((begin - 1, begin))
            offsets = _original_offsets(line)
            spans += [(begin + offsets[a], begin + offsets[b]) for a, b in super().spans(line, line_ids)]
            begin += offsets[-1] + 1
        return spans

    def byte_decoder(self, prompt: Sequence[int]) -> "DocumentByteDecoder":
        """What gives, for each token after a prompt, the bytes that it adds to the text."""
        return DocumentByteDecoder(self, prompt)

    def token_bytes(self, token_id: int) -> bytes:
        """A token as bytes, with the blank that SentencePiece puts before a line; none for a special token."""
        if self._processor.is_control(token_id) or self._processor.is_unknown(token_id):
            return b""
        (token,) = self.convert_ids_to_tokens([token_id])
        byte = BYTE_TOKEN.fullmatch(token)
        return bytes([int(byte[1], 16)]) if byte else token.replace(SPACE, " ").encode()

    def _split_lines(self, ids: Sequence[int]) -> Iterator[list[int]]:
        line: list[int] = []
        for i in ids:
            if i == self.newline_id:
                yield line
                line = []
            else:
                line.append(i)
        yield line


class DocumentByteDecoder:
    """Tokens -> bytes of a document, one token at a time: the beginning of a line depends on the token before it."""

    def __init__(self, tokenizer: DocumentTokenizer, prompt: Sequence[int]):
        self._tokenizer = tokenizer
        self._at_line_start = not prompt or prompt[-1] in (BOS, tokenizer.newline_id)
        self._held = b""  # bytes that may be the beginning of an escape

    def __call__(self, token_id: int) -> bytes:
        """The bytes that can be read after one more token."""
        new = self._tokenizer.token_bytes(token_id)
        if self._at_line_start:
            new = new.removeprefix(b" ")
        self._at_line_start = token_id == self._tokenizer.newline_id
        content = self._held + new
        length = next(n for n in range(len(_ESCAPE_BYTES), -1, -1) if content.endswith(_ESCAPE_BYTES[:n]))
        self._held = content[len(content) - length :]
        return _ESCAPED_BYTES.sub(lambda match: _ORIGINAL_BYTES[match[0]], content[: len(content) - length])


def split_for_training(texts: Iterable[str]) -> Iterator[str]:
    """The lines of documents, as a tokenizer is trained on them: SentencePiece would skip the long ones."""
    for text in texts:
        for line in _escape(text).split("\n"):
            raw = line.encode()
            while len(raw) > MAX_SENTENCE_BYTES:
                end = raw.rfind(b" ", 1, MAX_SENTENCE_BYTES)
                end = _character_start(raw, MAX_SENTENCE_BYTES) if end < 0 else end
                yield raw[:end].decode()
                raw = raw[end:]
            yield raw.decode()


def _character_start(raw: bytes, position: int) -> int:
    """The first byte of the character that the byte at this position belongs to."""
    while raw[position] & 0xC0 == 0x80:
        position -= 1
    return position


def _escape(text: str) -> str:
    return _CHARACTERS.sub(lambda match: ESCAPES[match[0]], text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: ORIGINALS[match[0]], text)


def _original_offsets(escaped: str) -> list[int]:
    """Where each character of an escaped text, and its end, is in the original."""
    offsets, begin = [], 0
    for match in re.finditer(f"{_ESCAPED.pattern}|.", escaped, re.DOTALL):
        offsets += [begin] * len(match[0])
        begin += 1
    return [*offsets, begin]
