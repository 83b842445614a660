"""The weights of a query sum to 1; those of a key do not."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import masked_softmax, score
from regard.report.pictures import MatrixPicture, Picture
from regard.report.table import Table

CLAIM = "The attention weights of a query are probabilities: they sum to 1 over its keys, and not over the queries."
SOURCE = "lectures on Transformers; Bahdanau et al. 2015, section 3.1"
CLAIMS = (10,)
PREDICT = "11 tokens: by how much do the weights that one token *receives* miss a sum of 1, on average?"
CHANGE = "TOKENS=101: do the columns come closer to 1?"
TURN = {"TOKENS": (5, 11, 23)}

TOKENS, HEAD_DIM = 11, 64

Normalizer = Callable[[Tensor], Tensor]


def weigh(masked_softmax: Normalizer) -> Tensor:
    """Attention weights (TOKENS, TOKENS) of random queries and keys: a row for each query."""
    q, k = torch.randn(2, 1, 1, TOKENS, HEAD_DIM, dtype=torch.float64)
    return masked_softmax(score(q, k))[0, 0]


def miss(weights: Tensor, dim: int) -> Tensor:
    return (weights.sum(dim) - 1).abs()


def run(seeds: Sequence[int], masked_softmax: Normalizer = masked_softmax) -> Finding:
    weights = over(seeds, lambda: weigh(masked_softmax))
    rows = [float(miss(w, -1).max()) for w in weights]
    columns = [float(miss(w, 0).mean()) for w in weights]
    return Finding(
        [
            # 0.05: more than rounding could explain
            Effect("the mean distance from 1 of the sum over the queries of a key", columns, least=0.05),
            Exact("the largest distance from 1 of the sum over the keys of a query", rows),
            Exact("the largest weight below 0", [float(-w.clamp(max=0).min()) for w in weights], tolerance=0),
        ],
        Table(
            {str(n + 1): [*column.tolist(), float(column.sum())] for n, column in enumerate(weights[0].T)}
            | {"sum": [*weights[0].sum(-1).tolist(), None]}
        ),
    )


def draw(finding: Finding) -> Picture:
    return MatrixPicture.from_table(finding.table, [*list(finding.table.columns)[:-1], "sum"])


def broken(seeds: Sequence[int]) -> Finding:
    """The softmax over the other axis: the weights of a key sum to 1, those of a query do not."""
    return run(seeds, masked_softmax=lambda scores: scores.softmax(dim=-2))
