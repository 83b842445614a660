"""From settings to a model. Nothing else in this room reads the config."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig, PositionsConfig
from regard.model.attention import Attention, hard_attention, masked_softmax
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
from regard.model.positions import Positions, SelectedHeads
from regard.model.positions.build import SCHEMES, Shape
from regard.model.transformer import (
    Decoder,
    DecoderOnly,
    EncoderDecoder,
    EncoderOnly,
    FirstTokenPooling,
    NoTokenTypes,
    Pooler,
    Projection,
    TokenEmbedding,
    TokenTypes,
    TransformerStack,
)

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": gelu_tanh,
    "silu": F.silu,
}
NORMS = {"layer": LayerNorm, "rms": RMSNorm}
NORMALIZERS = {"softmax": masked_softmax, "argmax": hard_attention}
RESIDUALS = {"pre": PreNorm, "post": PostNorm}


def build(c: ModelConfig, source_size: int, target_size: int, joint: bool, pad: int) -> EncoderDecoder:
    """A fresh model for vocabularies of the given sizes; `joint` means that both sides share one."""
    source_positions = c.encoder.positions or c.positions
    target_positions = c.decoder.positions or c.positions
    source_encoding = SCHEMES[source_positions.kind].embedding(_shape(c, causal=False), source_positions)
    target_encoding = SCHEMES[target_positions.kind].embedding(_shape(c, causal=True), target_positions)
    make_source_positions = _positions_factory(c, source_positions, causal=False)
    make_target_positions = _positions_factory(c, target_positions, causal=True)
    target_table = _token_table(target_size, c.dim - target_encoding.width)
    shared = c.tie_embeddings and joint and source_encoding.width == target_encoding.width
    source_table = target_table if shared else _token_table(source_size, c.dim - source_encoding.width)
    encoder = TransformerStack(
        _embedding(c, source_table, source_encoding),
        [_encoder_layer(c, make_source_positions(), f"encoder.{i}") for i in range(c.depth("encoder"))],
        _final_norm(c),
    )
    decoder = Decoder(
        _embedding(c, target_table, target_encoding),
        [_decoder_layer(c, make_target_positions(), f"decoder.{i}") for i in range(c.depth("decoder"))],
        _final_norm(c),
    )
    tied = c.tie_embeddings and not target_encoding.width
    output_weight = target_table.weight if tied else _token_table(target_size, c.dim).weight
    return EncoderDecoder(encoder, decoder, Projection(output_weight, c.output_bias), pad)


def build_encoder(c: ModelConfig, size: int, pad: int) -> EncoderOnly:
    """A fresh encoder for a vocabulary of this size."""
    return EncoderOnly(*_build_stack(c, size, causal=False), pad, Pooler(c.dim) if c.pooler else FirstTokenPooling())


def build_decoder(c: ModelConfig, size: int, pad: int) -> DecoderOnly:
    """A fresh language model for a vocabulary of this size."""
    return DecoderOnly(*_build_stack(c, size, causal=True), pad)


def _build_stack(c: ModelConfig, size: int, causal: bool) -> tuple[TransformerStack, Projection]:
    """A stack of its own, and the projection onto its vocabulary."""
    positions = (c.decoder if causal else c.encoder).positions or c.positions
    name = "decoder" if causal else "encoder"
    encoding, make_positions = (
        SCHEMES[positions.kind].embedding(_shape(c, causal), positions),
        _positions_factory(c, positions, causal),
    )
    token_table = _token_table(size, c.dim - encoding.width)
    output_weight = token_table.weight if c.tie_embeddings and not encoding.width else _token_table(size, c.dim).weight
    layers = [_encoder_layer(c, make_positions(), f"{name}.{i}") for i in range(c.depth(name))]
    stack = TransformerStack(_embedding(c, token_table, encoding), layers, _final_norm(c))
    return stack, Projection(output_weight, c.output_bias)


def _embedding(c: ModelConfig, tokens: nn.Embedding, positions: Positions) -> TokenEmbedding:
    token_types = TokenTypes(c.token_types, c.dim) if c.token_types else NoTokenTypes()
    norm = _norm(c) if c.embedding_norm else nn.Identity()
    return TokenEmbedding(tokens, positions, c.dropout, c.word_dropout, c.scale_embeddings, token_types, norm)


def _encoder_layer(c: ModelConfig, positions: Positions, name: str) -> EncoderLayer:
    return EncoderLayer(_attention(c, positions, f"{name}.self"), _feed_forward(c), lambda: _residual(c))


def _decoder_layer(c: ModelConfig, positions: Positions, name: str) -> DecoderLayer:
    cross_attn = _attention(c, Positions(), f"{name}.cross")  # source and target places are not on one axis
    return DecoderLayer(_attention(c, positions, f"{name}.self"), cross_attn, _feed_forward(c), lambda: _residual(c))


def _positions_factory(c: ModelConfig, positions: PositionsConfig, causal: bool) -> Callable[[], Positions]:
    """The positions of each layer's self-attention: new ones every time, or the same for all layers of a stack."""
    scheme, shape = SCHEMES[positions.kind], _shape(c, causal)
    if not scheme.shared:
        return lambda: scheme.attention(shape, positions)
    shared = scheme.attention(shape, positions)
    return lambda: shared


def _attention(c: ModelConfig, positions: Positions, name: str) -> Attention:
    kept_heads = c.kept_heads(name)
    if positions.by_head and len(kept_heads) < c.heads:
        positions = SelectedHeads(positions, kept_heads)
    attention = Attention(c.dim, c.heads, positions, c.bias, c.attention_dropout, NORMALIZERS[c.attention], kept_heads)
    for linear in (attention.q_proj, attention.k_proj, attention.v_proj, attention.out_proj):
        _init_linear(linear)
    return attention


def _feed_forward(c: ModelConfig) -> nn.Module:
    feed_forward: nn.Module
    if c.activation == "swiglu":
        feed_forward = GatedFeedForward(c.dim, c.ffn, c.bias, c.activation_dropout)
    else:
        feed_forward = FeedForward(c.dim, c.ffn, ACTIVATIONS[c.activation], c.bias, c.activation_dropout)
    for linear in feed_forward.children():
        if isinstance(linear, nn.Linear):
            _init_linear(linear)
    return feed_forward


def _residual(c: ModelConfig) -> nn.Module:
    return RESIDUALS[c.norm](_norm(c), c.dropout)


def _norm(c: ModelConfig) -> nn.Module:
    return NORMS[c.norm_kind](c.dim, c.norm_epsilon)


def _final_norm(c: ModelConfig) -> nn.Module:
    """Pre-norm leaves the stream as it is, so the stack ends in a norm; post-norm has had its last one."""
    return _norm(c) if c.norm == "pre" else nn.Identity()


def _token_table(size: int, width: int) -> nn.Embedding:
    table = nn.Embedding(size, width)
    nn.init.normal_(table.weight, std=width**-0.5)  # times √D at the input: vectors of unit variance
    return table


def _init_linear(linear: nn.Linear) -> None:
    nn.init.xavier_uniform_(linear.weight)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)


def _shape(c: ModelConfig, causal: bool) -> Shape:
    return Shape(c.dim, c.heads, causal)
