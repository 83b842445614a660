"""From settings to a model. Nothing else in this package reads the config."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.config.registries import ACTIVATIONS as REGISTERED_ACTIVATIONS
from regard.errors import ConfigError, ModelError
from regard.model.attention import Attention, AttentionFunction, attend
from regard.model.layers import DecoderLayer, EncoderLayer, FeedForward, LayerNorm, PostNorm, PreNorm, Residual
from regard.model.positions import Positions, SelectedHeads
from regard.model.positions.build import AttentionShape, find_scheme
from regard.model.projection import Projection
from regard.model.single_stack import (
    DecoderOnly,
    EncoderOnly,
    FirstTokenPooling,
    LastTokenPooling,
    MeanPooling,
    Pooler,
    SourceTargetDecoder,
    TextEncoderDecoder,
)
from regard.model.transformer import EncoderDecoder, NoTokenTypes, TokenEmbedding, TransformerStack
from regard.model.variants import GatedFeedForward, RMSNorm, TokenTypes, gelu_tanh, hard_attention
from regard.plugins import explain_failures

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": gelu_tanh,
    "silu": F.silu,
}
NORMS: dict[str, Callable[[int, float], nn.Module]] = {"layer": LayerNorm, "rms": RMSNorm}
ATTENDS: dict[str, AttentionFunction] = {"softmax": attend, "argmax": partial(attend, normalizer=hard_attention)}
INITS: dict[str, Callable[[Tensor, int], Tensor]] = {  # (weight, model width)
    "xavier": lambda weight, dim: nn.init.xavier_uniform_(weight),
    "small": lambda weight, dim: nn.init.normal_(weight, std=math.sqrt(2 / (5 * dim))),  # Nguyen and Salazar 2019
}
RESIDUALS: dict[str, Callable[[nn.Module, float], Residual]] = {"pre": PreNorm, "post": PostNorm}
POOLINGS: dict[str, Callable[[int], nn.Module]] = {
    "mean": lambda dim: MeanPooling(),
    "first": lambda dim: FirstTokenPooling(),
    "last": lambda dim: LastTokenPooling(),
    "pooler": Pooler,
}
Part = TypeVar("Part")
LABEL_STD = 0.02  # of the weights of fresh labels, all about equally likely at first.  Devlin et al. 2019


@contextmanager
def use_parts(parts: dict[str, Part], **others: Part) -> Iterator[None]:
    """Let models that are built in the block have other parts: those of a student, or none at all.

    with use_parts(RESIDUALS, pre=NoResidual):
        build_encoder(config, vocab_size, pad)
    """
    original = dict(parts)
    if unknown := others.keys() - original.keys():
        raise ModelError(f"there is no part '{min(unknown)}'; available: {', '.join(original)}")
    parts.update(others)
    try:
        yield
    finally:
        parts.update(original)


def build(c: ModelConfig, source_size: int, target_size: int, joint: bool, pad: int) -> EncoderDecoder:
    """A fresh encoder-decoder for vocabularies of these sizes; `joint`: both sides share one vocabulary."""
    encoder, decoder, target_table = _both_stacks(c, source_size, target_size, joint)
    return EncoderDecoder(encoder, decoder, _projection(c, target_table), pad)


def build_source_target_decoder(c: ModelConfig, vocab_size: int, pad: int) -> SourceTargetDecoder:
    """A fresh decoder that reads source and target as one sequence, of one vocabulary."""
    return SourceTargetDecoder(*_single_stack(c, "decoder", vocab_size, None), pad)


def build_text_encoder_decoder(
    c: ModelConfig, vocab_size: int, pad: int, num_labels: int | None = None, pooling: str | None = None
) -> TextEncoderDecoder:
    """A fresh encoder and decoder that read the same text. With `num_labels`, its output predicts labels."""
    encoder, decoder, table = _both_stacks(c, vocab_size, vocab_size, joint=True)
    projection = _projection(c, table) if num_labels is None else _label_projection(c, num_labels)
    return TextEncoderDecoder(encoder, decoder, projection, pad, POOLINGS[pooling or "last"](c.dim))


def build_encoder(
    c: ModelConfig, vocab_size: int, pad: int, num_labels: int | None = None, pooling: str | None = None
) -> EncoderOnly:
    """A fresh encoder without a decoder. With `num_labels`, its output predicts labels instead of tokens."""
    pool = POOLINGS[pooling or ("pooler" if c.pooler else "first")](c.dim)
    return EncoderOnly(*_single_stack(c, "encoder", vocab_size, num_labels), pad, pool)


def build_decoder(
    c: ModelConfig, vocab_size: int, pad: int, num_labels: int | None = None, pooling: str | None = None
) -> DecoderOnly:
    """A fresh causal language model. With `num_labels`, its output predicts labels instead of tokens."""
    return DecoderOnly(*_single_stack(c, "decoder", vocab_size, num_labels), pad, POOLINGS[pooling or "last"](c.dim))


def _both_stacks(
    c: ModelConfig, source_size: int, target_size: int, joint: bool
) -> tuple[TransformerStack, TransformerStack, nn.Embedding]:
    """Encoder and decoder, and the table of target tokens."""
    source, target = _StackParts(c, "encoder"), _StackParts(c, "decoder")
    target_table = _token_table(target_size, target.embedding_width, c.embedding_std)
    shared = c.tie_embeddings and joint and source.embedding_width == target.embedding_width
    source_table = target_table if shared else _token_table(source_size, source.embedding_width, c.embedding_std)
    encoder = TransformerStack(source.embedding(source_table), source.layers(_encoder_layer), _final_norm(c))
    decoder = TransformerStack(target.embedding(target_table), target.layers(_decoder_layer), _final_norm(c))
    return encoder, decoder, target_table


def _single_stack(
    c: ModelConfig, name: str, vocab_size: int, num_labels: int | None
) -> tuple[TransformerStack, Projection]:
    parts = _StackParts(c, name)
    table = _token_table(vocab_size, parts.embedding_width, c.embedding_std)
    projection = _projection(c, table) if num_labels is None else _label_projection(c, num_labels)
    return TransformerStack(parts.embedding(table), parts.layers(_encoder_layer), _final_norm(c)), projection


Layer = TypeVar("Layer", EncoderLayer, DecoderLayer)


class _StackParts:
    """What a stack is made of: its position scheme, its embedding, its layers."""

    def __init__(self, c: ModelConfig, name: str):
        self.c, self.name = c, name
        positions = (c.encoder if name == "encoder" else c.decoder).positions or c.positions
        scheme, shape = find_scheme(positions), AttentionShape(c.dim, c.heads, causal=name == "decoder")
        self.encoding = scheme.embedding(shape, positions)
        self.embedding_width = c.dim - self.encoding.width
        make_positions = partial(scheme.attention, shape, positions)
        self.make_positions = partial(_same, make_positions()) if scheme.shared else make_positions

    def embedding(self, table: nn.Embedding) -> TokenEmbedding:
        return _embedding(self.c, table, self.encoding)

    def layers(self, make_layer: Callable[[ModelConfig, Positions, str], Layer]) -> list[Layer]:
        """Each with positions of its own, or all with the same where the scheme is shared."""
        count = self.c.depth(self.name)
        layers = [make_layer(self.c, self.make_positions(), f"{self.name}.{i}") for i in range(count)]
        if self.c.scale_residual_init:
            _scale_residual_outputs(layers)
        return layers


def _same(positions: Positions) -> Positions:
    return positions


def _projection(c: ModelConfig, table: nn.Embedding) -> Projection:
    tied = c.tie_embeddings and table.embedding_dim == c.dim
    weight = table.weight if tied else _token_table(table.num_embeddings, c.dim).weight
    return Projection(weight, c.output_bias)


def _label_projection(c: ModelConfig, num_labels: int) -> Projection:
    return Projection(nn.Parameter(torch.randn(num_labels, c.dim) * LABEL_STD), biased=True)


def _embedding(c: ModelConfig, tokens: nn.Embedding, positions: Positions) -> TokenEmbedding:
    token_types = TokenTypes(c.token_types, c.dim) if c.token_types else NoTokenTypes()
    norm = _norm(c) if c.embedding_norm else nn.Identity()
    return TokenEmbedding(tokens, positions, c.dropout, c.word_dropout, c.scale_embeddings, token_types, norm)


def _encoder_layer(c: ModelConfig, positions: Positions, name: str) -> EncoderLayer:
    return EncoderLayer(_attention(c, positions, f"{name}.self"), _feed_forward(c), _residuals(c, 2))


def _decoder_layer(c: ModelConfig, positions: Positions, name: str) -> DecoderLayer:
    cross_attn = _attention(c, Positions(), f"{name}.cross")  # source and target positions are not on one axis
    self_attn = _attention(c, positions, f"{name}.self")
    return DecoderLayer(self_attn, cross_attn, _feed_forward(c), _residuals(c, 3))


def _attention(c: ModelConfig, positions: Positions, name: str) -> Attention:
    kept_heads = c.kept_heads(name)
    if positions.by_head and len(kept_heads) < c.heads:
        positions = SelectedHeads(positions, kept_heads)
    attention = Attention(c.dim, c.heads, positions, c.bias, c.attention_dropout, ATTENDS[c.attention], kept_heads)
    for linear in (attention.q_proj, attention.k_proj, attention.v_proj, attention.out_proj):
        _init_linear(linear, c)
    if c.qk_norm:
        attention.q_norm, attention.k_norm = (RMSNorm(attention.head_dim, c.norm_epsilon) for _ in range(2))
    return attention


def _feed_forward(c: ModelConfig) -> nn.Module:
    feed_forward: nn.Module
    if c.activation == "swiglu":
        feed_forward = GatedFeedForward(c.dim, c.ffn, c.bias, c.activation_dropout)
    else:
        feed_forward = FeedForward(c.dim, c.ffn, _find_activation(c), c.bias, c.activation_dropout)
    for linear in feed_forward.children():
        if isinstance(linear, nn.Linear):
            _init_linear(linear, c)
    return feed_forward


def _find_activation(c: ModelConfig) -> Callable[[Tensor], Tensor]:
    """The activation of this name, built in or registered by a plug-in."""
    activation = REGISTERED_ACTIVATIONS.find(c.activation)
    if activation is None:
        return ACTIVATIONS[c.activation]
    rows = torch.zeros(2, c.ffn)
    with explain_failures(f"activation '{c.activation}'"):
        states = activation(rows)
    if getattr(states, "shape", None) != rows.shape:
        raise ConfigError(f"activation '{c.activation}' does not return a tensor of the shape that it is called with")
    return activation


def _residuals(c: ModelConfig, count: int) -> list[Residual]:
    return [RESIDUALS[c.norm](_norm(c), c.dropout) for _ in range(count)]


def _norm(c: ModelConfig) -> nn.Module:
    return NORMS[c.norm_kind](c.dim, c.norm_epsilon)


def _final_norm(c: ModelConfig) -> nn.Module:
    """Pre-norm leaves the residual stream unnormalized, so the stack ends in a norm; post-norm already has one."""
    return _norm(c) if c.norm == "pre" else nn.Identity()


def _token_table(size: int, width: int, std: float | None = None) -> nn.Embedding:
    table = nn.Embedding(size, width)
    nn.init.normal_(table.weight, std=std or width**-0.5)  # times √D at the input: vectors of unit variance
    return table


def _scale_residual_outputs(layers: Sequence[EncoderLayer | DecoderLayer]) -> None:
    """Divide what every branch of a stack adds by the root of their number.  Radford et al. 2019, section 2.3."""
    attentions = [part for layer in layers for part in layer.children() if isinstance(part, Attention)]
    outputs = [attention.out_proj for attention in attentions] + [layer.feed_forward.down for layer in layers]
    with torch.no_grad():
        for linear in outputs:
            linear.weight.div_(math.sqrt(len(outputs)))  # type: ignore[union-attr, operator]


def _init_linear(linear: nn.Linear, c: ModelConfig) -> None:
    INITS[c.init](linear.weight, c.dim)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)
