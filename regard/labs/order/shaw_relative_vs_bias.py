"""Shaw's relative positions are more than a bias."""

from collections.abc import Callable, Sequence
from statistics import fmean

import torch
from torch import Tensor, nn

from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.modules import count_parameters
from regard.model.positions import LearnedBias, Positions, Relative
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "A learned bias for each head and distance is essentially the relative positions of Shaw et al. 2018."
SOURCE = "discussion sheet of a course on deep learning"
CLAIMS = (68, 69)
PREDICT = "Which share of the variation of Shaw's bias is explained by head and distance alone? (0 to 1)"
CHANGE = "HEAD_DIM=2: do queries in fewer dimensions agree more?"
TURN = {"HEAD_DIM": (2, 8, 16, 64)}

TOKENS, HEADS, HEAD_DIM = 31, 4, 16

MakePositions = Callable[[], Positions]


def make_relative() -> Positions:
    """As published, without clipping: a vector for each distance, which all heads share."""
    return Relative(HEAD_DIM, TOKENS - 1)


def make_bias() -> Positions:
    """A number for each head and distance, random as if it had been learned."""
    positions = LearnedBias(HEADS, TOKENS)
    nn.init.normal_(positions.table)
    return positions


def by_distance(bias: Tensor) -> list[Tensor]:
    """Biases (H, n) at each distance that at least half of the queries have, from left to right."""
    return [bias.diagonal(offset, dim1=-2, dim2=-1) for offset in range(-(TOKENS // 2), TOKENS // 2 + 1)]


def measure(make_positions: MakePositions) -> tuple[float, float, list[Tensor]]:
    """The share of variance that head and distance explain; numbers of a bias for each of this scheme; biases."""
    positions, ids = make_positions(), torch.arange(TOKENS)[None]
    with torch.no_grad():
        bias = positions.bias(torch.randn(1, HEADS, TOKENS, HEAD_DIM), ids, ids)
    assert bias is not None
    distances = by_distance(bias[0])
    rest = fmean(float(one.var(dim=-1, correction=0).mean()) for one in distances)
    whole = float(torch.cat(distances, dim=-1).var(dim=-1, correction=0).mean())
    return 1 - rest / whole, count_parameters(make_bias()) / count_parameters(positions), distances


def run(seeds: Sequence[int], make_positions: MakePositions = make_relative) -> Finding:
    explained, numbers, biases = zip(*over(seeds, lambda: measure(make_positions)), strict=True)
    return Finding(
        [
            # 0.9: what a table by head and distance could replace but for a tenth is essentially that table
            Effect("the share of the variation that head and distance explain", explained, least=0.9),
            Effect("the learned numbers of a bias for each one of this scheme", numbers, least=0.9),
        ],
        Table.from_rows(
            {"distance": n - TOKENS // 2, "bias": float(one[0, query]), "of": f"query {query + 1}"}
            for query in (0, 5, 10)
            for n, one in enumerate(biases[0])
        ),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "distance", "bias", "of")


def control(seeds: Sequence[int]) -> Finding:
    """The bias itself."""
    return run(seeds, make_positions=make_bias)
