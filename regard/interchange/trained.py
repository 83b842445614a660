"""What crosses the border: a model with everything that makes it whole."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from regard.config import Config
from regard.data.tokenizer import Tokenizers
from regard.data.wordpiece import WordPiece


@dataclass(frozen=True)
class TrainedTranslator:
    """A translator in this house's terms: settings, weights under the names of its parameters, and tokenisers."""

    config: Config
    tensors: Mapping[str, Tensor]
    tokenizers: Tokenizers


@dataclass(frozen=True)
class TrainedEncoder:
    """An encoder in this house's terms."""

    config: Config
    tensors: Mapping[str, Tensor]
    tokenizer: WordPiece
