"""Heads do not know of each other until they are concatenated."""

from collections.abc import Callable, Sequence
from itertools import combinations

import torch
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import Attention, attend, masked_softmax, score
from regard.model.build import build_encoder
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "Each head projects tokens into a subspace of its own and sums up their values; W_O mixes the concatenation."
SOURCE = "Vaswani et al. 2017, section 3.2.2; lectures on Transformers"
CLAIMS = (1, 5, 11, 24, 28, 29)
PREDICT = "Keys and values of the heads are swapped: by which share of itself does the output change?"
CHANGE = "HEADS=1, then 32: what is left of the difference between two heads' subspaces?"
TURN = {"HEADS": (2, 4, 8, 16)}

TOKENS, DIM, HEADS = 7, 64, 8
SEEDS = 10

Attend = Callable[..., tuple[Tensor, Tensor]]


def head_by_head(attention: Attention, x: Tensor) -> Tensor:
    """The same as the module, one head after the other, each from its rows of the projections."""
    outputs = []
    for head in range(HEADS):
        rows = slice(head * DIM // HEADS, (head + 1) * DIM // HEADS)
        q, k, v = (
            x @ linear.weight[rows].T + linear.bias[rows]
            for linear in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        weights = masked_softmax(score(q, k))
        outputs.append(sum(weights[..., t, None] * v[:, None, t] for t in range(TOKENS)))  # Σ weight · value
    return torch.cat(outputs, dim=-1) @ attention.out_proj.weight.T + attention.out_proj.bias


def overlap(a: Tensor, b: Tensor) -> float:
    """How much of one subspace lies in another, for matrices (K, D) whose rows span them: 0 to 1."""
    a, b = (torch.linalg.qr(one.T)[0] for one in (a, b))  # (D, K)
    return float((a.T @ b).square().sum() / a.shape[1])


def measure(attend: Attend) -> tuple[float, float, float, dict[str, float]]:
    config = ModelConfig(dim=DIM, heads=HEADS, layers=1, ffn=DIM, positions=PositionsConfig(kind="none"))
    model = build_encoder(config, 100, pad=0).double()
    attention: Attention = model.encoder.layers[0].self_attn  # type: ignore[assignment]
    kept: list[Tensor] = []

    def attend_and_keep(*inputs: Tensor) -> tuple[Tensor, Tensor]:
        output, weights = attend(*inputs)
        kept.append(weights)
        return output, weights

    attention.attend = attend_and_keep
    x, ids = torch.randn(1, TOKENS, DIM, dtype=torch.float64), torch.arange(TOKENS)[None]
    other = torch.cat((torch.randn(1, 1, DIM, dtype=torch.float64), x[:, 1:]), dim=1)  # another first token
    with torch.no_grad():
        kv = attention.project_kv(x, ids)
        output = attention(x, kv, None, ids)
        swapped = attention(x, kv._replace(k=kv.v, v=kv.k), None, ids)
        attention(other, attention.project_kv(other, ids), None, ids)
        moved = (kept[-1] - kept[0])[:, :, 1:].abs().amax()  # of tokens that did not change
        queries = attention.q_proj.weight.unflatten(0, (HEADS, -1))
        pairs = list(combinations(queries, 2))
        chance = [overlap(torch.randn_like(a), torch.randn_like(b)) for a, b in pairs]
        shared = {"two heads": mean([overlap(a, b) for a, b in pairs]), "two random subspaces": mean(chance)}
        distance = float((output - head_by_head(attention, x)).abs().max())
    return float((swapped - output).norm() / output.norm()), float(moved), distance, shared


def mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def run(seeds: Sequence[int], attend: Attend = attend) -> Finding:
    swapped, moved, distances, shared = zip(*over(seeds, lambda: measure(attend)), strict=True)
    excess = [one["two heads"] - one["two random subspaces"] for one in shared]
    return Finding(
        [
            # 0.1 of the output, 0.05 of a weight: less could be left out without being missed
            Effect("the change of the output when keys and values are swapped", swapped, least=0.1),
            Effect("the largest change of other tokens' weights when one token changes", moved, least=0.05),
            Exact("the largest distance from heads that are computed one by one", distances),
            Effect("the overlap of two heads' subspaces beyond that of random ones", excess, most=0.05),
        ],
        Table.from_rows({"subspaces of": name, "overlap": mean([one[name] for one in shared])} for name in shared[0]),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "subspaces of", "overlap")


def broken(seeds: Sequence[int]) -> Finding:
    """Heads that share the mean of their weights: they are no longer independent."""

    def attend_alike(q: Tensor, k: Tensor, v: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        weights = attend(q, k, v)[1].mean(dim=1, keepdim=True)
        return weights @ v, weights

    return run(seeds, attend=attend_alike)
