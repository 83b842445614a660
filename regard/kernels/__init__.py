"""Operations with gradients of their own, where autograd would keep, copy or draw more than it needs to; and others
that a CPU does faster in another way.

Each equals a line of plain PyTorch, which its docstring says and its test compares.
"""

from regard.kernels.attention import attend_kept, hide
from regard.kernels.cross_entropy import CHUNK, chunked_cross_entropy
from regard.kernels.dropout import Noise, Silence
from regard.kernels.feed_forward import feed_relu
from regard.kernels.int8 import int8
from regard.kernels.padding import Layout, gather, spread
from regard.kernels.topk import largest

__all__ = [
    "CHUNK",
    "Layout",
    "Noise",
    "Silence",
    "attend_kept",
    "chunked_cross_entropy",
    "feed_relu",
    "gather",
    "hide",
    "int8",
    "largest",
    "spread",
]
