"""A new state is one mean of values: most of the sequence is not in it."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import attend
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "The new representation of a token encodes the whole sequence."
SOURCE = "a student's report on tuning"
CLAIMS = (12,)
PREDICT = "11 tokens with values of 5 numbers: which share of the 55 numbers can be read from one new state? (0 to 1)"
CHANGE = "TOKENS=1: when is it the whole sequence?"
TURN = {"TOKENS": (1, 2, 5, 11)}

TOKENS, HEAD_DIM = 11, 5

Attend = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def share_kept(attend: Attend, tokens: int) -> float:
    """The rank of the map from all values to one new state, as a share of the values.

    For given weights this map is linear, and its rank is how many numbers of the sequence can be read from the state.
    """
    q, k, v = (torch.randn(length, HEAD_DIM, dtype=torch.float64) for length in (1, tokens, tokens))
    jacobian = torch.autograd.functional.jacobian(lambda values: attend(q, k, values)[0].flatten(), v)
    return float(torch.linalg.matrix_rank(jacobian.flatten(1))) / v.numel()  # (K, T, K) -> (K, T·K)


def run(seeds: Sequence[int], attend: Attend = attend) -> Finding:
    measured = {tokens: over(seeds, partial(share_kept, attend, tokens)) for tokens in sorted({1, 2, 3, 5, 8, TOKENS})}
    return Finding(
        # 0.9: "the whole sequence" may lack a tenth
        [Effect("the share of the values' numbers that one state determines", measured[TOKENS], least=0.9)],
        Table.from_rows({"tokens": tokens, "share": sum(shares) / len(shares)} for tokens, shares in measured.items()),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "tokens", "share", rules={"the whole sequence": 1})


def control(seeds: Sequence[int]) -> Finding:
    """A "state" that is as wide as the sequence, with all values side by side: everything is in it."""
    return run(seeds, attend=lambda q, k, v: (v, torch.ones(len(q), len(k))))
