"""Attention is not linear either."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.rows import mean_row
from regard.labs.seeds import over
from regard.model.attention import Attention, AttentionFunction, attend
from regard.model.layers import FeedForward
from regard.model.masks import position_ids_of
from regard.model.positions import Positions
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "Feed-forward is there to introduce non-linearity, for attention is linear."
SOURCE = "lectures on Transformers"
CLAIMS = (31,)
PREDICT = "f(x + y) and f(x) + f(y) are equal if f is linear. How far apart are they for attention, relative to both?"
CHANGE = "SCALE=0.1, then 3: at which length of the vectors is attention closest to linear?"
TURN = {"SCALE": (0.1, 0.3, 1.0, 3.0)}

WIDTH, TOKENS, SCALE = 32, 16, 1.0

Layer = Callable[[Tensor], Tensor]


def make_attention(attention_function: AttentionFunction) -> Layer:
    attention = Attention(WIDTH, 2, Positions(), bias=False, attend=attention_function)

    def attend_to_self(x: Tensor) -> Tensor:
        position_ids = position_ids_of(x[..., 0])
        output: Tensor = attention(x, attention.project_kv(x, position_ids), None, position_ids)
        return output

    return attend_to_self


def make_feed_forward() -> Layer:
    return FeedForward(WIDTH, 4 * WIDTH, F.relu, bias=False, dropout=0.0)


@torch.no_grad()
def miss(make_layer: Callable[[], Layer]) -> float:
    """How far f(x + y) is from f(x) + f(y), relative to the longer of the two: 0 if f is linear."""
    layer = make_layer()
    x, y = SCALE * torch.randn(2, 8, TOKENS, WIDTH)
    together, apart = layer(x + y), layer(x) + layer(y)
    return ((together - apart).norm() / torch.maximum(together.norm(), apart.norm())).item()


def run(seeds: Sequence[int], attend: AttentionFunction = attend) -> Finding:
    makers: dict[str, Callable[[], Layer]] = {
        "attention": partial(make_attention, attend),
        "feed-forward": make_feed_forward,
    }
    misses = {name: over(seeds, partial(miss, make)) for name, make in makers.items()}
    return Finding(
        # 0.01: what is linear but for rounding is far below, and what differs by more is not linear
        [Effect("the difference between f(x + y) and f(x) + f(y) of attention", misses["attention"], most=0.01)],
        Table.from_rows({"f": name, **mean_row("difference", values)} for name, values in misses.items()),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "f", "difference", interval=("low", "high"))


def mean_of_values(q: Tensor, k: Tensor, v: Tensor, *rest: object) -> tuple[Tensor, None]:
    """Fixed weights: every query takes the mean."""
    return v.mean(dim=-2, keepdim=True).expand_as(q), None


def control(seeds: Sequence[int]) -> Finding:
    """Attention with fixed weights, which is linear."""
    return run(seeds, attend=mean_of_values)
