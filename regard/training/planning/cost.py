"""The cost of a model: parameters of each part, FLOPs per pair, bytes of memory. Formulas, no measurements."""

from dataclasses import dataclass

import torch

from regard.config import Head, ModelConfig, PositionsConfig
from regard.config.registries import POSITION_SCHEMES
from regard.model.modules import count_parameters
from regard.model.positions import Positions
from regard.model.positions.build import AttentionShape, find_scheme

BYTES_PER_ELEMENT = 4
COPIES_PER_PARAMETER = 4  # weights, gradients and Adam's two moments


@dataclass(frozen=True)
class MeanLengths:
    """Mean number of tokens of a source and of a target, EOS included."""

    source: float
    target: float


@dataclass(frozen=True)
class ParameterCounts:
    """Parameters of each part; a shared embedding counts once, where it is used first."""

    embeddings: int
    positions: int
    encoder: int
    decoder: int
    output: int

    @property
    def total(self) -> int:
        return self.embeddings + self.positions + self.encoder + self.decoder + self.output


def compute_parameter_counts(
    c: ModelConfig, source_vocab_size: int, target_vocab_size: int, joint_vocab: bool
) -> ParameterCounts:
    """The number of parameters of a model; one with a single stack has the target's vocabulary."""
    stacks = c.architecture.split("-")
    vocab_sizes = {"encoder": source_vocab_size, "decoder": target_vocab_size}
    last = stacks[-1]  # whose embeddings the output may be tied to
    vocab_sizes[last] = target_vocab_size
    schemes = {"encoder": c.encoder.positions or c.positions, "decoder": c.decoder.positions or c.positions}
    widths = {stack: c.dim - _position_width(c, schemes[stack]) for stack in stacks}  # of token embeddings
    shared = len(stacks) == 2 and c.tie_embeddings and joint_vocab and widths["encoder"] == widths["decoder"]
    embeddings = sum(vocab_sizes[stack] * widths[stack] for stack in ([last] if shared else stacks))
    embeddings += len(stacks) * _norm_parameters(c) if c.embedding_norm else 0
    output = 0 if c.tie_embeddings and widths[last] == c.dim else target_vocab_size * c.dim
    return ParameterCounts(
        embeddings + c.token_types * c.dim,
        sum(_position_parameters(c, schemes[stack], c.depth(stack)) for stack in stacks),
        _stack_parameters(c, "encoder") + (c.dim * c.dim + c.dim if c.pooler else 0) if "encoder" in stacks else 0,
        _stack_parameters(c, "decoder") if "decoder" in stacks else 0,
        output + (target_vocab_size if c.output_bias else 0),
    )


def _stack_parameters(c: ModelConfig, stack: str) -> int:
    """Parameters of the layers of a stack, and of the norm after them."""
    bias, norm = int(c.bias), _norm_parameters(c)
    attentions = 2 if (stack, c.architecture) == ("decoder", "encoder-decoder") else 1  # with cross-attention
    attention = 4 * (c.dim * c.dim + bias * c.dim) + (2 * (c.dim // c.heads) if c.qk_norm else 0)
    up_projections = 2 if c.activation == "swiglu" else 1
    feed_forward = (up_projections + 1) * c.dim * c.ffn + bias * (up_projections * c.ffn + c.dim)
    layer = attentions * (attention + norm) + feed_forward + norm
    head = (4 * c.dim + 3 * bias) * (c.dim // c.heads)  # of each head that was pruned
    pruned_heads = sum(name.startswith(stack) for name in c.pruned)
    return c.depth(stack) * layer + (norm if c.norm == "pre" else 0) - pruned_heads * head


def _norm_parameters(c: ModelConfig) -> int:
    return c.dim * (2 if c.norm_kind == "layer" else 1)


def _position_parameters(c: ModelConfig, positions: PositionsConfig, layers: int) -> int:
    """Position parameters of a stack."""
    return (
        _absolute_position_parameters(c, positions)
        + _relative_position_parameters(c, positions, layers)
        + _registered_position_parameters(c, positions, layers)
    )


def _position_width(c: ModelConfig, positions: PositionsConfig) -> int:
    """Dimensions that the scheme reserves beside the token embedding."""
    if positions.kind in POSITION_SCHEMES.built_in:
        return positions.width if positions.kind == "concatenated" else 0
    return _build_registered_positions(c, positions).width


def _build_registered_positions(c: ModelConfig, positions: PositionsConfig) -> Positions:
    """One object of a plug-in's scheme, which no formula describes."""
    scheme, shape = find_scheme(positions), AttentionShape(c.dim, c.heads, causal=False)
    with torch.random.fork_rng(devices=[]):  # an estimate changes no random numbers
        embedding = scheme.embedding(shape, positions)
        return embedding if type(embedding) is not Positions else scheme.attention(shape, positions)


def _registered_position_parameters(c: ModelConfig, positions: PositionsConfig, layers: int) -> int:
    registered = POSITION_SCHEMES.find(positions.kind)
    if registered is None:
        return 0
    copies = 1 if registered.shared or registered.enters == "embeddings" else layers
    return copies * count_parameters(_build_registered_positions(c, positions))


def _absolute_position_parameters(c: ModelConfig, positions: PositionsConfig) -> int:
    """Position parameters that a stack adds to its embeddings."""
    if positions.kind == "learned":
        return positions.length * c.dim
    return (
        positions.length * positions.width if positions.kind == "concatenated" and positions.table == "learned" else 0
    )


def _relative_position_parameters(c: ModelConfig, positions: PositionsConfig, layers: int) -> int:
    """Position parameters in the attention of a stack."""
    if positions.kind == "relative":
        return layers * (2 * positions.max_relative + 1) * (c.dim // c.heads) * (2 if positions.values else 1)
    if positions.kind == "bias":
        return layers * c.heads * (2 * positions.length - 1)
    return positions.buckets * c.heads if positions.kind == "t5" else 0


def training_flops(c: ModelConfig, target_vocab_size: int, lengths: MeanLengths) -> float:
    """Floating-point operations to train on one pair once: forward, and twice that backward."""
    s, t, d, k = lengths.source, lengths.target, c.dim, c.dim // c.heads
    feed_forward = (3 if c.activation == "swiglu" else 2) * d * c.ffn
    encoder = s * (4 * d * d + feed_forward) + 2 * s * s * d
    if c.architecture != "encoder-decoder":  # one stack reads the text, and only what predicts a target is projected
        return 6 * (c.depth(c.architecture) * encoder + t * d * target_vocab_size)
    decoder = t * (6 * d * d + feed_forward) + s * 2 * d * d + 2 * t * t * d + 2 * s * t * d
    forward = c.depth("encoder") * encoder + c.depth("decoder") * decoder + t * d * target_vocab_size
    # What a pruned head saves: four products with its weights, and two with the keys and values.
    head_flops = {
        "encoder.self": 4 * s * d * k + 2 * s * s * k,
        "decoder.self": 4 * t * d * k + 2 * t * t * k,
        "decoder.cross": 2 * (s + t) * d * k + 2 * s * t * k,
    }
    heads = map(Head.parse, c.pruned)
    return 6 * (forward - sum(head_flops[f"{head.stack}.{head.kind}"] for head in heads))


def training_bytes(c: ModelConfig, parameter_counts: ParameterCounts, target_vocab_size: int, batch_tokens: int) -> int:
    """Approximate memory of a training step: weights with their copies, and the activations of every token."""
    layers = c.depth("encoder") + 2 * c.depth("decoder")
    activations = batch_tokens * (layers * (12 * c.dim + 3 * c.ffn) + 3 * target_vocab_size)
    return BYTES_PER_ELEMENT * (COPIES_PER_PARAMETER * parameter_counts.total + activations)
