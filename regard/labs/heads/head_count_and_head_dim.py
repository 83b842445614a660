"""More heads or wider heads: at a fixed width each is the price of the other."""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import Attention
from regard.model.positions import Positions
from regard.model.taps import record
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "More heads see more aspects of a text, and wider heads are more expressive."
SOURCE = "lectures on Transformers"
CLAIMS = (26,)
PREDICT = "Width 64, 64 tokens: how many times as large is the rank of a head's scores with 2 heads as with 4?"
CHANGE = "TOKENS=8: why does nothing get lost now?"
TURN = {"TOKENS": (8, 16, 64)}

DIM, TOKENS, HEADS = 64, 64, (1, 2, 4, 8, 16)

MakeAttention = Callable[[int, int], Attention]


def make_attention(dim: int, heads: int) -> Attention:
    return Attention(dim, heads, Positions())


def score_ranks(make_attention: MakeAttention, heads: int) -> tuple[float, float]:
    """The mean rank of a head's scores, of how many patterns of who matches whom they are made; that of all heads."""
    attention = make_attention(DIM, heads).double()
    x, position_ids = torch.randn(1, TOKENS, DIM, dtype=torch.float64), torch.arange(TOKENS)[None]
    with torch.no_grad(), record(attention, "scores") as tensors:
        attention(x, attention.project_kv(x, position_ids), None, position_ids)
    ranks = torch.linalg.matrix_rank(tensors["scores"][0])  # (H, T, T) -> (H,)
    return float(ranks.double().mean()), float(ranks.sum())


def run(seeds: Sequence[int], make_attention: MakeAttention = make_attention) -> Finding:
    measured = {heads: over(seeds, partial(score_ranks, make_attention, heads)) for heads in HEADS}
    few, many = measured[HEADS[1]], measured[HEADS[2]]
    pairs = list(zip(few, many, strict=True))
    return Finding(
        [
            # 1.5: half as many patterns more, which is what "more expressive" promises of twice the width
            Effect(
                f"the rank of a head's scores with {HEADS[1]} heads, over that with {HEADS[2]}",
                [wide / narrow for (wide, _), (narrow, _) in pairs],
                least=1.5,
            ),
            # 1.5: the same for what all heads have together
            Effect(
                f"the ranks of all heads together with {HEADS[2]} heads, over those with {HEADS[1]}",
                [more / fewer for (_, fewer), (_, more) in pairs],
                least=1.5,
            ),
        ],
        Table.from_rows(
            {"heads": heads, "rank": sum(one[n] for one in measured[heads]) / len(seeds), "of": what}
            for n, what in enumerate(("the scores of a head", "all heads together"))
            for heads in HEADS
        ),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "heads", "rank", "of", log="xy")


def broken(seeds: Sequence[int]) -> Finding:
    """One head as wide as the model, however many are asked for: nothing grows, and nothing is paid."""
    return run(seeds, make_attention=lambda dim, heads: Attention(dim, 1, Positions()))
