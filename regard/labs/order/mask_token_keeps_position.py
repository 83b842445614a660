"""[MASK] hides a word, not its place."""

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from statistics import fmean

import torch

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.build import build_encoder
from regard.model.modules import evaluation_mode
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "Masking replaces a token but not its position; else all masked tokens would have the same representation."
SOURCE = "discussion sheet of a course on deep learning; Devlin et al. 2019"
CLAIMS = (114,)
PREDICT = "Three tokens are masked and their positions are hidden, too: how far apart are their states?"
CHANGE = "KINDS=rotary: is it the same where positions enter the scores?"
TURN = {"TOKENS": (7, 11, 31)}

TOKENS, DIM, LAYERS, VOCAB, SEEDS = 11, 32, 2, 50, 20
KINDS = ("sinusoidal", "learned", "rotary", "relative")
PLACES = (2, 5, 6)


def measure(kind: str) -> tuple[float, float]:
    """The mean distance of the states of masked tokens, as a share of their length: with positions, without."""
    config = ModelConfig(dim=DIM, heads=4, layers=LAYERS, ffn=2 * DIM, positions=PositionsConfig(kind=kind))
    model = build_encoder(config, VOCAB + 1, pad=0).double()
    places = torch.tensor(PLACES)
    ids = torch.randint(1, VOCAB, (1, TOKENS)).index_fill(1, places, VOCAB)
    known = torch.arange(TOKENS)[None]
    with torch.no_grad(), evaluation_mode(model):
        states = [model(ids, position_ids)[0, places] for position_ids in (known, known.index_fill(1, places, 0))]
    apart, hidden = (
        fmean(float((a - b).norm()) for a, b in combinations(one, 2)) / float(one.norm(dim=-1).mean()) for one in states
    )
    return apart, hidden


def run(seeds: Sequence[int], kinds: Sequence[str] = KINDS) -> Finding:
    measured = {kind: over(seeds, partial(measure, kind)) for kind in kinds}
    return Finding(
        [
            Exact(
                "the distance of masked states where positions are hidden",
                [max(hidden for _, hidden in rows) for rows in zip(*measured.values(), strict=True)],
            ),
            # 0.005: a two-hundredth of a state can be read off, rounding is below a millionth
            *(
                Effect(f"their distance with {kind} positions", [apart for apart, _ in rows], least=0.005)
                for kind, rows in measured.items()
            ),
        ],
        Table.from_rows(
            {"positions": kind, "distance": round(fmean(values), 2), "what is masked": name}
            for kind, rows in measured.items()
            for name, values in zip(("the token", "token and position"), zip(*rows, strict=True), strict=True)
        ),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "positions", "distance", "what is masked")


def broken(seeds: Sequence[int]) -> Finding:
    """A model without positions: nothing tells its masked tokens apart."""
    return run(seeds, kinds=("none",))
