"""Dividing by √d keeps attention soft."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import masked_softmax, score
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "Division by √d centers the scores; without it the softmax saturates, and its gradients become extremely small."
SOURCE = "Vaswani et al. 2017, section 3.2.1; slides of a lecture, for the centering"
CLAIMS = (21, 22)
PREDICT = "d = 64, 32 random keys: by how much does the largest weight grow without the division? (0 to 1)"
CHANGE = "KEYS=8, then KEYS=128: from which d on does the gradient suffer?"
TURN = {"KEYS": (8, 16, 32, 64, 128)}

WIDTHS, KEYS, QUERIES = (4, 16, 64, 256, 1024), 32, 256

Score = Callable[[Tensor, Tensor], Tensor]


def unscaled(q: Tensor, k: Tensor) -> Tensor:
    return score(q, k) * math.sqrt(q.shape[-1])


def sharpness(scores: Tensor) -> tuple[float, float]:
    """The largest weight, and the norm of the softmax's Jacobian diag(w) - w wᵀ, of the median query."""
    weights = masked_softmax(scores.double())  # (1, 1, QUERIES, KEYS)
    jacobian = torch.diag_embed(weights) - weights[..., None] * weights[..., None, :]
    return float(weights.amax(-1).median()), float(jacobian.flatten(-2).norm(dim=-1).median())


def off_center(scores: Tensor) -> float:
    """How far the mean of the scores is from 0, in their own deviations."""
    return float(scores.mean().abs() / scores.std())


def compare(width: int, scaled: Score) -> tuple[float, float, float]:
    """By how much the largest weight grows, which share of the gradient is lost, what is off center, undivided."""
    q, k = torch.randn(1, 1, QUERIES, width), torch.randn(1, 1, KEYS, width)
    (soft_weight, soft_gradient), (sharp_weight, sharp_gradient) = sharpness(scaled(q, k)), sharpness(unscaled(q, k))
    centered = off_center(unscaled(q, k)) - off_center(scaled(q, k))
    return sharp_weight - soft_weight, 1 - sharp_gradient / soft_gradient, centered


def run(seeds: Sequence[int], score: Score = score) -> Finding:
    measured = {width: over(seeds, partial(compare, width, score)) for width in WIDTHS}
    growth = {width: [one[0] for one in rows] for width, rows in measured.items()}
    lost = {width: [one[1] for one in rows] for width, rows in measured.items()}
    middle, widest = WIDTHS[len(WIDTHS) // 2], WIDTHS[-1]
    return Finding(
        [
            # 0.3: from one weight among several to one that decides; 0.9: "extremely small" is a tenth at most
            Effect(f"the growth of the largest weight at d = {middle}", growth[middle], least=0.3),
            Effect(f"the share of the gradient that is lost at d = {middle}", lost[middle], least=0.9),
            Effect(f"the share of the gradient that is lost at d = {widest}", lost[widest], least=0.9),
            # 0.1 of a deviation: less could not be seen in a picture of the scores
            Effect(f"what the division centers at d = {middle}", [one[2] for one in measured[middle]], least=0.1),
        ],
        Table.from_rows(
            {"d": width, "what": what, "change": sum(values[width]) / len(seeds)}
            for what, values in (("growth of the largest weight", growth), ("share of the gradient lost", lost))
            for width in WIDTHS
        ),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "d", "change", "what", log="x", rules={"no change": 0})


def broken(seeds: Sequence[int]) -> Finding:
    """A "scaling" that divides by nothing: nothing grows, and nothing is lost."""
    return run(seeds, score=unscaled)
