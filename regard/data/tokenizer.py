"""SentencePiece, trained inside a run and kept inside it, so that a run folder is a whole translator.

Normalisation is off: the library's default would eat non-breaking spaces and turn m² into m2. What goes in comes out,
but for U+2581, the mark that SentencePiece itself uses for a space.
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
RESERVED_TOKENS = 300  # pieces that byte fallback and the special ones take
INVALID_MODEL_MESSAGE = "not a SentencePiece model: damaged, or a pointer of git-lfs that was never followed"
MAX_SENTENCE_BYTES = 16_384  # bytes; SentencePiece leaves out longer lines when it learns its pieces


class Tokenizer:
    """Text <-> ids of pieces."""

    def __init__(self, model: bytes):
        self.model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise DataError(INVALID_MODEL_MESSAGE) from None
        if not model:  # which the library takes for a wish to be given one later
            raise DataError(INVALID_MODEL_MESSAGE)

    @property
    def vocab_size(self) -> int:
        return int(self._processor.get_piece_size())

    @property
    def vocabulary(self) -> object:
        """What gives ids their meaning: where two tokenisers have the same, one table of vectors serves both."""
        return self

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without any mark of its end."""
        return self._processor.encode(list(texts))

    def sample_segmentation(
        self, rows: Sequence[Sequence[int]], split_probability: float, seed: int
    ) -> list[list[int]]:
        """The same texts in other pieces: each is taken apart, with this probability, into the two it is made of.

        In the spirit of BPE-dropout (Provilkov et al. 2020), which leaves merges out on the way up. SentencePiece has
        its own, but seeds it differently in every process; this one depends on the seed alone.
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
        """The two pieces that each longer piece is made of: the likeliest two that are pieces themselves."""
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
        """How likely a piece is, as a logarithm."""
        return float(self._processor.get_score(i))

    @staticmethod
    def _both_in_vocab(vocab: dict[str, int], name: str, position: int) -> bool:
        return name[:position] in vocab and name[position:] in vocab

    def decode(self, ids: Sequence[int]) -> str:
        return self._processor.decode([i for i in ids if i not in (PAD, BOS, EOS)])

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        """What each id looks like, for people."""
        return [self._processor.id_to_piece(int(i)) for i in ids]

    def spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The characters of `text` that each of its pieces covers; a byte covers the character it is part of."""
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
    """The tokenisers of the two sides; where the vocabulary is joint, an id is the same piece on both."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        return self.source.vocabulary is self.target.vocabulary


def train(texts: Iterable[str], vocab_size: int, model_type: str) -> Tokenizer:
    """A tokeniser for these texts, with fewer pieces than asked where the texts do not hold so many."""
    nonblank_texts = [text for text in texts if text.strip()]
    if not nonblank_texts:
        raise DataError("there is no text to learn a vocabulary from")
    try:
        return Tokenizer(_train(nonblank_texts, vocab_size, model_type))
    except RuntimeError as error:
        # Too many for the text, or too few for its letters: SentencePiece names the number that would do.
        size_hint = re.search(r"value <= (\d+)|required_chars\. \d+ vs (\d+)", str(error))
        if size_hint is None:
            raise DataError(f"SentencePiece could not learn a vocabulary: {error}") from None
        size = int(size_hint[1]) if size_hint[1] else int(int(size_hint[2]) * 1.1) + RESERVED_TOKENS
        return Tokenizer(_train(nonblank_texts, size, model_type))


def subsample(texts: Iterable[str], stride: int) -> Iterable[str]:
    """Every n-th text: enough to learn pieces from where there are millions."""
    return (text for i, text in enumerate(texts) if i % stride == 0)


def _train(texts: list[str], vocab_size: int, model_type: str) -> bytes:
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
        minloglevel=2,
    )
    return out.getvalue()
