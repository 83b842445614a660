"""Near positions are alike; far ones are not unlike enough."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.positions import sinusoid
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "The dot product of sinusoidal codes falls with the distance: it is high for near positions and 0 for far ones."
SOURCE = "discussion sheet of a course on deep learning"
CLAIMS = (44, 45)
PREDICT = "d = 16: of two positions up to 32 away, how often has the nearer one the larger dot product? (0.5 is chance)"
CHANGE = "NEAR=8: for how many positions is the order right at d = 16?"
TURN = {"NEAR": (4, 8, 16, 32, 64)}

WIDTHS, NEAR, FAR = (16, 64, 256), 32, 1000
DISTANCES = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 1000)

Sinusoid = Callable[[Tensor, int], Tensor]


def measure(sinusoid: Sinusoid, dim: int) -> tuple[float, Tensor]:
    """How often the nearer of two positions is the more alike, and the cosine at each distance from 0 to FAR."""
    start = int(torch.randint(FAR, ()))
    codes = sinusoid(torch.arange(start, start + FAR + 1), dim)
    cosines = torch.cosine_similarity(codes, codes[:1], dim=-1)  # (FAR + 1,)
    near = cosines[1 : NEAR + 1]
    first, second = torch.triu_indices(NEAR, NEAR, offset=1)  # all pairs of distances
    return float((near[first] > near[second]).double().mean()), cosines


def run(seeds: Sequence[int], sinusoid: Sinusoid = sinusoid) -> Finding:
    measured = {dim: over(seeds, partial(measure, sinusoid, dim)) for dim in WIDTHS}
    return Finding(
        [
            *(
                # 0.95: one pair of twenty may be out of order
                Effect(f"the share of pairs in order at d = {dim}", [share for share, _ in measured[dim]], least=0.95)
                for dim in WIDTHS
            ),
            # 0.5 and 0.1: more than half of the length in common, and next to nothing
            *(
                Effect(f"the cosine of neighbors at d = {dim}", [float(one[1]) for _, one in measured[dim]], least=0.5)
                for dim in WIDTHS[-1:]
            ),
            *(
                Effect(
                    f"the cosine at distance {FAR}, d = {dim}", [float(one[FAR]) for _, one in measured[dim]], most=0.1
                )
                for dim in WIDTHS[-1:]
            ),
        ],
        Table.from_rows(
            {
                "distance": distance,
                "cosine": sum(float(one[distance]) for _, one in rows) / len(rows),
                "d": f"d = {dim}",
            }
            for dim, rows in measured.items()
            for distance in DISTANCES
            if distance <= FAR
        ),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "distance", "cosine", "d", log="x")


def broken(seeds: Sequence[int]) -> Finding:
    """The same codes, dealt to positions at random: alike or not, whichever the distance."""

    def permuted(position_ids: Tensor, dim: int) -> Tensor:
        return sinusoid(torch.randperm(2 * FAR)[: len(position_ids)], dim)

    return run(seeds, sinusoid=permuted)
