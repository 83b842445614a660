"""Position against content: scores before the softmax as a sum of terms that is exact.

Whatever a query and a key are made of is split into three parts that add up: content, position, and a constant (biases,
shifts, and what all tokens have in common). A norm is no obstacle: with each token's own deviation frozen it is linear,
so its parts pass through one by one. Three parts of the query times three of the key are nine terms, and what a scheme
adds by distance is the tenth.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.inspection.trace import Look, Model, Trace, encoder_of
from regard.model.layers import LayerNorm, PreNorm, RMSNorm
from regard.model.positions import Absolute, Concatenated, Rotary
from regard.model.transformer import TokenEmbedding

PARTS = ("content", "position", "constant")
NAMES = ("content·content", "content·position", "position·content", "position·position", "constant", "distance")
"""The ten terms as people want them: the five with a constant in them are one, unless rotation makes it a distance."""
HIDDEN = 8  # a part of the lowest number: scores below it were written there to hide a key


@dataclass(frozen=True)
class Parts:
    """Vectors (T, D) as a sum of three."""

    content: Tensor
    position: Tensor
    constant: Tensor

    def map(self, change: Callable[[Tensor], Tensor]) -> "Parts":
        """A linear map of each part."""
        return Parts(change(self.content), change(self.position), change(self.constant))

    def plus(self, constant: Tensor) -> "Parts":
        return Parts(self.content, self.position, self.constant + constant)

    def sum(self) -> Tensor:
        return self.content + self.position + self.constant


@dataclass(frozen=True)
class Means:
    """What tokens have in common over a corpus: all of them, and those at each place."""

    overall: Tensor
    """(D,)"""
    by_place: Tensor
    """(places, D)"""

    def split(self, x: Tensor) -> Parts:
        """h = μ + pos_t + the rest.  Song and Zhong 2023. Places that the corpus has not shown count as content."""
        position = torch.zeros_like(x)
        known = min(len(x), len(self.by_place))
        position[:known] = (self.by_place[:known] - self.overall).to(x)
        constant = self.overall.to(x).expand_as(x)
        return Parts(x - position - constant, position, constant)


def nothing_in_common(like: Tensor) -> Means:
    """No corpus: everything is content."""
    zero = torch.zeros(like.shape[-1])
    return Means(zero, zero.expand(0, -1))


@dataclass(frozen=True)
class Common:
    """The means of every attention's queries and keys over a corpus."""

    rows: dict[str, Means]
    columns: dict[str, Means]


def common(model: Model, traces: Sequence[Trace]) -> Common:
    """What the streams before each attention have in common over these sentences."""
    names = list(traces[0].looks)
    rows = {name: _means([trace.looks[name].stream for trace in traces]) for name in names}
    columns = {name: _means([_key_stream(model, trace, trace.looks[name])[0] for trace in traces]) for name in names}
    return Common(rows, columns)


def _means(streams: Sequence[Tensor]) -> Means:
    overall = torch.cat(list(streams)).mean(dim=0)
    enough = max(2, len(streams) // 4)  # a place that few sentences reach would be those sentences' content
    longest = max(map(len, streams))
    places = [[s[t] for s in streams if len(s) > t] for t in range(longest)]
    seen = [torch.stack(place).mean(dim=0) for place in places if len(place) >= enough]
    return Means(overall, torch.stack(seen) if seen else overall.new_zeros(0, len(overall)))


@dataclass(frozen=True)
class Terms:
    """The scores of one attention for one sentence, taken apart."""

    ten: dict[str, Tensor]
    """By name, (H, Tq, Tk) each: query part · key part, and distance. Their sum is the scores."""
    six: Tensor
    """(H, 6, Tq, Tk): the same in the groups of `NAMES`."""
    keep: Tensor
    """(H, Tq, Tk): which keys may be looked at."""


@torch.no_grad()
def terms(model: Model, trace: Trace, look: Look, means: Common | None = None) -> Terms:
    """The terms of an attention's scores. In the first layer content is the word itself; above, by the means."""
    attention, positions = look.site.attention, look.site.attention.positions
    queries = _through(attention.q_proj, _query_parts(model, trace, look, means), look)
    keys = _through(attention.k_proj, _key_parts(model, trace, look, means), look)
    q, k = queries.map(lambda x: positions.rotate(x, look.at)), keys.map(lambda x: positions.rotate(x, look.seen_at))
    scale = math.sqrt(attention.head_dim)
    ten = {f"{a}·{b}": (getattr(q, a) @ getattr(k, b).mT / scale)[0] for a in PARTS for b in PARTS}
    bias = positions.bias(q.sum(), look.at, look.seen_at)
    ten["distance"] = torch.zeros_like(look.scores) if bias is None else bias[0].expand_as(look.scores)
    return Terms(ten, _grouped(ten, isinstance(positions, Rotary)), allowed(look))


def told_apart(look: Look, means: Common | None) -> bool:
    """Whether position and content of an attention can be told apart: without a corpus only where the embedding does.

    That is before the first layer, unless rotation asks for what all words share.
    """
    first = look.site.layer == 0 and look.site.kind != "cross"
    return means is not None or (first and not isinstance(look.site.attention.positions, Rotary))


def allowed(look: Look) -> Tensor:
    """Which keys each head may look at (H, Tq, Tk): neither masked nor hidden by the scheme of positions."""
    lowest = torch.finfo(look.scores.dtype).min / HIDDEN
    return look.keep & (look.scores > lowest)


def shares(terms: Tensor, keep: Tensor) -> Tensor:
    """How much of the scores each term decides: (H, terms, Tq, Tk) -> (H, terms), which sum to 1.

    Each row is centred over its keys, since a softmax ignores what all keys share; then share = <term, total> /
    <total, total>. A share below 0 is a term that works against the rest.
    """
    seen = keep[:, None].to(terms.dtype)
    kept = terms.masked_fill(~keep[:, None], 0.0)
    centred = (kept - kept.sum(dim=-1, keepdim=True) / seen.sum(dim=-1, keepdim=True).clamp(min=1)) * seen
    total = centred.sum(dim=1, keepdim=True)
    squares = (total * total).sum(dim=(-1, -2))
    return (centred * total).sum(dim=(-1, -2)) / squares.clamp(min=1e-30)


@dataclass(frozen=True)
class Toeplitz:
    """How much of the scores depends on the distance j - i alone: sums that sentences are added to."""

    gram: NDArray[np.float64]
    """(offsets, offsets)"""
    aim: NDArray[np.float64]
    """(offsets, H)"""
    squares: NDArray[np.float64]
    """(H,)"""
    cells: int

    @property
    def share(self) -> NDArray[np.float64]:
        """R² of score = row + f(j - i), by head, corrected for how many distances it may choose freely; 0 to 1."""
        free = int(np.linalg.matrix_rank(self.gram)) if self.cells else 0
        if self.cells <= free:
            return np.zeros_like(self.squares)
        explained = ((np.linalg.pinv(self.gram) @ self.aim) * self.aim).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            left = np.where(self.squares > 0, 1 - explained / self.squares, 1.0)
        return np.asarray(np.clip(1 - left * self.cells / (self.cells - free), 0, 1))


def toeplitz(looks: Sequence[Look]) -> Toeplitz:
    """The part of an attention's scores that only sees distances, fitted over sentences by least squares."""
    reach = max(len(look.x) for look in looks)
    size, heads = 2 * reach - 1, len(looks[0].scores)
    gram, aim, squares, cells = np.zeros((size, size)), np.zeros((size, heads)), np.zeros(heads), 0
    for look in looks:
        scores, keep = look.scores.double().cpu().numpy(), allowed(look).all(dim=0).cpu().numpy()
        for i, row in enumerate(keep):
            here = np.flatnonzero(row)
            if len(here) < 2:
                continue
            at = here - i + reach - 1
            centred = scores[:, i, here] - scores[:, i, here].mean(axis=1, keepdims=True)  # (H, keys)
            gram[np.ix_(at, at)] += np.eye(len(at)) - 1 / len(at)  # the indicators of distances, centred as well
            aim[at] += centred.T
            squares += (centred**2).sum(axis=1)
            cells += len(here) - 1
    return Toeplitz(gram, aim, squares, cells)


def distance_share(look: Look) -> NDArray[np.float64]:
    """`toeplitz` of one sentence, where a scheme may let each head look at other keys: (H,)."""
    keep, found = allowed(look), np.zeros(len(look.scores))
    _, group = torch.unique(keep.flatten(1), dim=0, return_inverse=True)
    for number in group.unique():
        heads = group == number
        found[heads.cpu().numpy()] = toeplitz([replace(look, scores=look.scores[heads])]).share
    return found


def frozen(norm: nn.Module, whole: Tensor, part: Tensor) -> Tensor:
    """What a norm makes of one part of a vector, with the deviation of the whole one; without its shift."""
    if isinstance(norm, LayerNorm):
        deviation = (whole.var(dim=-1, correction=0, keepdim=True) + norm.epsilon).sqrt()
        return norm.weight * (part - part.mean(dim=-1, keepdim=True)) / deviation
    if isinstance(norm, RMSNorm):
        return norm.weight * part / (whole.pow(2).mean(dim=-1, keepdim=True) + norm.epsilon).sqrt()
    return part


@torch.no_grad()
def normed(norm: nn.Module, parts: Parts) -> Parts:
    """Parts after a norm; its shift joins the constant."""
    whole = parts.sum()
    after = parts.map(lambda part: frozen(norm, whole, part))
    return after.plus(norm.bias) if isinstance(norm, LayerNorm) else after


@torch.no_grad()
def embedded(embedding: TokenEmbedding, ids: Tensor, at: Tensor) -> Parts:
    """Word vectors (T, D) as what the embedding made them of: the word, its place, the rest."""
    words = embedding.embed_tokens(ids[None])
    placed = embedding.positions.embed(words, at)
    zero = torch.zeros_like(placed)
    position = zero
    if isinstance(embedding.positions, Concatenated | Absolute):
        position = embedding.positions.embed(torch.zeros_like(words), at)
    constant = embedding.token_types(zero, None)
    parts = Parts((placed - position)[0], position[0], constant[0])
    return normed(embedding.norm, parts)


def _query_parts(model: Model, trace: Trace, look: Look, means: Common | None) -> Parts:
    own = means.rows[look.site.name] if means else nothing_in_common(look.stream)
    parts = own.split(look.stream)
    if look.site.layer == 0 and look.site.kind != "cross":
        parts = _first(model, trace, look, own)
    return normed(look.site.around.norm if isinstance(look.site.around, PreNorm) else nn.Identity(), parts)


def _key_parts(model: Model, trace: Trace, look: Look, means: Common | None) -> Parts:
    if look.site.kind != "cross":
        return _query_parts(model, trace, look, means)
    stream, norm = _key_stream(model, trace, look)
    own = means.columns[look.site.name] if means else nothing_in_common(stream)
    return normed(norm, own.split(stream))


def _first(model: Model, trace: Trace, look: Look, means: Means) -> Parts:
    """The parts of the stream before the first layer, as the embedding made them.

    Rotation makes a kernel of distances out of what all words share, so there that is told apart.
    """
    stack = getattr(model, look.site.name.partition(".")[0])
    ids = torch.tensor(trace.example.rows(look.site.kind).ids, device=look.stream.device)
    parts = embedded(stack.embedding, ids, look.at)
    if not isinstance(look.site.attention.positions, Rotary):
        return parts
    shared = means.overall.to(parts.content).expand_as(parts.content)
    return Parts(parts.content - shared, parts.position, parts.constant + shared)


def _key_stream(model: Model, trace: Trace, look: Look) -> tuple[Tensor, nn.Module]:
    """What keys are made of, before the norm that it passes; and that norm."""
    if look.site.kind != "cross":
        return look.stream, look.site.around.norm
    stack = encoder_of(model)
    return trace.streams[f"encoder.{len(stack.layers) - 1}.out"], stack.norm


def _through(linear: nn.Linear, parts: Parts, look: Look) -> Parts:
    """Parts (T, D) -> parts of queries or keys (1, H, T, K); the map's own bias joins the constant."""
    heads = look.site.attention.heads

    def apart(x: Tensor) -> Tensor:
        return (x @ linear.weight.mT).unflatten(-1, (heads, -1)).transpose(0, 1)[None]

    after = parts.map(apart)
    if linear.bias is None:
        return after
    return after.plus(linear.bias.unflatten(0, (heads, -1))[None, :, None])


def _grouped(ten: dict[str, Tensor], turned: bool) -> Tensor:
    """Ten terms as six; where rotation turns it, constant·constant is a kernel of distances."""
    four = [ten[name] for name in NAMES[:4]]
    alone = [f"{a}·{b}" for a in PARTS for b in PARTS if "constant" in (a, b)]
    distance = ten["distance"]
    if turned:
        alone.remove("constant·constant")
        distance = distance + ten["constant·constant"]
    constant = torch.stack([ten[name] for name in alone]).sum(dim=0)
    return torch.stack([*four, constant, distance], dim=1)
