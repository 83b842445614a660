"""In a decoder, half of the biases never learn."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.build import build_decoder
from regard.model.masks import causal_mask, position_ids_of
from regard.model.positions import LearnedBias, Relative
from regard.report.pictures import MatrixPicture, Picture
from regard.report.table import Table

CLAIM = "Biases by distance are 2(T - 1) + 1 learned numbers for each head, or 2k + 1 if distances are clipped to k."
SOURCE = "discussion sheet of a course on deep learning"
CLAIMS = (67, 71)
PREDICT = "11 tokens, 2 heads: 42 biases. How many of them never get a gradient in a causal decoder?"
CHANGE = "TOKENS=3, then 101: which share is it?"
TURN = {"TOKENS": (3, 11, 31)}

TOKENS, HEADS, MAX_RELATIVE = 11, 2, 4

Mask = Callable[[int], Tensor]


def gradients(mask: Mask) -> Tensor:
    """Of the biases (H, 2T - 1) of a layer, after one backward pass with this mask."""
    positions = PositionsConfig(kind="bias", length=TOKENS)
    model = build_decoder(ModelConfig(dim=16, heads=HEADS, layers=1, ffn=16, positions=positions), 50, pad=0)
    ids = torch.randint(1, 50, (3, TOKENS))
    states = model.eval().decoder(ids, mask(TOKENS), position_ids_of(ids))
    (states * torch.randn_like(states)).sum().backward()
    (table,) = (module.table for module in model.modules() if isinstance(module, LearnedBias))
    assert table.grad is not None
    return table.grad


def attend_to_all(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool)


def clipping_errors() -> tuple[float, float]:
    """Distances with an embedding of their own, compared with 2k + 1; what clipped distances differ by."""
    relative, ids = Relative(16, MAX_RELATIVE), torch.arange(TOKENS)[None]
    scores = relative.bias(torch.ones(1, 1, TOKENS, 16), ids, ids)[0, 0]  # (T, T); each query is the same
    clipped = scores[-1, : TOKENS - MAX_RELATIVE]  # from the last token, k and more to the left
    return abs(len(relative.keys) - (2 * MAX_RELATIVE + 1)), float((clipped - clipped[0]).detach().abs().max())


def run(seeds: Sequence[int], causal_mask: Mask = causal_mask) -> Finding:
    decoder, encoder = (over(seeds, partial(gradients, mask)) for mask in (causal_mask, attend_to_all))
    counts, differences = zip(*over(seeds, clipping_errors), strict=True)
    return Finding(
        [
            Exact("the number of biases without a gradient in a decoder", [float((g == 0).sum()) for g in decoder], 0),
            Exact("the number of biases without a gradient in an encoder", [float((g == 0).sum()) for g in encoder], 0),
            Exact("what is missing to 2k + 1 embeddings of clipped distances", counts, 0),
            Exact("the difference between scores of distances beyond k", [float(one) for one in differences], 0),
        ],
        Table(
            {
                str(distance): [float(decoder[0][h, n] != 0) for h in range(HEADS)]
                for n, distance in enumerate(range(1 - TOKENS, TOKENS))
            }
        ),
    )


def draw(finding: Finding) -> Picture:
    return MatrixPicture.from_table(
        finding.table, row_title="head", column_title="distance of the key", value_title="1: gets a gradient"
    )


def broken(seeds: Sequence[int]) -> Finding:
    """A decoder without a causal mask: every bias learns."""
    return run(seeds, causal_mask=attend_to_all)
