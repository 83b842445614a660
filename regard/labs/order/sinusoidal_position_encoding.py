"""Each position has a code, and a shift is a rotation."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.positions import sinusoid
from regard.report.pictures import MatrixPicture, Picture
from regard.report.table import Table

CLAIM = "Sinusoids give each position a code of its own, all equally long, and a shift by k is one fixed linear map."
SOURCE = "Vaswani et al. 2017, section 3.5; lectures on Transformers"
CLAIMS = (40, 41, 42, 43)
PREDICT = "2,048 positions, d = 64: how far apart are the two codes that are nearest? (each has a length of 5.7)"
CHANGE = "BASE=100: which of the properties suffers? The code of broken(): why do all but one still hold?"
TURN = {"DIM": (8, 16, 64, 256)}

POSITIONS, DIM, BASE = 2048, 64, 10_000.0

Sinusoid = Callable[[Tensor, int, float], Tensor]


def written_out(position: int) -> Tensor:
    """PE(p, 2i) = sin(p / base^(2i/d)), PE(p, 2i+1) = cos(p / base^(2i/d)), number by number."""
    code = []
    for i in range(DIM // 2):
        angle = position / BASE ** (2 * i / DIM)
        code += [math.sin(angle), math.cos(angle)]
    return torch.tensor(code, dtype=torch.float64)


def rotate(codes: Tensor, code_of_shift: Tensor) -> Tensor:
    """Each pair (sin a, cos a) of codes (T, D) turned by the angle of a pair (sin b, cos b): that of a + b."""
    (sin_a, cos_a), (sin_b, cos_b) = (codes[:, ::2], codes[:, 1::2]), (code_of_shift[::2], code_of_shift[1::2])
    return torch.stack((sin_a * cos_b + cos_a * sin_b, cos_a * cos_b - sin_a * sin_b), dim=-1).flatten(-2)


def measure(sinusoid: Sinusoid) -> tuple[float, float, float, float]:
    """Distance of the nearest codes; errors of lengths, of the rotation by a random shift, of the formula."""
    position_ids, shift = torch.arange(POSITIONS), int(torch.randint(1, POSITIONS, ()))
    codes = sinusoid(position_ids, DIM, BASE)
    nearest = torch.cdist(codes, codes).fill_diagonal_(math.inf).min()
    lengths = (codes.norm(dim=-1) - math.sqrt(DIM / 2)).abs().max()
    turned = (rotate(codes, codes[shift]) - sinusoid(position_ids + shift, DIM, BASE)).abs().max()
    formula = max(float((codes[p] - written_out(p)).abs().max()) for p in (0, 1, shift, POSITIONS - 1))
    return float(nearest), float(lengths), float(turned), formula


def run(seeds: Sequence[int], sinusoid: Sinusoid = sinusoid) -> Finding:
    nearest, lengths, turned, formula = zip(*over(seeds, lambda: measure(sinusoid)), strict=True)
    return Finding(
        [
            # 0.5: a tenth of their length, which neither rounding nor noise of a few percent would hide
            Effect("the distance of the nearest two codes", nearest, least=0.5),
            Exact("the largest difference of a code's length from √(d/2)", lengths),
            Exact("the largest difference between shifted codes and rotated ones", turned),
            Exact("the largest difference from the formula, written out", formula),
        ],
        Table({str(n): sinusoid(torch.arange(32), DIM, BASE)[:, n].tolist() for n in range(min(32, DIM))}),
    )


def draw(finding: Finding) -> Picture:
    names = [str(n) for n in range(len(finding.table))]
    picture = MatrixPicture.from_table(finding.table, names, row_title="position", column_title="dimension")
    return replace(picture, value_title="code", domain=(-1.0, 1.0))


def broken(seeds: Sequence[int]) -> Finding:
    """i read as the dimension instead of the pair: every exponent doubles. All properties hold; the values do not."""
    return run(seeds, sinusoid=lambda position_ids, dim, base: sinusoid(position_ids, dim, base**2))
