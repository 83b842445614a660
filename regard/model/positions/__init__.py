"""How word order enters the model. Each scheme overrides the methods of `Positions` that it needs.

`position_ids` are integers that broadcast to (B, T). Every row may have its own, which is how padding on the left and
caches come out right.
"""

from regard.model.positions.absolute import Absolute, Sinusoidal, sinusoid
from regard.model.positions.base import Positions, relative_positions
from regard.model.positions.learned import Concatenated, Learned
from regard.model.positions.relative import (
    ALiBi,
    LearnedBias,
    Relative,
    SelectedHeads,
    T5Bias,
    alibi_slopes,
    relative_position_bucket,
)
from regard.model.positions.rotary import Rotary

__all__ = [
    "ALiBi",
    "Absolute",
    "Concatenated",
    "Learned",
    "LearnedBias",
    "Positions",
    "Relative",
    "Rotary",
    "SelectedHeads",
    "Sinusoidal",
    "T5Bias",
    "alibi_slopes",
    "relative_position_bucket",
    "relative_positions",
    "sinusoid",
]
