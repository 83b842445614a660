"""What makes vectors of texts, as an index needs it: handed in, whichever model it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.retrieval.dense.passages import Span
from regard.retrieval.index_folder import EncoderIdentity


@dataclass(frozen=True)
class Encoder:
    """A function from texts to vectors of length 1, and the identity of its weights."""

    identity: EncoderIdentity
    embed: Callable[[Sequence[str]], NDArray[np.float32]]
    """Texts -> (N, D)."""
    split: Callable[[str], list[Span]]
    """A text -> its passages, each of which `embed` reads to its end."""
