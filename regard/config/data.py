"""Settings of the data: files, languages, the tokenizer."""

from typing import Literal

from pydantic import Field

from regard.config.base import Settings

BYTE_TOKENS = 256
MIN_VOCAB_SIZE = BYTE_TOKENS + 24  # byte fallback, four special pieces, and room for a few letters


class DataConfig(Settings):
    train: tuple[str, ...] = ()
    """Training pairs: two aligned text files, or one .tsv file."""
    dev: tuple[str, ...] = ()
    """Pairs to choose the model on; unset: held out of the training pairs."""
    test: tuple[str, ...] = ()
    """Pairs to score the finished model on; unset: held out of the training pairs where data.dev is unset too."""
    source: str = ""
    """Language code of the source side."""
    target: str = ""
    """Language code of the target side."""
    keep: tuple[str, ...] = ()
    """What the doctor finds and would drop, but shall keep: blank, metadata, overlap … (see `regard doctor`)."""
    drop: tuple[str, ...] = ()
    """What the doctor only notes, but shall drop: duplicate, variant, placeholder …"""
    vocab_size: int = Field(default=6000, ge=MIN_VOCAB_SIZE, le=1_000_000)
    """Pieces of the tokeniser; lowered, with a word about it, where the corpus has not so many."""
    tokenizer: Literal["bpe", "unigram"] = "bpe"
    """How SentencePiece builds its pieces."""
    joint_vocab: bool = True
    """One tokeniser for both languages."""
    subword_regularization: float = Field(default=0.0, ge=0, lt=1)
    """Train on other pieces of the same text: how often a piece is taken apart into the two it is made of."""
    concat_augment: float = Field(default=0.0, ge=0, le=4)
    """Extra pairs in every epoch, each two random ones put end to end, as a share of the corpus."""
    max_length: int = Field(default=256, ge=2)
    """Longest side, in pieces, of a pair that is trained on; longer pairs are left out and counted."""
