"""From settings to position schemes: the part of the builder that knows all nine, and those of plug-ins."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from regard.config import PositionsConfig
from regard.config.registries import POSITION_SCHEMES, RegisteredScheme
from regard.errors import ConfigError
from regard.model.positions import (
    ALiBi,
    Concatenated,
    Learned,
    LearnedBias,
    Positions,
    Relative,
    Rotary,
    Sinusoidal,
    T5Bias,
)


@dataclass(frozen=True)
class AttentionShape:
    """What a scheme needs to know about the model."""

    dim: int
    heads: int
    causal: bool

    @property
    def head_dim(self) -> int:
        """Width of a head."""
        return self.dim // self.heads


PositionsFactory = Callable[[AttentionShape, PositionsConfig], Positions]


def _no_positions(shape: AttentionShape, c: PositionsConfig) -> Positions:
    return Positions()


@dataclass(frozen=True)
class Scheme:
    """How a scheme enters a stack: at the embeddings, and in every self-attention, one object each or one for all."""

    embedding: PositionsFactory = _no_positions
    attention: PositionsFactory = _no_positions
    shared: bool = False


def _concatenated(shape: AttentionShape, c: PositionsConfig) -> Positions:
    table = Learned(c.width, c.length, c.offset) if c.table == "learned" else _sinusoidal(c.width, c)
    return Concatenated(c.width, table)


def _sinusoidal(width: int, c: PositionsConfig) -> Sinusoidal:
    return Sinusoidal(width, c.offset, halves=c.sinusoid_layout == "halves")


def _rotary(shape: AttentionShape, c: PositionsConfig) -> Positions:
    return Rotary(2 * int(shape.head_dim * c.partial_rotary_factor / 2), c.base, c.rotary_layout == "interleaved")


SCHEMES = {
    "none": Scheme(),
    "sinusoidal": Scheme(embedding=lambda shape, c: _sinusoidal(shape.dim, c)),
    "learned": Scheme(embedding=lambda shape, c: Learned(shape.dim, c.length, c.offset)),
    "concatenated": Scheme(embedding=_concatenated),
    "relative": Scheme(attention=lambda shape, c: Relative(shape.head_dim, c.max_relative, c.values)),
    "bias": Scheme(attention=lambda shape, c: LearnedBias(shape.heads, c.length)),
    "t5": Scheme(
        attention=lambda shape, c: T5Bias(shape.heads, c.buckets, c.max_distance, bidirectional=not shape.causal),
        shared=True,
    ),
    "alibi": Scheme(
        attention=lambda shape, c: ALiBi(shape.heads, c.sides == "two-sided" and not shape.causal), shared=True
    ),
    "rotary": Scheme(attention=_rotary, shared=True),
}


def find_scheme(c: PositionsConfig) -> Scheme:
    """The scheme of this kind, built in or registered by a plug-in."""
    registered = POSITION_SCHEMES.find(c.kind)
    if registered is None:
        return SCHEMES[c.kind]
    make_positions = partial(_build_registered, registered)
    if registered.enters == "embeddings":
        return Scheme(embedding=make_positions)
    return Scheme(attention=make_positions, shared=registered.shared)


def _build_registered(registered: RegisteredScheme, shape: AttentionShape, c: PositionsConfig) -> Positions:
    try:
        positions: Positions = registered.scheme_class(shape, c, **registered.bind(c.options or {}))
    except ValueError as error:
        raise ConfigError(f"position scheme '{c.kind}': {error}") from error
    if positions.width >= shape.dim:
        raise ConfigError(
            f"position scheme '{c.kind}': its width of {positions.width} leaves no room for embeddings in "
            f"model.dim={shape.dim}"
        )
    return positions
