"""A trained model written for CTranslate2, the engine that ships.

Every part of ours has its place there, or is refused with the reason. Tables of positions are written out in full, for
CTranslate2 takes a missing one to mean its own sinusoid.
"""

from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import Config
from regard.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, Tokenizers
from regard.errors import ConfigError, ModelError
from regard.interchange.trained import Trained
from regard.model import weights
from regard.model.attention import Attention, masked_softmax
from regard.model.build import build
from regard.model.layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    PreNorm,
    RMSNorm,
    gelu_tanh,
)
from regard.model.positions import Absolute, ALiBi, LearnedBias, Positions, Relative, Rotary, T5Bias
from regard.model.transformer import Decoder, EncoderDecoder, TransformerStack

PLACES = 1024
"""The longest sequence for which positions are written out, unless more are asked for."""
ACTIVATIONS = {F.relu: "RELU", F.gelu: "GELU", gelu_tanh: "GELUTanh", F.silu: "SWISH"}
NEVER = -1e9
"""Added to what may never be said."""


def library() -> Any:
    """CTranslate2 itself, which is an extra."""
    try:
        import ctranslate2
    except ImportError:
        raise ConfigError("CTranslate2 is not installed; install it with `pip install 'regard[ctranslate2]'`") from None
    return ctranslate2


def write(trained: Trained, out: Path, quantize: str = "none") -> None:
    """A CTranslate2 folder, in float32 or int8, or the reason why the engine cannot run this model."""
    c, tokenizers = trained.config, trained.tokenizers
    model = build(c.model, tokenizers.source.vocab_size, tokenizers.target.vocab_size, joint=tokenizers.joint, pad=PAD)
    weights.load_into(model, trained.tensors, str(out))
    write_model(model.eval(), tokenizers, out, quantize, places_for(c))


def places_for(c: Config) -> int:
    """Room for the longest line that is translated in one piece, and for what it may become."""
    return max(PLACES, 4 * c.data.max_length)


def write_model(
    model: EncoderDecoder, tokenizers: Tokenizers, folder: Path, quantize: str = "none", places: int = PLACES
) -> None:
    """The model as a CTranslate2 folder, in float32 or int8, for sequences of at most so many places."""
    spec = specification(model, tokenizers, places)
    spec.validate()
    spec.optimize(quantization=None if quantize == "none" else quantize)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def specification(model: EncoderDecoder, tokenizers: Tokenizers, places: int) -> Any:
    """The model in CTranslate2's words."""
    specs = library().specs.transformer_spec
    model = model.float().cpu()
    encoder = specs.TransformerEncoderSpec(**_shape(model.encoder), **_scheme(model.encoder, "encoder"))
    decoder = specs.TransformerDecoderSpec(**_shape(model.decoder), **_scheme(model.decoder, "decoder"))
    spec = specs.TransformerSpec(encoder, decoder)
    _fill_stack(encoder, model.encoder, encoder.embeddings[0], places)
    _fill_stack(decoder, model.decoder, decoder.embeddings, places)
    decoder.projection.weight = _numbers(model.output.weight)
    bias = torch.zeros(len(model.output.weight)) if model.output.bias is None else model.output.bias.detach().clone()
    bias[[PAD, BOS]] = NEVER
    decoder.projection.bias = _numbers(bias)
    spec.config.layer_norm_epsilon = _norm_of(model.encoder).epsilon
    spec.config.add_source_bos = spec.config.add_source_eos = False  # we put the end there ourselves
    names = words(tokenizers.target)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = names[BOS], names[EOS], names[UNK]
    spec.config.decoder_start_token = names[BOS]
    spec.register_source_vocabulary(words(tokenizers.source))
    spec.register_target_vocabulary(names)
    return spec


def words(tokenizer: Tokenizer) -> list[str]:
    """Every piece, by its id."""
    return tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))


def _layers(stack: TransformerStack | Decoder) -> list[Any]:
    return list(stack.layers)


def _norm_of(stack: TransformerStack | Decoder) -> Any:
    return _layers(stack)[0].around_self.norm


def _shape(stack: TransformerStack | Decoder) -> dict[str, Any]:
    first = _layers(stack)[0]
    gated = isinstance(first.feed, GatedFeedForward)
    attentions = [layer.self for layer in _layers(stack)] + [
        getattr(layer, "cross", layer.self) for layer in _layers(stack)
    ]
    if any(attention.weigh is not masked_softmax for attention in attentions):
        raise ModelError("model.attention: CTranslate2 knows softmax alone, and cannot run this model")
    if any(
        attention.numbers != tuple(range(first.self.out.out_features // attention.width)) for attention in attentions
    ):
        raise ModelError("model.pruned: CTranslate2 wants as many heads in all layers; translate with --engine torch")
    return {
        "num_layers": len(_layers(stack)),
        "num_heads": first.self.heads,
        "pre_norm": isinstance(first.around_self, PreNorm),
        "activation": getattr(library().specs.Activation, "SWISH" if gated else ACTIVATIONS[first.feed.activation]),
        "ffn_glu": gated,
        "rms_norm": isinstance(first.around_self.norm, RMSNorm),
        "layernorm_embedding": isinstance(stack.embedding.norm, LayerNorm | RMSNorm),
    }


def _scheme(stack: TransformerStack | Decoder, side: str) -> dict[str, Any]:
    """What a side's positions in attention are called there."""
    positions = _layers(stack)[0].self.positions
    if isinstance(positions, Rotary):
        turned, interleaved = positions.rotary_dim, positions.interleaved
        return {"rotary_dim": turned, "rotary_interleave": interleaved, "rotary_base": positions.base}
    if isinstance(positions, ALiBi):
        if side == "encoder":
            raise ModelError(
                "model.positions.kind=alibi in the encoder: CTranslate2 has it in decoders alone. An encoder there may "
                "have none, sinusoidal, learned, concatenated, relative, bias, t5 or rotary."
            )
        return {"alibi": True}
    if isinstance(positions, Relative):
        return {"relative_position": True}
    return {"relative_attention_bias": True} if isinstance(positions, T5Bias | LearnedBias) else {}


def _fill_stack(spec: Any, stack: TransformerStack | Decoder, embeddings: Any, places: int) -> None:
    embedding = stack.embedding
    beside = embedding.positions.width
    words = F.pad(embedding.tokens.weight, (0, beside))
    embeddings.weight = _numbers(words * (embedding.scale / words.shape[1] ** 0.5))  # √D is multiplied there
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = _numbers(_table(embedding.positions, words.shape[1], places))
    if isinstance(embedding.norm, LayerNorm | RMSNorm):
        _fill_norm(spec.layernorm_embedding, embedding.norm)
    if isinstance(stack.norm, LayerNorm | RMSNorm):
        _fill_norm(spec.layer_norm, stack.norm)
    for to, layer in zip(spec.layer, _layers(stack), strict=True):
        _fill_layer(to, layer)


def _table(positions: Positions, dim: int, places: int) -> Tensor:
    """What is added to a word at each place (places, D)."""
    at = torch.arange(min(places, positions.limit))
    if not isinstance(positions, Absolute):
        return torch.zeros(len(at), dim)
    return positions.embed(torch.zeros(1, len(at), dim - positions.width), at[None])[0]


def _fill_layer(to: Any, layer: EncoderLayer | DecoderLayer) -> None:
    own = layer.self_attn
    _fill_norm(to.self_attention.layer_norm, layer.self_attn_residual.norm)
    _fill_linear(to.self_attention.linear[0], own.q_proj, own.k_proj, own.v_proj)
    _fill_linear(to.self_attention.linear[1], own.out_proj)
    _fill_positions(to.self_attention, own.positions, causal=isinstance(layer, DecoderLayer))
    if isinstance(layer, DecoderLayer):
        cross: Attention = layer.cross_attn
        _fill_norm(to.attention.layer_norm, layer.cross_attn_residual.norm)
        _fill_linear(to.attention.linear[0], cross.q_proj)
        _fill_linear(to.attention.linear[1], cross.k_proj, cross.v_proj)
        _fill_linear(to.attention.linear[2], cross.out_proj)
    _fill_norm(to.ffn.layer_norm, layer.feed_forward_residual.norm)
    if isinstance(layer.feed_forward, GatedFeedForward):
        _fill_linear(to.ffn.linear_0, layer.feed_forward.gate)
        _fill_linear(to.ffn.linear_0_noact, layer.feed_forward.up)
    else:
        assert isinstance(layer.feed_forward, FeedForward)
        _fill_linear(to.ffn.linear_0, layer.feed_forward.up)
    _fill_linear(to.ffn.linear_1, layer.feed_forward.down)


def _fill_positions(to: Any, positions: Positions, causal: bool) -> None:
    if isinstance(positions, Relative):
        keys = positions.keys
        to.relative_position_keys = _numbers(keys)
        to.relative_position_values = _numbers(torch.zeros_like(keys) if positions.values is None else positions.values)
    if isinstance(positions, T5Bias):
        to.relative_attention_bias = _numbers(positions.table)
        to.relative_attention_max_distance = _whole(positions.max_distance)
    if isinstance(positions, LearnedBias):
        # As T5's buckets, so many of them that each distance has its own.
        to.relative_attention_bias = _numbers(_buckets(positions, causal))
        to.relative_attention_max_distance = _whole(4 * positions.limit)


def _buckets(positions: LearnedBias, causal: bool) -> Tensor:
    """Learned biases (H, 2T - 1) as T5's table of buckets (buckets, H)."""
    length = positions.table.shape[1] // 2 + 1
    behind = positions.table[:, :length].flip(1)  # distances 0, -1, -2 …
    ahead = positions.table[:, length - 1 :]  # 0, 1, 2 …
    sides = (behind,) if causal else (behind, ahead)
    return torch.cat([F.pad(side, (0, length)) for side in sides], dim=1).T


def _fill_linear(to: Any, *linears: nn.Linear) -> None:
    to.weight = _numbers(torch.cat([linear.weight for linear in linears]))
    if linears[0].bias is not None:
        to.bias = _numbers(torch.cat([linear.bias for linear in linears]))


def _fill_norm(to: Any, norm: Any) -> None:
    to.gamma = _numbers(norm.gain)
    if isinstance(norm, LayerNorm):
        to.beta = _numbers(norm.bias)


def _numbers(tensor: Tensor) -> Any:
    return tensor.detach().float().contiguous().numpy()


def _whole(value: int) -> Any:
    return torch.tensor(value, dtype=torch.int32).numpy()
