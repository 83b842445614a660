"""Operations with gradients of their own, where autograd would save, copy or draw more than needed; and others
that a CPU does faster in another way.

Each equals a line of plain PyTorch, which its docstring says and its test compares.
"""

from regard.kernels.attention import attention_saved_weights, to_additive_mask
from regard.kernels.cross_entropy import CHUNK, chunked_cross_entropy
from regard.kernels.dropout import FastDropout, NoDropout
from regard.kernels.feed_forward import feed_forward_relu
from regard.kernels.gather import GatheredRows, gather_rows, keep_rows
from regard.kernels.int8 import int8_linear
from regard.kernels.padding import PaddingLayout, pack_heads, unpack_heads
from regard.kernels.topk import topk

__all__ = [
    "CHUNK",
    "FastDropout",
    "GatheredRows",
    "NoDropout",
    "PaddingLayout",
    "attention_saved_weights",
    "chunked_cross_entropy",
    "feed_forward_relu",
    "gather_rows",
    "int8_linear",
    "keep_rows",
    "pack_heads",
    "to_additive_mask",
    "topk",
    "unpack_heads",
]
