"""Attention by kernels that are faster than the equation. Whether one may stand in for it is decided here alone."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from regard.kernels import attention_saved_weights, to_additive_mask
from regard.model.attention import Attention, AttentionTaps, KeyValues, attend
from regard.model.positions import Positions

MIN_UNFUSED_ROWS = 8  # rows from which plain products decode faster than the fused kernel, made for many queries


class AttentionMask(NamedTuple):
    """A mask (True = may attend), and the same as numbers to add to scores; None: every key."""

    attn_mask: Tensor | None = None
    additive_mask: Tensor | None = None

    @staticmethod
    def of(attn_mask: Tensor, like: Tensor) -> "AttentionMask":
        return AttentionMask(attn_mask, to_additive_mask(attn_mask, like))

    @staticmethod
    def if_needed(attn_mask: Tensor, like: Tensor) -> "AttentionMask":
        """No mask where it would hide nothing; finding out costs a synchronization with the device."""
        return AttentionMask() if bool(attn_mask.all()) else AttentionMask.of(attn_mask, like)


def fused_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    taps: AttentionTaps = AttentionTaps(),
) -> tuple[Tensor, Tensor | None]:
    """`attend` in one kernel that never writes its weights down; the equation itself where a tap is hooked."""
    if taps.scores.is_hooked or taps.weights.is_hooked:
        return attend(q, k, v, attn_mask, bias, dropout, taps)
    mask = attn_mask
    if bias is not None:
        mask = bias if attn_mask is None else bias.masked_fill(~attn_mask, -math.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout), None


PrepareFunction = Callable[[Tensor, Tensor], Tensor]
"""Projected queries or keys (B, H, T, K) and their positions -> as they are matched: normalized, rotated."""


def prepare_function(norm: nn.Module, positions: Positions) -> PrepareFunction:
    """Looked up once, as the decoder calls it at every step: without a norm, the rotation alone."""
    if isinstance(norm, nn.Identity):
        return positions.rotate
    return lambda x, position_ids: positions.rotate(norm(x), position_ids)


def computes_softmax(attention: Attention) -> bool:
    """Whether it computes the equation, by itself or by the fused kernel, and not another function."""
    return attention.attend in (attend, fused_attention)


def use_fused_attention(model: nn.Module) -> None:
    """Hand the fused kernel to every attention that computes the equation and lets no scheme see its weights."""
    for module in model.modules():
        if isinstance(module, Attention) and module.attend is attend and not module.positions.adds_to_values:
            module.attend = fused_attention


def attend_heads(
    attention: Attention,
    q: Tensor,
    kv: KeyValues,
    mask: AttentionMask,
    position_ids: Tensor,
    save_weights: bool,
) -> Tensor:
    """`Attention.attend_heads` by the fastest kernel; `save_weights`: by plain products, whose weights may be saved."""
    if not _replaceable(attention):
        return attention.attend_heads(q, kv, mask.attn_mask, position_ids)
    bias = attention.positions.bias(q, position_ids, kv.position_ids)
    dropout = attention.dropout if attention.training else 0.0
    if save_weights and not dropout:
        return attention.head_outputs(attention_saved_weights(q, kv.k, kv.v, mask.additive_mask, bias))
    return attention.head_outputs(fused_attention(q, kv.k, kv.v, mask.attn_mask, bias, dropout)[0])


def decode_heads(attention: Attention, q: Tensor, kv: KeyValues, mask: AttentionMask, position_ids: Tensor) -> Tensor:
    """`attend_heads` for the few queries of a decoding step."""
    save_weights = len(q) >= MIN_UNFUSED_ROWS and q.device.type == "cpu"
    return attend_heads(attention, q, kv, mask, position_ids, save_weights)


def prefill_heads(attention: Attention, q: Tensor, kv: KeyValues, mask: AttentionMask, position_ids: Tensor) -> Tensor:
    """`attend_heads` for the many queries of a prompt, whose weights need not be written down."""
    return attend_heads(attention, q, kv, mask, position_ids, save_weights=False)


def _replaceable(attention: Attention) -> bool:
    """Whether the weights are needed by no tap, no position scheme and no other way to compute them."""
    hooked = attention.scores.is_hooked or attention.weights.is_hooked
    return not (hooked or attention.positions.adds_to_values) and computes_softmax(attention)
