"""Whether a head would repeat what it looks at: the eigenvalues of its output circuit.  Elhage et al. 2021."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.inspection.trace import Model, Site

DRAWS = 200


def ov_copying(model: Model, site: Site, joint: bool) -> list[float]:
    """Σ Re λ / Σ |λ| of W_E W_V W_O W_U by head: 1 copies what it looks at, -1 suppresses it.

    Norms are left out. NaN where an id that is read is another word than the same id written: `joint` says that both
    sides share one vocabulary, and the decoder reads what it writes.
    """
    words = _words(model, site, joint)
    if words is None:
        return [math.nan] * site.attention.heads
    found = []
    for h in range(site.attention.heads):
        rows = slice(h * site.attention.head_dim, (h + 1) * site.attention.head_dim)
        value, out = site.attention.v_proj.weight[rows].double(), site.attention.out_proj.weight[:, rows].double()
        found.append(_score(value, out, words))
    return found


def by_luck(model: Model, site: Site, joint: bool, seed: int = 1) -> float:
    """The most that a head with random values and outputs would score, of some hundred; the narrower, the more."""
    words = _words(model, site, joint)
    if words is None:
        return math.inf
    draw = torch.Generator().manual_seed(seed)
    shape = (site.attention.head_dim, len(words))
    heads = ((torch.randn(shape, generator=draw), torch.randn(shape, generator=draw).T) for _ in range(DRAWS))
    return max(_score(value.to(words), out.to(words), words) for value, out in heads)


def _words(model: Model, site: Site, joint: bool) -> Tensor | None:
    """W_U W_E as rows of vectors see it (D, D): how alike the words that are read are to those that are written."""
    stack = getattr(model, "encoder" if site.kind in ("encoder", "cross") else "decoder")
    read, written = stack.embedding.words.weight.detach().double(), model.output.weight.detach().double()
    read = F.pad(read, (0, written.shape[1] - read.shape[1]))  # where places stand beside words, words say nothing
    shared = (joint or site.kind == "decoder") and len(read) == len(written)
    return written.T @ read if shared else None


def _score(value: Tensor, out: Tensor, words: Tensor) -> float:
    """By the small product (K, K), whose eigenvalues are those of the large one but for zeros."""
    found = torch.linalg.eigvals(value.detach() @ words.T @ out.detach())
    return float(found.real.sum() / found.abs().sum().clamp(min=1e-30))
