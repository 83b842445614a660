"""Rotary scores see differences of positions."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import score
from regard.model.positions import Rotary, sinusoid
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "Rotary positions turn queries and keys, so that a score depends on the difference of positions alone."
SOURCE = "Su et al. 2021; lectures on Transformers"
CLAIMS = (59,)
PREDICT = "The same words stand 1,000 positions later: by how much does a score change at most?"
CHANGE = "SHIFT=1000000: does it still hold, and by how much less exactly?"
TURN = {"SHIFT": (1, 1000, 1000000)}

ROWS, TOKENS, HEAD_DIM, SHIFT = 32, 31, 16, 1000

Rotate = Callable[[Tensor, Tensor], Tensor]


def rotate(q: Tensor, position_ids: Tensor) -> Tensor:
    """Queries or keys (B, H, T, K), turned by their positions (B, T) as the package does it."""
    return Rotary(HEAD_DIM).rotate(q, position_ids)


def add_sinusoids(q: Tensor, position_ids: Tensor) -> Tensor:
    return q + sinusoid(position_ids, HEAD_DIM)[:, None]


def curve(rotate: Rotate, q: Tensor, k: Tensor, start: int) -> Tensor:
    """Scores (B, TOKENS) of one query at `start` and the same key at each position from there on."""
    ids = torch.arange(start, start + TOKENS)[None]
    keys = k[:, :, :1].expand(-1, -1, TOKENS, -1)
    return score(rotate(q[:, :, :1], ids[:, :1]), rotate(keys, ids))[:, 0, 0]


def measure(rotate: Rotate) -> tuple[float, float, float, dict[str, Tensor]]:
    """What a shift changes, what a turn changes in length; how scores differ by distance; curves for the picture."""
    q, k = torch.randn(2, ROWS, 1, TOKENS, HEAD_DIM, dtype=torch.float64)
    ids = torch.arange(TOKENS)[None]
    scores, shifted = (score(rotate(q, one), rotate(k, one)) for one in (ids, ids + SHIFT))
    lengths = (rotate(q, ids).norm(dim=-1) - q.norm(dim=-1)).abs().max()
    curves = {
        f"{name}, from position {start}": curve(how, q, k, start)[0]
        for name, how in (("rotary", rotate), ("sinusoids added", add_sinusoids))
        for start in (0, SHIFT)
    }
    by_distance = curve(rotate, q, k, 0).std(dim=-1).mean()
    return float((scores - shifted).abs().max()), float(lengths), float(by_distance), curves


def run(seeds: Sequence[int], rotate: Rotate = rotate) -> Finding:
    shifts, lengths, spreads, curves = zip(*over(seeds, lambda: measure(rotate)), strict=True)
    return Finding(
        [
            Exact("the largest change of a score by a shift of all positions", shifts),
            Exact("the largest change of a length by turning", lengths),
            # 0.1: of scores that vary by 1 between words, a tenth can be noticed
            Effect("the deviation of one score over distances", spreads, least=0.1),
        ],
        Table.from_rows(
            {"distance": n, "score": float(value), "how": name}
            for name, values in curves[0].items()
            for n, value in enumerate(values)
        ),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "distance", "score", "how")


def broken(seeds: Sequence[int]) -> Finding:
    """Sinusoids that are added to queries and keys: where the words stand matters, too."""
    return run(seeds, rotate=add_sinusoids)
