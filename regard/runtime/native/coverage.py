"""Which models and searches native code covers; torch does the others."""

import torch
import torch.nn.functional as F
from torch import nn

from regard.decode import BeamSearch, GreedySearch, Search
from regard.model.attention import Attention
from regard.model.layers import DecoderLayer, EncoderLayer, FeedForward, LayerNorm, PostNorm, PreNorm, Residual
from regard.model.positions import (
    ALiBi,
    Concatenated,
    Learned,
    LearnedBias,
    Positions,
    Rotary,
    SelectedHeads,
    Sinusoidal,
    T5Bias,
)
from regard.model.transformer import EncoderDecoder, TransformerStack
from regard.model.variants import GatedFeedForward, RMSNorm, gelu_tanh
from regard.runtime.attention import computes_softmax

ACTIVATIONS = {F.relu: 0, F.gelu: 1, gelu_tanh: 2, F.silu: 3}
SWIGLU = 4
NORMS = {nn.Identity: 0, LayerNorm: 1, RMSNorm: 2}
EMBEDDING_POSITIONS = (Positions, Sinusoidal, Learned, Concatenated)
ATTENTION_POSITIONS = (Positions, Rotary, ALiBi, T5Bias, LearnedBias)
MAX_BEAM = 1024


def uncovered(model: nn.Module) -> str:
    """What of a model native code has not, in a few words; "" if it has everything."""
    if not isinstance(model, EncoderDecoder):
        return "an architecture without an encoder and a decoder"
    for stack in (model.encoder, model.decoder):
        embedding = stack.embedding
        if type(embedding.positions) not in EMBEDDING_POSITIONS:
            return f"positions of the class {type(embedding.positions).__name__}"
        for norm in (embedding.norm, stack.norm):
            if type(norm) not in NORMS:
                return f"a norm of the class {type(norm).__name__}"
        if reason := next(filter(None, map(_uncovered_part, stack.layers.modules())), ""):
            return reason
        if reason := _uncovered_layers(stack):
            return reason
    if any(p.dtype != torch.float32 or p.device.type != "cpu" for p in model.parameters()):
        return "weights that are not float32 on a CPU"
    if not all(bool(p.isfinite().all()) for p in model.parameters()):
        return "weights that are not finite"
    return ""


def covers_search(search: Search) -> bool:
    """Greedy and beam search themselves, and no search that builds on them."""
    return type(search) is GreedySearch or (type(search) is BeamSearch and search.size <= MAX_BEAM)


def _uncovered_layers(stack: TransformerStack) -> str:
    for layer in stack.layers:
        if type(layer) not in (EncoderLayer, DecoderLayer):
            return f"a layer of the class {type(layer).__name__}"
        if isinstance(layer, DecoderLayer) and type(layer.cross_attn.positions) is not Positions:
            return "positions in cross-attention"
    return ""


def _uncovered_part(module: nn.Module) -> str:
    """What is not covered of a module inside a layer."""
    if isinstance(module, Residual):
        if type(module) not in (PreNorm, PostNorm) or type(module.norm) not in NORMS:
            return f"a residual of the class {type(module).__name__}"
    elif isinstance(module, Attention):
        positions = module.positions.scheme if type(module.positions) is SelectedHeads else module.positions
        if type(positions) not in ATTENTION_POSITIONS:
            return f"positions of the class {type(positions).__name__}"
        if not computes_softmax(module):
            return "attention without a softmax"
        if not (isinstance(module.q_norm, nn.Identity) and isinstance(module.k_norm, nn.Identity)):
            return "norms of queries and keys"
    elif isinstance(module, FeedForward) and module.activation not in ACTIVATIONS:
        return "an activation of a plug-in"
    elif isinstance(module, EncoderLayer | DecoderLayer) and not isinstance(
        module.feed_forward, FeedForward | GatedFeedForward
    ):
        return f"a feed-forward layer of the class {type(module.feed_forward).__name__}"
    return ""
