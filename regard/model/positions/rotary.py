"""Rotary position embeddings: queries and keys are rotated by their positions; scores depend on the difference."""

import math

import torch
from torch import Tensor

from regard.model.positions.base import Positions


class Rotary(Positions):
    """Pairs of dimensions rotated by angles p / base^(2t/K).  Su et al. 2021.

    Interleaved: dimensions 2t and 2t+1 are a pair, as published. Halves: t and t + K/2, as in LLaMA; the same but for
    a permutation of the weights of queries and keys. Of a head's K dimensions the first `width` are rotated.
    """

    def __init__(self, width: int, base: float = 10_000.0, interleaved: bool = False):
        super().__init__()
        self.rotary_dim = width
        self.base = base
        self.interleaved = interleaved
        even = torch.arange(0, width, 2, dtype=torch.float64)
        self.inv_freq = torch.exp(even * (-math.log(base) / width))  # (width/2,); no buffer: it stays float64

    def rotate(self, q: Tensor, position_ids: Tensor) -> Tensor:
        device = "cpu" if q.device.type == "mps" else q.device  # which has no float64
        angle = position_ids[:, None, :, None].to(device).double() * self.inv_freq.to(device)  # (B or 1, 1, T, width/2)
        cos, sin = angle.cos().to(q), angle.sin().to(q)
        q_rot, q_pass = q[..., : self.rotary_dim], q[..., self.rotary_dim :]
        x1, x2 = (q_rot[..., ::2], q_rot[..., 1::2]) if self.interleaved else q_rot.chunk(2, dim=-1)
        pair = (x1 * cos - x2 * sin, x1 * sin + x2 * cos)
        rotated = torch.stack(pair, dim=-1).flatten(-2) if self.interleaved else torch.cat(pair, dim=-1)
        return torch.cat((rotated, q_pass), dim=-1) if q_pass.shape[-1] else rotated
