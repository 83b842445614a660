"""Masking: some tokens of every row are hidden and become its targets.  Devlin et al. 2019.

The token is replaced, never its position: the model knows where it has to predict. All draws come from the seed that a
batch is made with, so that every epoch has other masks, and a resumed run the same ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.store import Array
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN, TextTokenizer
from regard.errors import DataError
from regard.tasks.text_batch import IGNORED, TokenLabelBatch, pad_rows


@dataclass(frozen=True)
class MaskScheme:
    """What a chosen token is replaced by: [MASK] or a random token, each with a probability; otherwise by nothing."""

    mask_probability: float
    random_probability: float


MASK_SCHEMES = {"mask": MaskScheme(1.0, 0.0), "80/10/10": MaskScheme(0.8, 0.1)}
"""[MASK] for every chosen token; or as BERT, so that the model also sees texts without [MASK]."""


class MaskingCollator:
    """Rows of complete ids, special tokens included -> a batch in which some tokens are hidden."""

    def __init__(
        self, tokenizer: TextTokenizer, rate: float = 0.15, scheme: str = "mask", whole_words: bool = False
    ) -> None:
        self.tokenizer = tokenizer
        self.mask_id = require_mask(tokenizer)
        self.rate = rate
        """The share of the tokens of a row that are chosen."""
        self.scheme = MASK_SCHEMES[scheme]
        self.whole_words = whole_words
        ids = range(tokenizer.vocab_size)
        self._regular_ids = np.array([i for i in ids if i not in tokenizer.special_ids], np.int64)

    def __call__(self, sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> TokenLabelBatch:
        """The targets are not needed: every text is its own."""
        rows = [self.mask_row(row, rng) for row, rng in zip(sources, self._generators(sources, seed), strict=True)]
        ids, labels = zip(*rows, strict=True)
        return TokenLabelBatch.of(pad_rows(ids, self.tokenizer.pad_id), pad_rows(labels, IGNORED))

    def mask_row(self, row: Sequence[int], rng: np.random.Generator) -> tuple[list[int], list[int]]:
        """The ids of a text with some of them replaced, and the label of each."""
        ids = np.array(row, np.int64)
        chosen = self._choose(row, rng)
        labels = np.full(len(ids), IGNORED)
        labels[chosen] = ids[chosen]
        draws = rng.random(len(chosen))
        is_masked = draws < self.scheme.mask_probability
        is_random = ~is_masked & (draws < self.scheme.mask_probability + self.scheme.random_probability)
        ids[chosen[is_masked]] = self.mask_id
        ids[chosen[is_random]] = rng.choice(self._regular_ids, int(is_random.sum()))
        return ids.tolist(), labels.tolist()

    def _choose(self, row: Sequence[int], rng: np.random.Generator) -> Array:
        """The positions of the targets: a share of the tokens, at least one, in whole words if wanted."""
        units = self._units(row)
        budget = max(1, round(self.rate * sum(map(len, units))))
        chosen: list[int] = []
        for i in rng.permutation(len(units)):
            if len(chosen) + len(units[i]) <= budget or not chosen:  # a word that is too long only if there is no other
                chosen += units[i]
        return np.array(sorted(chosen), np.int64)

    def _units(self, row: Sequence[int]) -> list[list[int]]:
        """What is chosen as a whole: the positions of single tokens or of words, never of special tokens."""
        positions = [i for i, token in enumerate(row) if token not in self.tokenizer.special_ids]
        if not self.whole_words:
            return [[i] for i in positions]
        starts_word = self.tokenizer.starts_word(row)
        words: list[list[int]] = []
        for i in positions:
            if not words or starts_word[i] or words[-1][-1] != i - 1:
                words.append([])
            words[-1].append(i)
        return words

    def _generators(self, rows: Sequence[Sequence[int]], seed: Sequence[int]) -> Sequence[np.random.Generator]:
        """The generator of each row."""
        return [np.random.default_rng(list(seed))] * len(rows)


class FixedMaskingCollator(MaskingCollator):
    """For dev sets: the masks of a text depend on the text alone, not on its batch."""

    def _generators(self, rows: Sequence[Sequence[int]], seed: Sequence[int]) -> Sequence[np.random.Generator]:
        return [np.random.default_rng(list(row)) for row in rows]


def require_mask(tokenizer: TextTokenizer) -> int:
    """The id of [MASK], which a vocabulary must have."""
    if tokenizer.mask_id is None:
        raise DataError(
            f"the vocabulary has no token {MASK_TOKEN}, which a masked language model needs; train a tokenizer "
            f"with it, or import an encoder that has one"
        )
    return tokenizer.mask_id
