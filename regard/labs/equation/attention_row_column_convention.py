"""Tokens as rows or as columns: the shape is right, the meaning is wrong."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding, Need
from regard.labs.seeds import over
from regard.model.attention import attend, masked_softmax
from regard.report.pictures import MatrixPicture, Picture
from regard.report.table import Table

CLAIM = "Where tokens are the columns of Q, K and V, attention is softmax(QKᵀ/√d)V."
SOURCE = "slides of a lecture on Transformers"
CLAIMS = (20,)
PREDICT = "Printed so, all other tokens' values are replaced: by which share of itself does a token's output change?"
CHANGE = "TOKENS=5, HEAD_DIM=5: would you have noticed?"
TURN = {"TOKENS": (5, 11, 23)}

TOKENS, HEAD_DIM = 11, 5

Formula = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def printed(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """softmax(QKᵀ/√d)V as it is printed, for columns (d, T)."""
    weights = masked_softmax(q @ k.mT / math.sqrt(len(q)))
    return weights @ v, weights


def in_columns(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """V softmax(KᵀQ/√d), each column of the weights a distribution over the keys."""
    weights = masked_softmax((k.mT @ q / math.sqrt(len(q))).mT).mT
    return v @ weights, weights


def measure(formula: Formula) -> tuple[float, float, Tensor, float]:
    """Distance from attention over rows; what others' values do to the first token; weights; whether shapes agree."""
    q, k, v, other = torch.randn(4, HEAD_DIM, TOKENS, dtype=torch.float64)
    output, weights = formula(q, k, v)
    rows = attend(q.mT, k.mT, v.mT)[0].mT
    changed, _ = formula(q, k, torch.cat((v[:, :1], other[:, 1:]), dim=1))
    moved = float((changed - output)[:, 0].norm() / output[:, 0].norm())
    return float((output - rows).abs().max()), moved, weights, float(output.shape == rows.shape)


def run(seeds: Sequence[int], formula: Formula = printed) -> Finding:
    distances, moves, weights, shapes = zip(*over(seeds, lambda: measure(formula)), strict=True)
    return Finding(
        [
            # 0.1: attention that hands over less than a tenth from others would not be called attention
            Effect("the change of a token's output when the values of all others change", moves, least=0.1),
            Exact("the largest distance from attention with tokens as rows", distances),
        ],
        Table({str(n + 1): column.tolist() for n, column in enumerate(weights[0].T)}),
        [Need("the shape of the output is that of V", shapes, least=1)],
    )


def draw(finding: Finding) -> Picture:
    what = "dimension" if len(finding.table) == HEAD_DIM else "token"
    return MatrixPicture.from_table(finding.table, row_title=f"{what} of Q", column_title=f"{what} of K")


def control(seeds: Sequence[int]) -> Finding:
    """The formula turned along with its matrices."""
    return run(seeds, formula=in_columns)
