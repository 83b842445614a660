"""A masked key has a weight of exactly 0."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.labs.effects import Exact
from regard.labs.finding import Finding, Need
from regard.labs.seeds import over
from regard.model.attention import masked_softmax, score
from regard.report.pictures import MatrixPicture, Picture
from regard.report.table import Table

CLAIM = "A masked score is −∞ before the softmax, so the weight of its key is exactly 0."
SOURCE = "Vaswani et al. 2017, section 3.2.3; lectures on Transformers"
CLAIMS = (13,)
PREDICT = "A query may attend to no key at all. What is the largest of its weights here? (0 to 1)"
CHANGE = "HIDDEN=0.9: do the weights of the keys that are left still sum to 1?"
TURN = {"HIDDEN": (0.1, 0.3, 0.5, 0.7, 0.9)}

TOKENS, HEAD_DIM, HIDDEN = 7, 64, 0.3

Normalizer = Callable[[Tensor, Tensor], Tensor]


def minus_infinity(scores: Tensor, attn_mask: Tensor) -> Tensor:
    """The recipe as it is usually printed."""
    return scores.masked_fill(~attn_mask, -math.inf).softmax(dim=-1)


def weigh(masked_softmax: Normalizer) -> tuple[Tensor, Tensor, Tensor]:
    """A random mask whose first query may attend to nothing, all others to themselves; weights here and with −∞."""
    attn_mask = (torch.rand(TOKENS, TOKENS) >= HIDDEN) | torch.eye(TOKENS, dtype=torch.bool)
    attn_mask[0] = False
    q, k = torch.randn(2, 1, 1, TOKENS, HEAD_DIM, dtype=torch.float64)
    scores = score(q, k)
    return attn_mask, masked_softmax(scores, attn_mask)[0, 0], minus_infinity(scores, attn_mask)[0, 0]


def run(seeds: Sequence[int], masked_softmax: Normalizer = masked_softmax) -> Finding:
    measured = over(seeds, lambda: weigh(masked_softmax))
    weights = [(mask, w.nan_to_num(nan=1.0)) for mask, w, _ in measured]  # what is not a number is not 0
    rest = [(w.sum(-1) - 1)[1:].abs().max() for _, w in weights]
    _, here, printed = measured[0]
    return Finding(
        [
            Exact("the largest weight in a row that is all masked", [float(w[0].max()) for _, w in weights], 0),
            Exact("the largest weight of a masked key", [float(w[~mask].max()) for mask, w in weights], 0),
            Exact("the largest distance from 1 of the sum over the keys that are left", [float(one) for one in rest]),
        ],
        Table({str(n + 1): [*here[:, n].tolist(), float(printed[0, n])] for n in range(TOKENS)}),
        [
            Need(
                "the share of NaN with −∞ where all is masked",
                [float(w[0].isnan().float().mean()) for *_, w in measured],
                1,
            )
        ],
    )


def draw(finding: Finding) -> Picture:
    queries = ["1, all masked", *(str(n + 1) for n in range(1, TOKENS)), "1, by −∞: NaN"]
    return MatrixPicture.from_table(finding.table, queries)


def broken(seeds: Sequence[int]) -> Finding:
    """A penalty of −5 instead of −∞: masked keys keep some weight."""
    return run(seeds, masked_softmax=lambda scores, attn_mask: (scores - 5.0 * ~attn_mask).softmax(dim=-1))
