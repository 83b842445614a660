"""The SentencePiece tokenizer, trained for a run and stored in it, so that a run folder is a complete translator.

Normalization is off: the library's default would drop non-breaking spaces and turn m² into m2. Decoding restores the
text exactly, except for U+2581, which SentencePiece itself uses for a space.
"""

import functools
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import sentencepiece

from regard.errors import DataError

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPACE = "\u2581"
BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
RESERVED_TOKENS = 300  # for byte fallback and special tokens
MAX_ATTEMPTS = 3  # of training: the size that is asked for, one that suffices for all letters, and the largest one
INVALID_MODEL_MESSAGE = "not a SentencePiece model: damaged, or a git-lfs pointer whose file was never downloaded"
MIN_TEXTS_FOR_THREADS = (
    16  # for every list, the library starts threads, which takes longer than to encode ten sentences
)
MAX_SENTENCE_BYTES = 16_384  # SentencePiece skips longer lines in training


class Tokenizer:
    """Text <-> token ids."""

    def __init__(self, model: bytes):
        self.model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            if model:
                self._processor.id_to_piece(list(range(self._processor.get_piece_size())))
        except (RuntimeError, ValueError):  # ValueError: a token is not UTF-8
            raise DataError(INVALID_MODEL_MESSAGE) from None
        if not model:  # which the library accepts, expecting a model later
            raise DataError(INVALID_MODEL_MESSAGE)

    @property
    def vocab_size(self) -> int:
        return int(self._processor.get_piece_size())

    @property
    def vocabulary(self) -> object:
        """What gives ids their meaning: two tokenizers with the same vocabulary can share one embedding table."""
        return self

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without BOS and EOS."""
        if len(texts) < MIN_TEXTS_FOR_THREADS:
            return [self._processor.encode(text) for text in texts]
        return self._processor.encode(list(texts))

    def sample_segmentation(
        self, rows: Sequence[Sequence[int]], split_probability: float, seed: int
    ) -> list[list[int]]:
        """Subword regularization: each token is split, with this probability, into the two tokens it consists of.

        In the spirit of BPE-dropout (Provilkov et al. 2020), which drops merges. SentencePiece samples segmentations,
        too, but seeds the generator differently in every process; this method depends only on the seed.
        """
        rng = np.random.default_rng(seed)
        return [self._split_tokens(row, split_probability, rng) for row in rows]

    def _split_tokens(self, row: Sequence[int], split_probability: float, rng: np.random.Generator) -> list[int]:
        split_mask = rng.random(len(row)) < split_probability
        tokens: list[int] = []
        for i, is_split in zip(row, split_mask, strict=True):
            halves = self._token_halves.get(i) if is_split else None
            tokens += self._split_tokens(halves, split_probability, rng) if halves else (i,)
        return tokens

    @functools.cached_property
    def _token_halves(self) -> dict[int, tuple[int, int]]:
        """The two tokens that each longer token can be split into: the most probable pair in the vocabulary."""
        names = enumerate(self.convert_ids_to_tokens(range(self.vocab_size)))
        regular_tokens = {name: i for i, name in names if i > EOS and not BYTE_TOKEN.fullmatch(name)}
        vocab = {name: i for name, i in regular_tokens.items() if self._score(i) > -math.inf}
        halves: dict[int, tuple[int, int]] = {}
        for name, i in vocab.items():
            cuts = [
                (vocab[name[:position]], vocab[name[position:]])
                for position in range(1, len(name))
                if self._both_in_vocab(vocab, name, position)
            ]
            if cuts:
                halves[i] = max(cuts, key=lambda cut: min(map(self._score, cut)))
        return halves

    def _score(self, i: int) -> float:
        """Log-probability of a token; -inf for a control symbol, which no text has."""
        return -math.inf if self._processor.is_control(i) else float(self._processor.get_score(i))

    @staticmethod
    def _both_in_vocab(vocab: dict[str, int], name: str, position: int) -> bool:
        return name[:position] in vocab and name[position:] in vocab

    def find_control_symbol(self, token: str) -> int | None:
        """The id of a token that no text is encoded with, such as [MASK]; None where the vocabulary has none."""
        i = int(self._processor.piece_to_id(token))  # the unknown token, which is no control symbol, if it is missing
        return i if self._processor.is_control(i) else None

    def covers(self, character: str) -> bool:
        """Whether the vocabulary has a character: not as bytes, and not as the unknown token."""
        (ids,) = self.encode([character])
        return UNK not in ids and not any(map(BYTE_TOKEN.fullmatch, self.convert_ids_to_tokens(ids)))

    def decode(self, ids: Sequence[int]) -> str:
        return self._processor.decode([i for i in ids if i not in (PAD, BOS, EOS)])

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        """The text of each token, with U+2581 for a space."""
        return [self._processor.id_to_piece(int(i)) for i in ids]

    def spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The characters of `text` that each token covers; a byte token covers the character it is part of."""
        char_of_byte = [i for i, letter in enumerate(text) for _ in letter.encode()]  # byte -> character
        position = -1  # SentencePiece puts one space before the text
        spans = []
        for token in self.convert_ids_to_tokens(ids):
            length = 1 if BYTE_TOKEN.fullmatch(token) else len(token.replace(SPACE, " ").encode())
            covered = char_of_byte[max(position, 0) : max(position + length, 0)]
            spans.append((covered[0], covered[-1] + 1) if covered else (0, 0))
            position += length
        return spans


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both sides. With a joint vocabulary, an id is the same token on both."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        return self.source.vocabulary is self.target.vocabulary


def train_tokenizer(
    texts: Iterable[str], vocab_size: int, model_type: str, control_symbols: Sequence[str] = ()
) -> Tokenizer:
    """Train a tokenizer on these texts. Its vocabulary is smaller than requested if the texts have fewer tokens.

    Control symbols are tokens that no text is encoded with: [MASK] of masked language models.
    """
    nonblank_texts = [text for text in texts if text.strip()]
    if not nonblank_texts:
        raise DataError("no text to train a tokenizer on")
    size, message = vocab_size, ""
    for _ in range(MAX_ATTEMPTS):
        try:
            return Tokenizer(_train(nonblank_texts, size, model_type, control_symbols))
        except RuntimeError as error:
            # Too many tokens for the text, or too few for its letters: SentencePiece names a size that works.
            message = str(error)
            size_hint = re.search(r"value <= (\d+)|required_chars\. \d+ vs (\d+)", message)
            if size_hint is None:
                break
            size = int(size_hint[1]) if size_hint[1] else int(int(size_hint[2]) * 1.1) + RESERVED_TOKENS
    raise DataError(f"SentencePiece could not train a tokenizer: {message}")


def subsample(texts: Iterable[str], stride: int) -> Iterable[str]:
    """Every `stride`-th text: enough to train a tokenizer if there are millions."""
    return (text for i, text in enumerate(texts) if i % stride == 0)


def _train(texts: list[str], vocab_size: int, model_type: str, control_symbols: Sequence[str]) -> bytes:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=out,
        vocab_size=vocab_size,
        model_type=model_type,
        byte_fallback=True,
        character_coverage=0.9999,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        max_sentence_length=MAX_SENTENCE_BYTES,
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        control_symbols=list(control_symbols),
        minloglevel=2,
    )
    return out.getvalue()
