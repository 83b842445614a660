"""Whether a head copies the tokens it attends to: eigenvalues of its OV circuit.  Elhage et al. 2021."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.inspection.trace import AttentionSite, Model

RANDOM_HEADS = 200


def ov_copying_scores(model: Model, site: AttentionSite, joint_vocab: bool) -> list[float]:
    """Σ Re λ / Σ |λ| of W_E W_V W_O W_U by head: 1 copies the tokens attended to, -1 suppresses them.

    Norms are ignored. NaN where input and output vocabularies differ: `joint_vocab` says that both sides share one;
    the decoder always reads the vocabulary that it writes.
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
    """The largest score of RANDOM_HEADS heads with random W_V and W_O; narrow heads reach more by chance."""
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
    """W_Uᵀ W_E (D, D): the similarity of output and input embeddings; None if their vocabularies differ."""
    stack = getattr(model, "encoder" if site.kind in ("encoder", "cross") else "decoder")
    embedding, unembedding = stack.embedding.tokens.weight.detach().double(), model.output.weight.detach().double()
    # With concatenated positions the token embedding is narrower than the stream.
    embedding = F.pad(embedding, (0, unembedding.shape[1] - embedding.shape[1]))
    shared = (joint_vocab or site.kind == "decoder") and len(embedding) == len(unembedding)
    return unembedding.T @ embedding if shared else None


def _eigenvalue_score(value: Tensor, out: Tensor, embedding_product: Tensor) -> float:
    """By the small product (K, K), which has the same non-zero eigenvalues as the large one (V, V)."""
    eigenvalues = torch.linalg.eigvals(value.detach() @ embedding_product.T @ out.detach())
    return float(eigenvalues.real.sum() / eigenvalues.abs().sum().clamp(min=1e-30))
