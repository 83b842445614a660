"""A bias equals concatenation, if both are divided alike."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.labs.effects import Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import masked_softmax, score
from regard.model.positions import sinusoid
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "A bias π = q_pos · k_pos on the scores gives the same attention as concatenating positions to words."
SOURCE = "discussion sheet of a course on deep learning"
CLAIMS = (62, 64, 65, 66)
PREDICT = (
    "Scores are divided by the √ of their width, as everywhere: by how much does a weight differ at most? (0 to 1)"
)
CHANGE = "POSITION_DIM=64: do the two come closer or move apart?"
TURN = {"POSITION_DIM": (2, 8, 16, 64)}

TOKENS, HEAD_DIM, POSITION_DIM = 11, 16, 8

Score = Callable[..., Tensor]


def measure(score: Score) -> dict[str, float]:
    """The largest difference between weights by concatenation and by a bias, for three ways to divide."""
    q, k = torch.randn(2, 1, 1, TOKENS, HEAD_DIM, dtype=torch.float64)
    place = sinusoid(torch.arange(TOKENS), POSITION_DIM)[None, None]  # (1, 1, T, P)
    bias = place @ place.mT  # (1, 1, T, T)
    long_q, long_k = torch.cat((q, place), -1), torch.cat((k, place), -1)
    both = math.sqrt(HEAD_DIM + POSITION_DIM)
    factors = masked_softmax(score(q, k)) * bias.exp()  # e^score · e^π, but for the denominator
    with_bias = masked_softmax(score(q, k, bias))

    def difference(one: Tensor, other: Tensor) -> float:
        return float((masked_softmax(one) - masked_softmax(other)).abs().max())

    return {
        "as usual: q·k/√d + π": difference(score(long_q, long_k), score(q, k, bias)),
        "without division": difference(long_q @ long_k.mT, q @ k.mT + bias),
        "both divided by √(d + P)": difference(long_q @ long_k.mT / both, (q @ k.mT + bias) / both),
        "factor": float((with_bias - factors / factors.sum(-1, keepdim=True)).abs().max()),
    }


def run(seeds: Sequence[int], score: Score = score) -> Finding:
    measured = over(seeds, lambda: measure(score))
    columns = {name: [one[name] for one in measured] for name in measured[0]}
    factor = columns.pop("factor")
    return Finding(
        [
            *(Exact(f"the difference of weights, {name}", values) for name, values in columns.items()),
            Exact("the difference between a bias and a factor e^π on the weights", factor),
        ],
        Table.from_rows({"scores": name, "largest difference": max(values)} for name, values in columns.items()),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "scores", "largest difference")


def broken(seeds: Sequence[int]) -> Finding:
    """Scores that no width divides: what keeps the two apart is gone."""

    def undivided(q: Tensor, k: Tensor, bias: Tensor | None = None) -> Tensor:
        scores = q @ k.mT
        return scores if bias is None else scores + bias

    return run(seeds, score=undivided)
