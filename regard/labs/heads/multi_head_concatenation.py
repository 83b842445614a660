"""Heads do not know of each other until they are concatenated."""

from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import fmean

import torch
from torch import Tensor

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import Attention, attend, masked_softmax, score
from regard.model.positions import Positions
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "Each head projects tokens into a subspace of its own and sums up their values; W_O mixes the concatenation."
SOURCE = "Vaswani et al. 2017, section 3.2.2; lectures on Transformers"
CLAIMS = (1, 5, 11, 24, 28, 29)
PREDICT = "How much more than random subspaces do those of two heads overlap? (-1 to 1; 1: they would be the same)"
CHANGE = "HEADS=2, then 32: how much do random subspaces of such widths overlap, and why?"
TURN = {"HEADS": (2, 4, 8, 16)}

TOKENS, DIM, HEADS, SEEDS = 7, 64, 8, 10

Attend = Callable[..., tuple[Tensor, Tensor]]


def head_by_head(attention: Attention, x: Tensor) -> Tensor:
    """The same as the module, one head after the other, each from its rows of the projections."""
    outputs = []
    for head in range(HEADS):
        rows = slice(head * DIM // HEADS, (head + 1) * DIM // HEADS)
        linears = (attention.q_proj, attention.k_proj, attention.v_proj)
        q, k, v = (x @ linear.weight[rows].T + linear.bias[rows] for linear in linears)
        weights = masked_softmax(score(q, k))
        sums = [weights[..., t, None] * v[:, None, t] for t in range(TOKENS)]  # weight · value
        outputs.append(torch.stack(sums).sum(dim=0))
    return torch.cat(outputs, dim=-1) @ attention.out_proj.weight.T + attention.out_proj.bias


def overlap(a: Tensor, b: Tensor) -> float:
    """How much of the one subspace lies in the other, from 0 to 1; the rows of (K, D) span them."""
    return float((torch.linalg.qr(a.T)[0].T @ torch.linalg.qr(b.T)[0]).square().sum() / len(a))


def measure(attend: Attend) -> tuple[float, float, float, dict[str, float]]:
    all_weights = []

    def attend_and_keep(*inputs: Tensor) -> tuple[Tensor, Tensor]:
        output, weights = attend(*inputs)
        all_weights.append(weights)
        return output, weights

    attention = Attention(DIM, HEADS, Positions(), attend=attend_and_keep).double()
    x, ids = torch.randn(1, TOKENS, DIM, dtype=torch.float64), torch.arange(TOKENS)[None]
    other = torch.cat((torch.randn(1, 1, DIM, dtype=torch.float64), x[:, 1:]), dim=1)  # another first token
    with torch.no_grad():
        kv = attention.project_kv(x, ids)
        output = attention(x, kv, None, ids)
        swapped = attention(x, kv._replace(k=kv.v, v=kv.k), None, ids)
        attention(other, attention.project_kv(other, ids), None, ids)
        moved = (all_weights[-1] - all_weights[0])[:, :, 1:].abs().amax()  # of tokens that did not change
        queries = attention.q_proj.weight.unflatten(0, (HEADS, -1))
        pairs = list(combinations(queries, 2))
        chance = [overlap(torch.randn_like(a), torch.randn_like(b)) for a, b in pairs]
        shared = {"two heads": fmean(overlap(a, b) for a, b in pairs), "two random subspaces": fmean(chance)}
        distance = float((output - head_by_head(attention, x)).abs().max())
    return float((swapped - output).norm() / output.norm()), float(moved), distance, shared


def run(seeds: Sequence[int], attend: Attend = attend) -> Finding:
    swapped, moved, distances, shared = zip(*over(seeds, lambda: measure(attend)), strict=True)
    excess = [one["two heads"] - one["two random subspaces"] for one in shared]
    return Finding(
        [
            # 0.05 more than chance: what is shared could no longer be called a subspace of its own
            Effect("the overlap of two heads' subspaces beyond that of random ones", excess, most=0.05),
            # 0.1 of the output, 0.05 of a weight: less would not be missed
            Effect("the change of the output when keys and values are swapped", swapped, least=0.1),
            Effect("the largest change of other tokens' weights when one token changes", moved, least=0.05),
            Exact("the largest distance from heads that are computed one by one", distances),
        ],
        Table.from_rows({"subspaces of": name, "overlap": fmean(one[name] for one in shared)} for name in shared[0]),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "subspaces of", "overlap")


def broken(seeds: Sequence[int]) -> Finding:
    """Heads that share the mean of their weights: they are no longer independent."""

    def attend_alike(q: Tensor, k: Tensor, v: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        weights = attend(q, k, v)[1].mean(dim=1, keepdim=True)
        return weights @ v, weights

    return run(seeds, attend=attend_alike)
