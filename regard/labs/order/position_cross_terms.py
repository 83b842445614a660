"""Cross terms of words and positions are not small."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

import torch
from torch import Tensor, nn

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import Attention, score
from regard.model.positions import Positions, sinusoid
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "Where positions are added, the scores' cross terms of word and position are small at initialization."
SOURCE = "discussion sheet of a course on deep learning"
CLAIMS = (61, 62, 63)
PREDICT = "d = 1024, q = W_q(x + p), k = W_k(x + p): which share of what differs between keys are cross terms? (0 to 1)"
CHANGE = "TOKENS=257: do cross terms grow with the length? Concatenate, then project: are they gone?"
TURN = {"TOKENS": (11, 31, 101)}

WIDTHS, TOKENS, POSITION_SHARE, SEEDS = (16, 64, 256, 1024), 31, 4, 15

Sinusoid = Callable[[Tensor, int], Tensor]
Map = Callable[[Tensor], Tensor]


def cross_share(words: Tensor, places: Tensor, q_proj: Map, k_proj: Map) -> tuple[float, float]:
    """The share of cross terms in the variance of scores over keys; how far the four terms are from the score."""
    pairs = [(a, b) for a in (words, places) for b in (words, places)]
    terms = [score(q_proj(a), k_proj(b)) for a, b in pairs]  # word·word, word·place, place·word, place·place
    whole = score(q_proj(words + places), k_proj(words + places))
    variances = [float(term.var(dim=-1).mean()) for term in (terms[0], terms[1] + terms[2], terms[3])]
    return variances[1] / sum(variances), float((sum(terms) - whole).abs().max())


def measure(sinusoid: Sinusoid, dim: int) -> dict[str, tuple[float, float]]:
    """For embeddings of unit variance, as a model has them at first, and the projections that it begins with."""
    attention = Attention(dim, 1, Positions(), bias=False).double()
    for linear in (attention.q_proj, attention.k_proj):
        nn.init.xavier_uniform_(linear.weight)
    same, width = nn.Identity(), dim // POSITION_SHARE  # of the position, where it is concatenated
    words, ids = torch.randn(TOKENS, dim, dtype=torch.float64), torch.arange(TOKENS)
    left = torch.cat((words[:, width:], torch.zeros(TOKENS, width, dtype=torch.float64)), dim=1)
    right = torch.cat((torch.zeros_like(words[:, width:]), sinusoid(ids, width)), dim=1)
    with torch.no_grad():
        return {
            "added, projected": cross_share(words, sinusoid(ids, dim), attention.q_proj, attention.k_proj),
            "added": cross_share(words, sinusoid(ids, dim), same, same),
            "concatenated, projected": cross_share(left, right, attention.q_proj, attention.k_proj),
            "concatenated": cross_share(left, right, same, same),
        }


def run(seeds: Sequence[int], sinusoid: Sinusoid = sinusoid) -> Finding:
    measured = {dim: over(seeds, partial(measure, sinusoid, dim)) for dim in WIDTHS}
    widest = measured[WIDTHS[-1]]
    return Finding(
        [
            # 0.1: what is small is a tenth at most; of four equal terms the two would be a half
            *(
                Effect(
                    f"the share of cross terms at d = {WIDTHS[-1]}, {name}", [one[name][0] for one in widest], most=0.1
                )
                for name in ("added, projected", "added", "concatenated, projected")
            ),
            Exact("the cross terms, concatenated", [one["concatenated"][0] for one in widest]),
            Exact("the difference of four terms from the score", [one["added, projected"][1] for one in widest]),
        ],
        Table.from_rows(
            {"d": dim, "share of cross terms": fmean(one[name][0] for one in rows), "positions": name}
            for name in widest[0]
            for dim, rows in measured.items()
        ),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "d", "share of cross terms", "positions", log="x")


def broken(seeds: Sequence[int]) -> Finding:
    """A learned table as it begins, with a deviation of 0.02: too short to be of any weight."""
    return run(seeds, sinusoid=lambda ids, dim: 0.02 * torch.randn(len(ids), dim, dtype=torch.float64))
