"""What ε does in LayerNorm: nothing, until a vector is nearly constant."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.rows import mean_row
from regard.labs.seeds import over
from regard.model.layers import LayerNorm
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = (
    "LayerNorm is (x - mean) / √(variance + ε) · weight + bias; a formula without ε blows nearly constant vectors up."
)
SOURCE = "Ba et al. 2016; without ε in lecture slides"
CLAIMS = (73, 74)
PREDICT = "A vector whose deviation is 0.001, ε = 1e-5: by which share is it shorter than without ε? (0 to 1)"
CHANGE = "EPSILON=1e-3, then 1e-12: at which deviation do the two part?"
TURN = {"EPSILON": (1e-12, 1e-5, 1e-3)}

WIDTH, EPSILON = 64, 1e-5
SMALL = 0.001
DEVIATIONS = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)

Norm = Callable[[Tensor, Tensor, Tensor, float], Tensor]


@torch.no_grad()
def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    """The package's own, as a function of x (…, D), its weight and its bias (D,)."""
    module = LayerNorm(x.shape[-1], epsilon).to(x)
    module.weight.copy_(weight)
    module.bias.copy_(bias)
    normalized: Tensor = module(x)
    return normalized


def without_epsilon(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=0, keepdim=True) * weight + bias


def compare(normalize: Norm) -> tuple[float, float, dict[float, float]]:
    """The difference to the formula with ε, what becomes of a constant vector, and lengths by deviation."""
    x, weight, bias = torch.randn(3, WIDTH, dtype=torch.float64)
    one, zero = torch.ones_like(x), torch.zeros_like(x)
    expected = (x - x.mean()) / (x.var(correction=0) + EPSILON).sqrt() * weight + bias
    constant = normalize(one, one, zero, EPSILON).nan_to_num(1.0)  # no number is as wrong as 1 where 0 is right
    unit = (x - x.mean()) / x.std(correction=0)
    lengths = {
        deviation: (normalize(deviation * unit, one, zero, EPSILON).norm() / unit.norm()).item()
        for deviation in sorted({*DEVIATIONS, SMALL})
    }
    difference = normalize(x, weight, bias, EPSILON) - expected
    return difference.abs().max().item(), constant.abs().max().item(), lengths


def run(seeds: Sequence[int], layer_norm: Norm = layer_norm) -> Finding:
    measured = over(seeds, lambda: compare(layer_norm))
    shorter = [1 - lengths[SMALL] for *_, lengths in measured]
    return Finding(
        [
            # 0.5: half is gone, so that nothing of this vector is blown up to the length of the others
            Effect(f"the share of its length that ε takes from a vector of deviation {SMALL:g}", shorter, least=0.5),
            Exact("the difference to the formula with ε", [difference for difference, *_ in measured]),
            Exact("the largest number that becomes of a constant vector", [constant for _, constant, _ in measured]),
        ],
        Table.from_rows(
            {"deviation of x": deviation, **mean_row("length", [lengths[deviation] for *_, lengths in measured])}
            for deviation in DEVIATIONS
        ),
    )


def draw(finding: Finding) -> Picture:
    rules = {"without ε": 1.0}
    return CurvePicture(finding.table, "deviation of x", "length", interval=("low", "high"), log="x", rules=rules)


def broken(seeds: Sequence[int]) -> Finding:
    """The formula of the slides, without ε."""
    return run(seeds, layer_norm=without_epsilon)
