"""Position and content: an exact decomposition of attention scores before the softmax.

The inputs of query and key are split into three parts that add up: content, position, and a constant (biases and the
mean of all tokens). A norm is linear if the deviation of each token is frozen, so that it can be applied to each part.
Three parts of the query times three of the key are nine terms; the bias that a position encoding adds by distance is
the tenth.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.inspection.trace import AttentionTrace, Model, Trace, get_reading_stack, last_encoder_output_name
from regard.model.layers import LayerNorm, PreNorm
from regard.model.modules import evaluation_mode
from regard.model.positions import Positions, SelectedHeads
from regard.model.transformer import TokenEmbedding
from regard.model.variants import RMSNorm

PARTS = ("content", "position", "constant")
TERM_NAMES = ("content·content", "content·position", "position·content", "position·position", "constant", "distance")
"""The ten terms, grouped: the five with a constant are one; with rotary positions constant·constant joins distance."""
MASKED_SCORE_DIVISOR = 8  # scores below the lowest number divided by this are masked
MIN_POSITION_SENTENCES = 12
"""Sentences that must reach a position for its mean to be known: the mean of fewer would be their content. Of a corpus
with fewer than 48 sentences it is a quarter, but at least two."""


@dataclass(frozen=True)
class VectorDecomposition:
    """Vectors (T, D) as a sum of three parts."""

    content: Tensor
    position: Tensor
    constant: Tensor

    def map(self, linear_map: Callable[[Tensor], Tensor]) -> "VectorDecomposition":
        """Apply a linear map to each part."""
        return VectorDecomposition(linear_map(self.content), linear_map(self.position), linear_map(self.constant))

    def add_constant(self, constant: Tensor) -> "VectorDecomposition":
        return VectorDecomposition(self.content, self.position, self.constant + constant)

    def sum(self) -> Tensor:
        return self.content + self.position + self.constant


@dataclass(frozen=True)
class PositionMeans:
    """Mean vectors over a corpus: of all tokens, and of those at each position."""

    overall: Tensor
    """(D,)"""
    by_position: Tensor
    """(positions, D): the first positions, which enough sentences reach."""

    def split(self, x: Tensor) -> VectorDecomposition:
        """h = μ + pos_t + content.  Song and Zhong 2023. Without a mean the position is unknown, and in the content."""
        position = torch.zeros_like(x)
        num_known = min(len(x), len(self.by_position))
        position[:num_known] = (self.by_position[:num_known] - self.overall).to(x)
        constant = self.overall.to(x).expand_as(x)
        return VectorDecomposition(x - position - constant, position, constant)


def zero_means(like: Tensor) -> PositionMeans:
    """Means of 0, for use without a corpus: everything is content."""
    zero = torch.zeros(like.shape[-1])
    return PositionMeans(zero, zero.expand(0, -1))


@dataclass(frozen=True)
class CorpusMeans:
    """The means of the query and key inputs over a corpus, by the name of the attention."""

    queries: dict[str, PositionMeans]
    keys: dict[str, PositionMeans]


class _PositionSums:
    """Sums of vectors by position, sentence by sentence: no sentence stays in memory."""

    def __init__(self) -> None:
        self.sums, self.counts, self.sentences = torch.zeros(0, 0), torch.zeros(0), 0

    def add(self, stream: Tensor) -> None:
        """Add the vectors (T, D) of a sentence."""
        length, dim = stream.shape
        if (missing := length - len(self.sums)) > 0:
            more = stream.new_zeros(missing, dim, dtype=torch.float64)
            self.sums = torch.cat((self.sums.to(more).reshape(-1, dim), more))
            self.counts = torch.cat((self.counts.to(more), more[:, 0]))
        self.sums[:length] += stream
        self.counts[:length] += 1
        self.sentences += 1

    def means(self) -> PositionMeans:
        min_sentences = min(MIN_POSITION_SENTENCES, max(2, self.sentences // 4))
        known = self.counts >= min_sentences  # a prefix: no sentence skips a position
        by_position = self.sums[known] / self.counts[known, None]
        return PositionMeans(self.sums.sum(dim=0) / self.counts.sum(), by_position)


def compute_corpus_means(model: Model, traces: Iterable[Trace]) -> CorpusMeans:
    """The means of the residual stream before each attention, over these sentences."""
    queries: dict[str, _PositionSums] = defaultdict(_PositionSums)
    keys: dict[str, _PositionSums] = defaultdict(_PositionSums)
    for trace in traces:
        for name, attn in trace.attentions.items():
            queries[name].add(attn.residual_stream)
            keys[name].add(_key_stream(model, trace, attn)[0])
    return CorpusMeans(
        {name: sums.means() for name, sums in queries.items()}, {name: sums.means() for name, sums in keys.items()}
    )


@dataclass(frozen=True)
class ScoreTerms:
    """The decomposed scores of one attention for one sentence."""

    terms: dict[str, Tensor]
    """By name, (H, Tq, Tk) each: query part · key part, and distance. Their sum is the scores."""
    grouped_terms: Tensor
    """(H, 6, Tq, Tk): the same in the groups of `TERM_NAMES`."""
    attn_mask: Tensor
    """(H, Tq, Tk): True where a query may attend to a key."""
    known_queries: int
    """Queries, from the first one on, whose position can be separated from their content."""
    known_keys: int

    @property
    def known_mask(self) -> Tensor:
        """(H, Tq, Tk): True where a query may attend to a key and the terms of both are known."""
        mask = self.attn_mask.clone()
        mask[:, self.known_queries :], mask[:, :, self.known_keys :] = False, False
        return mask

    @property
    def shares(self) -> Tensor:
        """`term_shares` of the grouped terms, over the cells whose terms are known: (H, 6)."""
        return term_shares(self.grouped_terms, self.known_mask)


@torch.no_grad()
def decompose_scores(model: Model, trace: Trace, attn: AttentionTrace, means: CorpusMeans | None = None) -> ScoreTerms:
    """Decompose the scores of an attention: in the first layer by the embedding, above by the corpus means."""
    attention, positions = attn.site.attention, attn.site.attention.positions
    queries = _project_heads(attention.q_proj, _query_parts(model, trace, attn, means), attn)
    keys = _project_heads(attention.k_proj, _key_parts(model, trace, attn, means), attn)
    queries, keys = _normalize_parts(attention.q_norm, queries), _normalize_parts(attention.k_norm, keys)
    q, k = (
        queries.map(lambda x: positions.rotate(x, attn.query_position_ids)),
        keys.map(lambda x: positions.rotate(x, attn.key_position_ids)),
    )
    scale = math.sqrt(attention.head_dim)
    score_terms = {f"{a}·{b}": (getattr(q, a) @ getattr(k, b).mT / scale)[0] for a in PARTS for b in PARTS}
    bias = positions.bias(q.sum(), attn.query_position_ids, attn.key_position_ids)
    score_terms["distance"] = torch.zeros_like(attn.scores) if bias is None else bias[0].expand_as(attn.scores)
    grouped_terms = _group_terms(score_terms, _rotates(positions))
    return ScoreTerms(score_terms, grouped_terms, head_attn_mask(attn), *_count_known_positions(attn, means))


def _count_known_positions(attn: AttentionTrace, means: CorpusMeans | None) -> tuple[int, int]:
    """The first queries and keys whose position is known: all of them if the embedding gives it."""
    num_queries, num_keys = attn.scores.shape[1:]
    if _is_first_layer(attn):
        return num_queries, num_keys
    if means is None:
        return 0, 0
    query_means, key_means = means.queries[attn.site.name], means.keys[attn.site.name]
    return min(num_queries, len(query_means.by_position)), min(num_keys, len(key_means.by_position))


def _is_first_layer(attn: AttentionTrace) -> bool:
    """Whether queries and keys are embeddings, which are sums of token and position."""
    return attn.site.layer == 0 and attn.site.kind != "cross"


def can_decompose(attn: AttentionTrace, means: CorpusMeans | None) -> bool:
    """Whether position and content can be separated: without corpus means only before the first layer.

    Rotary positions need the corpus means there, too.
    """
    return means is not None or (_is_first_layer(attn) and not _rotates(attn.site.attention.positions))


def _rotates(positions: Positions) -> bool:
    """Whether queries and keys are rotated by their positions."""
    base_scheme = positions.scheme if isinstance(positions, SelectedHeads) else positions
    return type(base_scheme).rotate is not Positions.rotate


def head_attn_mask(attn: AttentionTrace) -> Tensor:
    """The keys each head may attend to (H, Tq, Tk): neither masked nor excluded by the position encoding."""
    threshold = torch.finfo(attn.scores.dtype).min / MASKED_SCORE_DIVISOR
    return attn.attn_mask & (attn.scores > threshold)


def term_shares(terms: Tensor, attn_mask: Tensor) -> Tensor:
    """The share of each term in the variance of the scores: (H, terms, Tq, Tk) -> (H, terms), which sum to 1.

    Each row is centered over its keys, since a softmax is invariant to a shift of the row; then share = <term, total>
    / <total, total>. A share below 0 is a term that works against the rest. NaN for a head whose scores do not vary.
    """
    mask = attn_mask[:, None].to(terms.dtype)
    masked_terms = terms.masked_fill(~attn_mask[:, None], 0.0)
    centered = (
        masked_terms - masked_terms.sum(dim=-1, keepdim=True) / mask.sum(dim=-1, keepdim=True).clamp(min=1)
    ) * mask
    total = centered.sum(dim=1, keepdim=True)
    squares = (total * total).sum(dim=(-1, -2))
    return (centered * total).sum(dim=(-1, -2)) / squares.masked_fill(squares == 0, math.nan)


@dataclass(frozen=True)
class ToeplitzFit:
    """A least-squares fit of scores by the distance j - i alone: its normal equations, summed over sentences."""

    gram: NDArray[np.float64]
    """(offsets, offsets)"""
    rhs: NDArray[np.float64]
    """(offsets, H)"""
    squares: NDArray[np.float64]
    """(H,)"""
    cells: int

    @property
    def adjusted_r2(self) -> NDArray[np.float64]:
        """Adjusted R² of score = row + f(j - i), by head, clipped to 0 to 1.

        NaN where it is not defined: with as many distances as cells any scores fit, and equal scores do not vary.
        """
        num_parameters = int(np.linalg.matrix_rank(self.gram)) if self.cells else 0
        if self.cells <= num_parameters:
            return np.full_like(self.squares, math.nan)
        explained = ((np.linalg.pinv(self.gram) @ self.rhs) * self.rhs).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            unexplained = np.where(self.squares > 0, 1 - explained / self.squares, math.nan)
        return np.asarray(np.clip(1 - unexplained * self.cells / (self.cells - num_parameters), 0, 1))


def fit_toeplitz(attns: Sequence[AttentionTrace]) -> ToeplitzFit:
    """Fit the Toeplitz part of an attention's scores, over sentences, by least squares."""
    max_length = max(len(attn.query_input) for attn in attns)
    size, heads = 2 * max_length - 1, len(attns[0].scores)
    gram, rhs, squares, cells = np.zeros((size, size)), np.zeros((size, heads)), np.zeros(heads), 0
    for attn in attns:
        scores, attn_mask = attn.scores.double().cpu().numpy(), head_attn_mask(attn).all(dim=0).cpu().numpy()
        for i, row in enumerate(attn_mask):
            key_ids = np.flatnonzero(row)
            if len(key_ids) < 2:
                continue
            offset_ids = key_ids - i + max_length - 1
            centered = scores[:, i, key_ids] - scores[:, i, key_ids].mean(axis=1, keepdims=True)  # (H, keys)
            # The indicators of distances are centered as well.
            gram[np.ix_(offset_ids, offset_ids)] += np.eye(len(offset_ids)) - 1 / len(offset_ids)
            rhs[offset_ids] += centered.T
            squares += (centered**2).sum(axis=1)
            cells += len(key_ids) - 1
    return ToeplitzFit(gram, rhs, squares, cells)


def toeplitz_r2(attn: AttentionTrace) -> NDArray[np.float64]:
    """Adjusted R² of `fit_toeplitz` for one sentence, where each head may have a mask of its own: (H,)."""
    attn_mask, r2 = head_attn_mask(attn), np.zeros(len(attn.scores))
    _, group_ids = torch.unique(attn_mask.flatten(1), dim=0, return_inverse=True)
    for group_id in group_ids.unique():
        heads = group_ids == group_id
        r2[heads.cpu().numpy()] = fit_toeplitz([replace(attn, scores=attn.scores[heads])]).adjusted_r2
    return r2


def apply_frozen_norm(norm: nn.Module, whole: Tensor, part: Tensor) -> Tensor:
    """A norm applied to one part of a vector, with the deviation of the whole vector and without the bias."""
    if isinstance(norm, LayerNorm):
        deviation = (whole.var(dim=-1, correction=0, keepdim=True) + norm.epsilon).sqrt()
        return norm.weight * (part - part.mean(dim=-1, keepdim=True)) / deviation
    if isinstance(norm, RMSNorm):
        return norm.weight * part / (whole.pow(2).mean(dim=-1, keepdim=True) + norm.epsilon).sqrt()
    return part


@torch.no_grad()
def normalize_parts(norm: nn.Module, parts: VectorDecomposition) -> VectorDecomposition:
    """Apply a norm to each part; its bias joins the constant."""
    whole = parts.sum()
    normalized = parts.map(lambda part: apply_frozen_norm(norm, whole, part))
    return normalized.add_constant(norm.bias) if isinstance(norm, LayerNorm) else normalized


@torch.no_grad()
def decompose_embedding(embedding: TokenEmbedding, ids: Tensor, position_ids: Tensor) -> VectorDecomposition:
    """Embeddings (T, D) as the sum of token, position and constant (token types and the norm's bias)."""
    with evaluation_mode(embedding):
        token_vectors = embedding.embed_tokens(ids[None])
    vectors = embedding.positions.embed(token_vectors, position_ids)
    zero = torch.zeros_like(vectors)
    position = embedding.positions.embed(torch.zeros_like(token_vectors), position_ids)
    constant = embedding.token_types(zero, None)
    parts = VectorDecomposition((vectors - position)[0], position[0], constant[0])
    return normalize_parts(embedding.norm, parts)


def _query_parts(model: Model, trace: Trace, attn: AttentionTrace, means: CorpusMeans | None) -> VectorDecomposition:
    position_means = means.queries[attn.site.name] if means else zero_means(attn.residual_stream)
    parts = position_means.split(attn.residual_stream)
    if _is_first_layer(attn):
        parts = _embedding_parts(model, trace, attn, position_means)
    return normalize_parts(attn.site.residual.norm if isinstance(attn.site.residual, PreNorm) else nn.Identity(), parts)


def _key_parts(model: Model, trace: Trace, attn: AttentionTrace, means: CorpusMeans | None) -> VectorDecomposition:
    if attn.site.kind != "cross":
        return _query_parts(model, trace, attn, means)
    stream, norm = _key_stream(model, trace, attn)
    position_means = means.keys[attn.site.name] if means else zero_means(stream)
    return normalize_parts(norm, position_means.split(stream))


def _embedding_parts(model: Model, trace: Trace, attn: AttentionTrace, means: PositionMeans) -> VectorDecomposition:
    """The parts of the residual stream before the first layer, from the embedding.

    With rotary positions the mean of all tokens gives a term of distance alone, so it is moved to the constant.
    """
    stack = getattr(model, attn.site.name.partition(".")[0])
    ids = torch.tensor(trace.example.query_tokens(attn.site.kind).ids, device=attn.residual_stream.device)
    parts = decompose_embedding(stack.embedding, ids, attn.query_position_ids)
    if not _rotates(attn.site.attention.positions):
        return parts
    shared_mean = means.overall.to(parts.content).expand_as(parts.content)
    return VectorDecomposition(parts.content - shared_mean, parts.position, parts.constant + shared_mean)


def _key_stream(model: Model, trace: Trace, attn: AttentionTrace) -> tuple[Tensor, nn.Module]:
    """The input of the keys before its norm, and that norm."""
    if attn.site.kind != "cross":
        return attn.residual_stream, attn.site.residual.norm
    _, stack = get_reading_stack(model)
    return trace.hidden_states[last_encoder_output_name(stack)], stack.norm


def _project_heads(linear: nn.Linear, parts: VectorDecomposition, attn: AttentionTrace) -> VectorDecomposition:
    """Parts (T, D) -> parts of queries or keys (1, H, T, K); the bias joins the constant."""
    heads = attn.site.attention.heads

    def project(x: Tensor) -> Tensor:
        return (x @ linear.weight.mT).unflatten(-1, (heads, -1)).transpose(0, 1)[None]

    projected = parts.map(project)
    if linear.bias is None:
        return projected
    return projected.add_constant(linear.bias.unflatten(0, (heads, -1))[None, :, None])


def _normalize_parts(norm: nn.Module, parts: VectorDecomposition) -> VectorDecomposition:
    """RMSNorm is linear once its divisor is known: that of all parts together."""
    if not isinstance(norm, RMSNorm):
        return parts
    factor = norm.weight * (parts.sum().square().mean(dim=-1, keepdim=True) + norm.epsilon).rsqrt()
    return parts.map(lambda x: x * factor)


def _group_terms(terms_by_name: dict[str, Tensor], is_rotary: bool) -> Tensor:
    """Ten terms as six; with rotary positions constant·constant depends on the distance alone."""
    leading_terms = [terms_by_name[name] for name in TERM_NAMES[:4]]
    constant_names = [f"{a}·{b}" for a in PARTS for b in PARTS if "constant" in (a, b)]
    distance = terms_by_name["distance"]
    if is_rotary:
        constant_names.remove("constant·constant")
        distance = distance + terms_by_name["constant·constant"]
    constant = torch.stack([terms_by_name[name] for name in constant_names]).sum(dim=0)
    return torch.stack([*leading_terms, constant, distance], dim=1)
