"""A trained model written for CTranslate2, an inference engine for CPUs.

Every part of a model has its counterpart in CTranslate2, or is refused with the reason. Position tables are written
out in full, since CTranslate2 takes a missing one to mean its own sinusoid.
"""

import re
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import Config
from regard.data.shortlist import Shortlist
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, Tokenizers
from regard.errors import ConfigError, ModelError
from regard.interchange.trained import TrainedTranslator
from regard.model import weights
from regard.model.attention import Attention
from regard.model.build import build
from regard.model.layers import DecoderLayer, EncoderLayer, FeedForward, LayerNorm, PreNorm
from regard.model.positions import (
    Absolute,
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
from regard.model.transformer import EncoderDecoder, TransformerStack
from regard.model.variants import GatedFeedForward, RMSNorm, gelu_tanh
from regard.runtime.attention import computes_softmax

MAX_POSITIONS = 1024
"""The default length of the position tables that are written out."""
ACTIVATIONS = {F.relu: "RELU", F.gelu: "GELU", gelu_tanh: "GELUTanh", F.silu: "SWISH"}
SCHEMES = (Positions, Sinusoidal, Learned, Concatenated, Relative, LearnedBias, T5Bias, ALiBi, Rotary)
FORBIDDEN_LOGIT = -1e9
"""The bias of tokens that are never generated."""
VOCABULARY_MAP = "vmap.txt"
SEPARATORS = re.compile("[ \\t\\r\\n]")


def import_ctranslate2() -> Any:
    """The CTranslate2 library, which is an optional extra."""
    try:
        import ctranslate2
    except ImportError:
        raise ConfigError(
            "CTranslate2 is not installed; in Regard's source folder: pip install '.[ctranslate2]'"
        ) from None
    return ctranslate2


def write(trained: TrainedTranslator, out: Path, quantize: str = "none") -> None:
    """Fill a CTranslate2 folder, in float32 or int8, or raise with the reason why the engine cannot run this model."""
    config, tokenizers = trained.config, trained.tokenizers
    model = build(
        config.model, tokenizers.source.vocab_size, tokenizers.target.vocab_size, joint=tokenizers.joint, pad=PAD
    )
    weights.load_into(model, trained.tensors, str(out))
    write_model(model.eval(), tokenizers, out, quantize, max_positions_for(config))


def max_positions_for(config: Config) -> int:
    """Positions for the longest line that is translated without being split, and for its translation."""
    return max(MAX_POSITIONS, 4 * config.data.max_length)


def write_model(
    model: EncoderDecoder,
    tokenizers: Tokenizers,
    folder: Path,
    quantize: str = "none",
    max_positions: int = MAX_POSITIONS,
) -> None:
    """The model as a CTranslate2 folder, in float32 or int8, for sequences of at most `max_positions` tokens."""
    spec = build_spec(model, tokenizers, max_positions)
    spec.validate()
    spec.optimize(quantization=None if quantize == "none" else quantize)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def write_vocabulary_map(shortlist: Shortlist, tokenizers: Tokenizers, folder: Path) -> None:
    """A shortlist as the vocabulary map of a CTranslate2 folder: a source token, a tab, its target tokens.

    The line without a source token has those of every sentence. A token that has one of the format's own separators in
    it, as an imported vocabulary may, is left out where it is a source token.
    """
    source, target = (vocabulary_tokens(side) for side in (tokenizers.source, tokenizers.target))
    if separated := [name for name in target if SEPARATORS.search(name)]:
        raise ModelError(f"CTranslate2's vocabulary maps cannot hold the token {separated[0]!a:.80}")
    lines = ["\t" + " ".join(target[i] for i in shortlist.always)]
    for token, name in enumerate(source):
        if len(shortlist[token]) and not SEPARATORS.search(name):
            lines.append(f"{name}\t" + " ".join(target[i] for i in shortlist[token]))
    (folder / VOCABULARY_MAP).write_bytes("".join(line + "\n" for line in lines).encode())


def build_spec(model: EncoderDecoder, tokenizers: Tokenizers, max_positions: int) -> Any:
    """The model as a CTranslate2 specification."""
    specs = import_ctranslate2().specs.transformer_spec
    model = model.float().cpu()
    encoder = specs.TransformerEncoderSpec(
        **_stack_options(model.encoder), **_position_options(model.encoder, "encoder")
    )
    decoder = specs.TransformerDecoderSpec(
        **_stack_options(model.decoder), **_position_options(model.decoder, "decoder")
    )
    spec = specs.TransformerSpec(encoder, decoder)
    _fill_stack(encoder, model.encoder, encoder.embeddings[0], max_positions)
    _fill_stack(decoder, model.decoder, decoder.embeddings, max_positions)
    decoder.projection.weight = _to_numpy(model.output.weight)
    bias = torch.zeros(len(model.output.weight)) if model.output.bias is None else model.output.bias.detach().clone()
    bias[[PAD, BOS]] = FORBIDDEN_LOGIT
    decoder.projection.bias = _to_numpy(bias)
    spec.config.layer_norm_epsilon = _first_norm(model.encoder).epsilon
    spec.config.add_source_bos = spec.config.add_source_eos = False  # Regard appends EOS itself
    target_tokens = vocabulary_tokens(tokenizers.target)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = (
        target_tokens[BOS],
        target_tokens[EOS],
        target_tokens[UNK],
    )
    spec.config.decoder_start_token = target_tokens[BOS]
    spec.register_source_vocabulary(vocabulary_tokens(tokenizers.source))
    spec.register_target_vocabulary(target_tokens)
    return spec


def vocabulary_tokens(tokenizer: Tokenizer) -> list[str]:
    """Every token by its id."""
    return tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))


def _layers(stack: TransformerStack) -> list[Any]:
    return list(stack.layers)


def _first_norm(stack: TransformerStack) -> Any:
    return _layers(stack)[0].self_attn_residual.norm


def _stack_options(stack: TransformerStack) -> dict[str, Any]:
    first = _layers(stack)[0]
    gated = isinstance(first.feed_forward, GatedFeedForward)
    attentions = [module for layer in _layers(stack) for module in layer.children() if isinstance(module, Attention)]
    if not all(computes_softmax(attention) for attention in attentions):
        raise ModelError("model.attention: CTranslate2 supports only softmax; translate with --engine torch")
    if not all(isinstance(attention.q_norm, nn.Identity) for attention in attentions):
        raise ModelError(
            "model.qk_norm: CTranslate2 normalizes no queries and keys of an encoder-decoder; translate with --engine "
            "torch"
        )
    if not gated and first.feed_forward.activation not in ACTIVATIONS:
        raise ModelError(
            "model.activation: CTranslate2 has no activation of plug-ins; it supports relu, gelu, gelu-tanh, silu and "
            "swiglu. Translate with --engine torch"
        )
    num_heads = first.self_attn.out_proj.out_features // first.self_attn.head_dim
    if any(attention.head_ids != tuple(range(num_heads)) for attention in attentions):
        raise ModelError("model.pruned: CTranslate2 needs the same heads in all layers; translate with --engine torch")
    return {
        "num_layers": len(_layers(stack)),
        "num_heads": first.self_attn.heads,
        "pre_norm": isinstance(first.self_attn_residual, PreNorm),
        "activation": getattr(
            import_ctranslate2().specs.Activation, "SWISH" if gated else ACTIVATIONS[first.feed_forward.activation]
        ),
        "ffn_glu": gated,
        "rms_norm": isinstance(first.self_attn_residual.norm, RMSNorm),
        "layernorm_embedding": isinstance(stack.embedding.norm, LayerNorm | RMSNorm),
    }


def _position_options(stack: TransformerStack, side: str) -> dict[str, Any]:
    """CTranslate2's options for the positions inside a side's attention."""
    positions = _layers(stack)[0].self_attn.positions
    if not {type(positions), type(stack.embedding.positions)} <= set(SCHEMES):  # a subclass computes something else
        raise ModelError(
            "model.positions.kind: CTranslate2 has no position schemes of plug-ins; it supports the built-in ones. "
            "Translate with --engine torch"
        )
    if isinstance(positions, Rotary):
        rotary_dim, interleaved = positions.rotary_dim, positions.interleaved
        return {"rotary_dim": rotary_dim, "rotary_interleave": interleaved, "rotary_base": positions.base}
    if isinstance(positions, ALiBi):
        if side == "encoder":
            raise ModelError(
                "model.positions.kind=alibi in the encoder: CTranslate2 supports it only in decoders. Its encoders "
                "support none, sinusoidal, learned, concatenated, relative, bias, t5 and rotary."
            )
        return {"alibi": True}
    if isinstance(positions, Relative):
        return {"relative_position": True}
    return {"relative_attention_bias": True} if isinstance(positions, T5Bias | LearnedBias) else {}


def _fill_stack(spec: Any, stack: TransformerStack, embeddings: Any, max_positions: int) -> None:
    embedding = stack.embedding
    extra_width = embedding.positions.width
    embedding_weight = F.pad(embedding.tokens.weight, (0, extra_width))
    # CTranslate2 multiplies by √D.
    embeddings.weight = _to_numpy(embedding_weight * (embedding.scale / embedding_weight.shape[1] ** 0.5))
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = _to_numpy(
            _position_table(embedding.positions, embedding_weight.shape[1], max_positions)
        )
    if isinstance(embedding.norm, LayerNorm | RMSNorm):
        _fill_norm(spec.layernorm_embedding, embedding.norm)
    if isinstance(stack.norm, LayerNorm | RMSNorm):
        _fill_norm(spec.layer_norm, stack.norm)
    for layer_spec, layer in zip(spec.layer, _layers(stack), strict=True):
        _fill_layer(layer_spec, layer)


def _position_table(positions: Positions, dim: int, max_positions: int) -> Tensor:
    """What is added to a token's embedding at each position: (positions, D)."""
    position_ids = torch.arange(min(max_positions, positions.limit))
    if not isinstance(positions, Absolute):
        return torch.zeros(len(position_ids), dim)
    return positions.embed(torch.zeros(1, len(position_ids), dim - positions.width), position_ids[None])[0]


def _fill_layer(spec: Any, layer: EncoderLayer | DecoderLayer) -> None:
    self_attn = layer.self_attn
    _fill_norm(spec.self_attention.layer_norm, layer.self_attn_residual.norm)
    _fill_linear(spec.self_attention.linear[0], self_attn.q_proj, self_attn.k_proj, self_attn.v_proj)
    _fill_linear(spec.self_attention.linear[1], self_attn.out_proj)
    _fill_positions(spec.self_attention, self_attn.positions, causal=isinstance(layer, DecoderLayer))
    if isinstance(layer, DecoderLayer):
        cross_attn: Attention = layer.cross_attn
        _fill_norm(spec.attention.layer_norm, layer.cross_attn_residual.norm)
        _fill_linear(spec.attention.linear[0], cross_attn.q_proj)
        _fill_linear(spec.attention.linear[1], cross_attn.k_proj, cross_attn.v_proj)
        _fill_linear(spec.attention.linear[2], cross_attn.out_proj)
    _fill_norm(spec.ffn.layer_norm, layer.feed_forward_residual.norm)
    if isinstance(layer.feed_forward, GatedFeedForward):
        _fill_linear(spec.ffn.linear_0, layer.feed_forward.gate)
        _fill_linear(spec.ffn.linear_0_noact, layer.feed_forward.up)
    else:
        assert isinstance(layer.feed_forward, FeedForward)
        _fill_linear(spec.ffn.linear_0, layer.feed_forward.up)
    _fill_linear(spec.ffn.linear_1, layer.feed_forward.down)


def _fill_positions(spec: Any, positions: Positions, causal: bool) -> None:
    if isinstance(positions, Relative):
        keys = positions.keys
        spec.relative_position_keys = _to_numpy(keys)
        spec.relative_position_values = _to_numpy(
            torch.zeros_like(keys) if positions.values is None else positions.values
        )
    if isinstance(positions, T5Bias):
        spec.relative_attention_bias = _to_numpy(positions.table)
        spec.relative_attention_max_distance = _to_int32(positions.max_distance)
    if isinstance(positions, LearnedBias):
        # As T5's buckets, one for each distance.
        spec.relative_attention_bias = _to_numpy(_bias_buckets(positions, causal))
        spec.relative_attention_max_distance = _to_int32(4 * positions.limit)


def _bias_buckets(positions: LearnedBias, causal: bool) -> Tensor:
    """Learned biases (H, 2T - 1) as T5's table of buckets (buckets, H)."""
    length = positions.table.shape[1] // 2 + 1
    behind = positions.table[:, :length].flip(1)  # distances 0, -1, -2 …
    ahead = positions.table[:, length - 1 :]  # 0, 1, 2 …
    sides = (behind,) if causal else (behind, ahead)
    return torch.cat([F.pad(side, (0, length)) for side in sides], dim=1).T


def _fill_linear(spec: Any, *linears: nn.Linear) -> None:
    spec.weight = _to_numpy(torch.cat([linear.weight for linear in linears]))
    if linears[0].bias is not None:
        spec.bias = _to_numpy(torch.cat([linear.bias for linear in linears]))


def _fill_norm(spec: Any, norm: Any) -> None:
    spec.gamma = _to_numpy(norm.weight)
    if isinstance(norm, LayerNorm):
        spec.beta = _to_numpy(norm.bias)


def _to_numpy(tensor: Tensor) -> Any:
    return tensor.detach().float().contiguous().numpy()


def _to_int32(value: int) -> Any:
    return torch.tensor(value, dtype=torch.int32).numpy()
