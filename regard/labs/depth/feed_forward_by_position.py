"""Feed-forward: the same for every token, and each token by itself."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.labs.effects import Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.layers import FeedForward
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "Feed-forward treats each position by itself and all alike: no token learns there of another."
SOURCE = "Vaswani et al. 2017, section 3.3"
CLAIMS = (30,)
PREDICT = "One of 11 tokens is changed: by how much does feed-forward change the others?"
CHANGE = "WIDTH=64: does anything change? Then compare with the nonlinearity_of_attention lab."
TURN = {"TOKENS": (5, 11, 23)}

TOKENS, WIDTH, CHANGED = 11, 7, 4

Layer = Callable[[Tensor], Tensor]


class NextTokens(nn.Module):
    """A convolution of width 3 in place of feed-forward: (B, T, D) -> (B, T, D)."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(WIDTH, WIDTH, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        mixed: Tensor = self.convolution(x.mT)
        return mixed.mT


def make_feed_forward() -> nn.Module:
    return FeedForward(WIDTH, 4 * WIDTH, F.relu, bias=True, dropout=0.0)


@torch.no_grad()
def compare(make_layer: Callable[[], nn.Module]) -> tuple[list[float], float]:
    """How each token changes with one of them, and what differs between permuting tokens before and after."""
    layer = make_layer().double()
    x = torch.randn(1, TOKENS, WIDTH, dtype=torch.float64)
    other, order = x.clone(), torch.randperm(TOKENS)
    other[:, CHANGED] += torch.randn(WIDTH)
    changes = (layer(other) - layer(x))[0].norm(dim=1).tolist()
    return changes, (layer(x[:, order]) - layer(x)[:, order]).abs().max().item()


def run(seeds: Sequence[int], feed_forward: Callable[[], nn.Module] = make_feed_forward) -> Finding:
    measured = over(seeds, lambda: compare(feed_forward))
    others = [max(change for n, change in enumerate(changes) if n != CHANGED) for changes, _ in measured]
    return Finding(
        [
            Exact("the largest change of another token", others, tolerance=0.0),
            Exact("the difference between permuting before and after", [difference for _, difference in measured]),
        ],
        Table({"token": [str(n) for n in range(TOKENS)], "change": measured[0][0]}),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "token", "change")


def broken(seeds: Sequence[int]) -> Finding:
    """A convolution in its place, which mixes neighbors."""
    return run(seeds, feed_forward=NextTokens)
