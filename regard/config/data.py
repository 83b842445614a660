"""Settings of the data: files, languages, the tokenizer."""

from typing import Literal

from pydantic import Field

from regard.config.base import Settings
from regard.files import MAX_LINE_BYTES

BYTE_TOKENS = 256
MIN_VOCAB_SIZE = BYTE_TOKENS + 24  # byte fallback, four special tokens, and a few letters
MAX_LENGTH = 1_000_000


class DataConfig(Settings):
    train: tuple[str, ...] = ()
    """Training pairs: two aligned text files, or one .tsv, .jsonl, .tmx or .po file."""
    dev: tuple[str, ...] = ()
    """Pairs for validation; unset: held out of the training pairs."""
    test: tuple[str, ...] = ()
    """Pairs to score the finished model on; unset: held out of the training pairs where data.dev is unset too."""
    split_seed: int | None = Field(default=None, ge=0, lt=2**32)
    """Seed of what is held out of the training files; unset: train.seed."""
    source: str = ""
    """Language code of the source side."""
    target: str = ""
    """Language code of the target side."""
    keep: tuple[str, ...] = ()
    """Findings of `regard doctor` that are kept although it would drop them: blank, metadata, overlap …"""
    drop: tuple[str, ...] = ()
    """Findings of `regard doctor` that are dropped although it would keep them: duplicate, variant, placeholder …"""
    vocab_size: int = Field(default=6000, ge=MIN_VOCAB_SIZE, le=1_000_000)
    """Tokens in the vocabulary; lowered, with a note, where the corpus yields fewer."""
    tokenizer: Literal["bpe", "unigram"] = "bpe"
    """SentencePiece algorithm."""
    joint_vocab: bool = True
    """One vocabulary for both languages."""
    both_directions: bool = False
    """Train on every pair in both directions, with a tag of the target language before the source: >>fr<<."""
    denoise_targets: float = Field(default=0.0, ge=0, lt=1)
    """Share of the pairs of a batch whose source is replaced by the target with hidden spans (denoising). 0: off."""
    subword_regularization: float = Field(default=0.0, ge=0, lt=1)
    """Subword regularization: probability that a token is split into the two it was merged from. 0: off."""
    subword_regularization_start: float = Field(default=0.0, ge=0, le=1)
    """Progress of training, from 0 to 1, from which on there is subword regularization: 0.5 is the second half."""
    concat_augment: float = Field(default=0.0, ge=0, le=4)
    """Extra training pairs per epoch, each the concatenation of two random ones, as a fraction of the corpus."""
    curriculum_epochs: int = Field(default=0, ge=0, le=1_000)
    """Epochs at the start in which batches come in order of length, short sentences first. 0: in random order."""
    max_length: int = Field(default=256, ge=2, le=MAX_LENGTH)
    """Longest side, in tokens, of a training pair; longer pairs are left out and counted."""
    max_line_bytes: int = Field(default=MAX_LINE_BYTES, ge=1_000, le=100_000_000)
    """Longest line of a text, .tsv, .jsonl or .po file, in bytes; a longer one is refused by its number."""
