"""From settings to a model. Nothing else in this room reads the config."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig, PositionsConfig
from regard.model.attention import Attention, normalise, select
from regard.model.layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    PostNorm,
    PreNorm,
    RMSNorm,
    gelu_tanh,
)
from regard.model.positions import Chosen, Positions
from regard.model.positions.build import SCHEMES, Shape
from regard.model.transformer import (
    Decoder,
    DecoderOnly,
    Embedding,
    EncoderDecoder,
    EncoderOnly,
    First,
    Pooler,
    Projection,
    Stack,
    TokenTypes,
    Types,
)

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": gelu_tanh,
    "silu": F.silu,
}
NORMS = {"layer": LayerNorm, "rms": RMSNorm}
WEIGHINGS = {"softmax": normalise, "argmax": select}
RESIDUALS = {"pre": PreNorm, "post": PostNorm}


def build(c: ModelConfig, source_size: int, target_size: int, joint: bool, pad: int) -> EncoderDecoder:
    """A fresh model for vocabularies of the given sizes; `joint` means that both sides share one."""
    source_positions = c.encoder.positions or c.positions
    target_positions = c.decoder.positions or c.positions
    at_source = SCHEMES[source_positions.kind].embedding(_shape(c, causal=False), source_positions)
    at_target = SCHEMES[target_positions.kind].embedding(_shape(c, causal=True), target_positions)
    of_source = _in_attention(c, source_positions, causal=False)
    of_target = _in_attention(c, target_positions, causal=True)
    target_words = _words(target_size, c.dim - at_target.width)
    share = c.tie and joint and at_source.width == at_target.width
    source_words = target_words if share else _words(source_size, c.dim - at_source.width)
    encoder = Stack(
        _embedding(c, source_words, at_source),
        [_encoder_layer(c, of_source(), f"encoder.{i}") for i in range(c.depth("encoder"))],
        _last_norm(c),
    )
    decoder = Decoder(
        _embedding(c, target_words, at_target),
        [_decoder_layer(c, of_target(), f"decoder.{i}") for i in range(c.depth("decoder"))],
        _last_norm(c),
    )
    tied = c.tie and not at_target.width
    table = target_words.weight if tied else _words(target_size, c.dim).weight
    return EncoderDecoder(encoder, decoder, Projection(table, c.output_bias), pad)


def build_encoder(c: ModelConfig, size: int, pad: int) -> EncoderOnly:
    """A fresh encoder for a vocabulary of this size."""
    return EncoderOnly(*_alone(c, size, causal=False), pad, Pooler(c.dim) if c.pooler else First())


def build_decoder(c: ModelConfig, size: int, pad: int) -> DecoderOnly:
    """A fresh language model for a vocabulary of this size."""
    return DecoderOnly(*_alone(c, size, causal=True), pad)


def _alone(c: ModelConfig, size: int, causal: bool) -> tuple[Stack, Projection]:
    """A stack of its own, and the projection onto its vocabulary."""
    side = (c.decoder if causal else c.encoder).positions or c.positions
    name = "decoder" if causal else "encoder"
    at, inside = SCHEMES[side.kind].embedding(_shape(c, causal), side), _in_attention(c, side, causal)
    words = _words(size, c.dim - at.width)
    table = words.weight if c.tie and not at.width else _words(size, c.dim).weight
    layers = [_encoder_layer(c, inside(), f"{name}.{i}") for i in range(c.depth(name))]
    stack = Stack(_embedding(c, words, at), layers, _last_norm(c))
    return stack, Projection(table, c.output_bias)


def _embedding(c: ModelConfig, words: nn.Embedding, positions: Positions) -> Embedding:
    types = TokenTypes(c.token_types, c.dim) if c.token_types else Types()
    norm = _norm(c) if c.embedding_norm else nn.Identity()
    return Embedding(words, positions, c.dropout, c.word_dropout, c.scale_words, types, norm)


def _encoder_layer(c: ModelConfig, positions: Positions, name: str) -> EncoderLayer:
    return EncoderLayer(_attention(c, positions, f"{name}.self"), _feed_forward(c), lambda: _residual(c))


def _decoder_layer(c: ModelConfig, positions: Positions, name: str) -> DecoderLayer:
    cross = _attention(c, Positions(), f"{name}.cross")  # source and target places are not on one axis
    return DecoderLayer(_attention(c, positions, f"{name}.self"), cross, _feed_forward(c), lambda: _residual(c))


def _in_attention(c: ModelConfig, positions: PositionsConfig, causal: bool) -> Callable[[], Positions]:
    """The positions of each layer's self-attention: new ones every time, or the same for all layers of a stack."""
    scheme, shape = SCHEMES[positions.kind], _shape(c, causal)
    if not scheme.shared:
        return lambda: scheme.attention(shape, positions)
    one = scheme.attention(shape, positions)
    return lambda: one


def _attention(c: ModelConfig, positions: Positions, name: str) -> Attention:
    left = c.left(name)
    if positions.by_head and len(left) < c.heads:
        positions = Chosen(positions, left)
    attention = Attention(c.dim, c.heads, positions, c.bias, c.attention_dropout, WEIGHINGS[c.attention], left)
    for linear in (attention.q, attention.k, attention.v, attention.out):
        _start(linear)
    return attention


def _feed_forward(c: ModelConfig) -> nn.Module:
    feed: nn.Module
    if c.activation == "swiglu":
        feed = GatedFeedForward(c.dim, c.ffn, c.bias, c.activation_dropout)
    else:
        feed = FeedForward(c.dim, c.ffn, ACTIVATIONS[c.activation], c.bias, c.activation_dropout)
    for linear in feed.children():
        if isinstance(linear, nn.Linear):
            _start(linear)
    return feed


def _residual(c: ModelConfig) -> nn.Module:
    return RESIDUALS[c.norm](_norm(c), c.dropout)


def _norm(c: ModelConfig) -> nn.Module:
    return NORMS[c.norm_kind](c.dim, c.norm_epsilon)


def _last_norm(c: ModelConfig) -> nn.Module:
    """Pre-norm leaves the stream as it is, so the stack ends in a norm; post-norm has had its last one."""
    return _norm(c) if c.norm == "pre" else nn.Identity()


def _words(size: int, width: int) -> nn.Embedding:
    words = nn.Embedding(size, width)
    nn.init.normal_(words.weight, std=width**-0.5)  # times √D at the input: vectors of unit variance
    return words


def _start(linear: nn.Linear) -> None:
    nn.init.xavier_uniform_(linear.weight)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)


def _shape(c: ModelConfig, causal: bool) -> Shape:
    return Shape(c.dim, c.heads, causal)
