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
BYTE = re.compile(r"<0x([0-9A-F]{2})>")
BYTES = 300  # pieces that byte fallback and the special ones take
NO_MODEL = "not a SentencePiece model: damaged, or a pointer of git-lfs that was never followed"
LONGEST_LINE = 16_384  # bytes; SentencePiece leaves out longer lines when it learns its pieces


class Tokenizer:
    """Text <-> ids of pieces."""

    def __init__(self, model: bytes):
        self.model = model
        try:
            self._pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise DataError(NO_MODEL) from None
        if not model:  # which the library takes for a wish to be given one later
            raise DataError(NO_MODEL)

    @property
    def size(self) -> int:
        return int(self._pieces.get_piece_size())

    @property
    def vocabulary(self) -> object:
        """What gives ids their meaning: where two tokenisers have the same, one table of vectors serves both."""
        return self

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without any mark of its end."""
        return self._pieces.encode(list(texts))

    def sample(self, rows: Sequence[Sequence[int]], strength: float, seed: int) -> list[list[int]]:
        """The same texts in other pieces: each is taken apart, with this probability, into the two it is made of.

        In the spirit of BPE-dropout (Provilkov et al. 2020), which leaves merges out on the way up. SentencePiece has
        its own, but seeds it differently in every process; this one depends on the seed alone.
        """
        rng = np.random.default_rng(seed)
        return [self._apart(row, strength, rng) for row in rows]

    def _apart(self, row: Sequence[int], strength: float, rng: np.random.Generator) -> list[int]:
        hit = rng.random(len(row)) < strength
        parts: list[int] = []
        for i, apart in zip(row, hit, strict=True):
            halves = self._halves.get(i) if apart else None
            parts += self._apart(halves, strength, rng) if halves else (i,)
        return parts

    @functools.cached_property
    def _halves(self) -> dict[int, tuple[int, int]]:
        """The two pieces that each longer piece is made of: the likeliest two that are pieces themselves."""
        names = enumerate(self.pieces(range(self.size)))
        whole = {name: i for i, name in names if i > EOS and not BYTE.fullmatch(name)}
        known = {name: i for name, i in whole.items() if self._score(i) > -math.inf}
        halves: dict[int, tuple[int, int]] = {}
        for name, i in known.items():
            cuts = [(known[name[:at]], known[name[at:]]) for at in range(1, len(name)) if self._both(known, name, at)]
            if cuts:
                halves[i] = max(cuts, key=lambda cut: min(map(self._score, cut)))
        return halves

    def _score(self, i: int) -> float:
        """How likely a piece is, as a logarithm."""
        return float(self._pieces.get_score(i))

    @staticmethod
    def _both(known: dict[str, int], name: str, at: int) -> bool:
        return name[:at] in known and name[at:] in known

    def decode(self, ids: Sequence[int]) -> str:
        return self._pieces.decode([i for i in ids if i not in (PAD, BOS, EOS)])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What each id looks like, for people."""
        return [self._pieces.id_to_piece(int(i)) for i in ids]

    def spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The characters of `text` that each of its pieces covers; a byte covers the character it is part of."""
        owner = [i for i, letter in enumerate(text) for _ in letter.encode()]  # byte -> character
        at = -1  # SentencePiece puts one space before the text
        spans = []
        for piece in self.pieces(ids):
            length = 1 if BYTE.fullmatch(piece) else len(piece.replace(SPACE, " ").encode())
            covered = owner[max(at, 0) : max(at + length, 0)]
            spans.append((covered[0], covered[-1] + 1) if covered else (0, 0))
            at += length
        return spans


@dataclass(frozen=True)
class Tokenizers:
    """The tokenisers of the two sides; where the vocabulary is joint, an id is the same piece on both."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        return self.source.vocabulary is self.target.vocabulary


def train(texts: Iterable[str], vocabulary: int, kind: str) -> Tokenizer:
    """A tokeniser for these texts, with fewer pieces than asked where the texts do not hold so many."""
    kept = [text for text in texts if text.strip()]
    if not kept:
        raise DataError("there is no text to learn a vocabulary from")
    try:
        return Tokenizer(_train(kept, vocabulary, kind))
    except RuntimeError as error:
        # Too many for the text, or too few for its letters: SentencePiece names the number that would do.
        fitting = re.search(r"value <= (\d+)|required_chars\. \d+ vs (\d+)", str(error))
        if fitting is None:
            raise DataError(f"SentencePiece could not learn a vocabulary: {error}") from None
        size = int(fitting[1]) if fitting[1] else int(int(fitting[2]) * 1.1) + BYTES
        return Tokenizer(_train(kept, size, kind))


def thin(texts: Iterable[str], every: int) -> Iterable[str]:
    """Every n-th text: enough to learn pieces from where there are millions."""
    return (text for i, text in enumerate(texts) if i % every == 0)


def _train(texts: list[str], vocabulary: int, kind: str) -> bytes:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=out,
        vocab_size=vocabulary,
        model_type=kind,
        byte_fallback=True,
        character_coverage=0.9999,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        max_sentence_length=LONGEST_LINE,
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        minloglevel=2,
    )
    return out.getvalue()
