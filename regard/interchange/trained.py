"""What is imported and exported: a model with its settings and tokenizers."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from regard.config import Config
from regard.data.tokenizers.byte_level_bpe import ByteLevelBPE
from regard.data.tokenizers.tokenizer import Tokenizers
from regard.data.tokenizers.wordpiece import WordPiece


@dataclass(frozen=True)
class TrainedTranslator:
    """A translator: settings, weights under the names of its parameters, and tokenizers."""

    config: Config
    tensors: Mapping[str, Tensor]
    tokenizers: Tokenizers


@dataclass(frozen=True)
class TrainedEncoder:
    """An encoder: settings, weights under the names of its parameters, and its tokenizer."""

    config: Config
    tensors: Mapping[str, Tensor]
    tokenizer: WordPiece


@dataclass(frozen=True)
class TrainedLanguageModel:
    """A language model: settings, weights under the names of its parameters, and its tokenizer."""

    config: Config
    tensors: Mapping[str, Tensor]
    tokenizer: ByteLevelBPE
