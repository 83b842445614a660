"""Whether a head would repeat what it looks at: the eigenvalues of its output circuit.  Elhage et al. 2021."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.inspection.trace import AttentionSite, Model

RANDOM_HEADS = 200


def ov_copying_scores(model: Model, site: AttentionSite, joint_vocab: bool) -> list[float]:
    """Σ Re λ / Σ |λ| of W_E W_V W_O W_U by head: 1 copies what it looks at, -1 suppresses it.

    Norms are left out. NaN where an id that is read is another word than the same id written: `joint` says that both
    sides share one vocabulary, and the decoder reads what it writes.
    """
    embedding_product = _embedding_product(model, site, joint_vocab)
    if embedding_product is None:
        return [math.nan] * site.attention.heads
    scores = []
    for h in range(site.attention.heads):
        rows = slice(h * site.attention.head_dim, (h + 1) * site.attention.head_dim)
        value, out = site.attention.v_proj.weight[rows].double(), site.attention.out_proj.weight[:, rows].double()
        scores.append(_eigenvalue_score(value, out, embedding_product))
    return scores


def max_random_copying(model: Model, site: AttentionSite, joint_vocab: bool, seed: int = 1) -> float:
    """The most that a head with random values and outputs would score, of some hundred; the narrower, the more."""
    embedding_product = _embedding_product(model, site, joint_vocab)
    if embedding_product is None:
        return math.inf
    generator = torch.Generator().manual_seed(seed)
    shape = (site.attention.head_dim, len(embedding_product))
    random_heads = (
        (torch.randn(shape, generator=generator), torch.randn(shape, generator=generator).T)
        for _ in range(RANDOM_HEADS)
    )
    return max(
        _eigenvalue_score(value.to(embedding_product), out.to(embedding_product), embedding_product)
        for value, out in random_heads
    )


def _embedding_product(model: Model, site: AttentionSite, joint_vocab: bool) -> Tensor | None:
    """W_U W_E as rows of vectors see it (D, D): how alike the words that are read are to those that are written."""
    stack = getattr(model, "encoder" if site.kind in ("encoder", "cross") else "decoder")
    embedding, unembedding = stack.embedding.words.weight.detach().double(), model.output.weight.detach().double()
    embedding = F.pad(
        embedding, (0, unembedding.shape[1] - embedding.shape[1])
    )  # where places stand beside words, words say nothing
    shared = (joint_vocab or site.kind == "decoder") and len(embedding) == len(unembedding)
    return unembedding.T @ embedding if shared else None


def _eigenvalue_score(value: Tensor, out: Tensor, embedding_product: Tensor) -> float:
    """By the small product (K, K), whose eigenvalues are those of the large one but for zeros."""
    eigenvalues = torch.linalg.eigvals(value.detach() @ embedding_product.T @ out.detach())
    return float(eigenvalues.real.sum() / eigenvalues.abs().sum().clamp(min=1e-30))
