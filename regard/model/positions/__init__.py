"""Where order enters the model. Each scheme is an object with every door shut but its own.

`at` says where each token stands: integers that broadcast to (B, T). Every row may stand elsewhere, which is how
padding on the left, caches and packed sentences come out right.
"""

from regard.model.positions.absolute import Absolute, Concatenated, Learned, Sinusoidal, sinusoid
from regard.model.positions.base import Positions, apart
from regard.model.positions.relative import T5, Alibi, Bias, Chosen, Relative, bucket, slopes
from regard.model.positions.rotary import Rotary

__all__ = [
    "T5",
    "Absolute",
    "Alibi",
    "Bias",
    "Chosen",
    "Concatenated",
    "Learned",
    "Positions",
    "Relative",
    "Rotary",
    "Sinusoidal",
    "apart",
    "bucket",
    "sinusoid",
    "slopes",
]
