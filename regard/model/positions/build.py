"""From settings to position schemes: the part of the builder that knows all nine, and those of plug-ins."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

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
from regard.plugins import explain_failures

PROBE_ROWS, PROBE_QUERIES, PROBE_TOKENS = 3, 5, 7  # with which a registered scheme is called once; no axis fits another


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
    subject = f"position scheme '{c.kind}'"
    with explain_failures(subject):
        try:
            positions: Positions = registered.scheme_class(shape, c, **registered.bind(c.options or {}))
        except ValueError as error:
            raise ConfigError(f"{subject}: {error}") from error
    if not hasattr(positions, "_parameters"):  # which torch would report at some later time, in words of its own
        raise ConfigError(f"{subject}: {type(positions).__name__}.__init__ does not call super().__init__()")
    if positions.width >= shape.dim:
        raise ConfigError(
            f"{subject}: its width of {positions.width} leaves no room for embeddings in model.dim={shape.dim}"
        )
    with explain_failures(subject), torch.no_grad(), torch.random.fork_rng(devices=()):
        require_shapes = _require_embedding_shapes if registered.enters == "embeddings" else _require_attention_shapes
        require_shapes(positions, shape, subject)
    return positions


def _require_embedding_shapes(positions: Positions, shape: AttentionShape, subject: str) -> None:
    """Refuse a scheme whose methods do not return what embeddings need, for rows of a few tokens."""
    position_ids = torch.arange(min(PROBE_TOKENS, positions.limit))[None]  # (1, T)
    shifted_ids = positions.shift_positions(position_ids, PROBE_ROWS)
    _require_shape(subject, "shift_positions", shifted_ids, (PROBE_ROWS, position_ids.shape[1]), broadcast=True)
    x = torch.zeros(PROBE_ROWS, position_ids.shape[1], shape.dim - positions.width)
    _require_shape(subject, "embed", positions.embed(x, shifted_ids), (*x.shape[:2], shape.dim))


def _require_attention_shapes(positions: Positions, shape: AttentionShape, subject: str) -> None:
    """Refuse a scheme whose methods do not return what attention needs, for the last queries of some rows."""
    k_position_ids = torch.arange(min(PROBE_TOKENS, positions.limit))[None]  # (1, Tk)
    q_position_ids = k_position_ids[:, -PROBE_QUERIES:]  # (1, Tq)
    q = torch.zeros(PROBE_ROWS, shape.heads, q_position_ids.shape[1], shape.head_dim)  # (B, H, Tq, K)
    weights = torch.zeros(*q.shape[:3], k_position_ids.shape[1])  # (B, H, Tq, Tk)
    _require_shape(subject, "rotate", positions.rotate(q, q_position_ids), q.shape)
    bias = positions.bias(q, q_position_ids, k_position_ids)
    if bias is not None:
        _require_shape(subject, "bias", bias, weights.shape, broadcast=True)
    if positions.adds_to_values:
        value_bias = positions.value_bias(weights, q_position_ids, k_position_ids)
        _require_shape(subject, "value_bias", value_bias, q.shape, broadcast=True)


def _require_shape(
    subject: str, method: str, output: object, expected: tuple[int, ...], broadcast: bool = False
) -> None:
    shape = tuple(output.shape) if isinstance(output, Tensor) else None
    if shape == expected or (broadcast and shape is not None and _broadcasts(shape, expected)):
        return
    actual = f"a tensor of the shape {shape}" if isinstance(output, Tensor) else type(output).__name__
    raise ConfigError(
        f"{subject}: {method} returns {actual}; expected a tensor {'that broadcasts to' if broadcast else 'of'} the "
        f"shape {tuple(expected)}"
    )


def _broadcasts(shape: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    try:
        return tuple(torch.broadcast_shapes(shape, expected)) == expected
    except RuntimeError:
        return False
