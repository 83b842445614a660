"""Positions are added to word vectors by some schemes; the others act inside attention."""

from collections.abc import Sequence
from functools import partial

import torch

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.build import build_encoder
from regard.model.modules import evaluation_mode
from regard.model.taps import record
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "Position encodings are added to the word vectors before the first layer."
SOURCE = "lectures on Transformers; Vaswani et al. 2017, section 3.5"
CLAIMS = (39,)
PREDICT = "Of eight schemes of positions in use, which share changes what the first layer reads? (0 to 1)"
CHANGE = 'SCHEMES=("sinusoidal","learned"): of which year is the claim true?'

SCHEMES = ("sinusoidal", "learned", "concatenated", "relative", "bias", "t5", "alibi", "rotary")
TOKENS, VOCAB = 11, 17


def measure(scheme: str) -> tuple[float, float]:
    """By how much the same word differs at two positions: in what the first layer reads, and in its scores."""
    config = ModelConfig(dim=32, heads=2, layers=1, ffn=64, positions=PositionsConfig(kind=scheme, width=8))
    model = build_encoder(config, VOCAB, pad=0).double()
    for parameter in model.parameters():  # tables of biases begin at 0, and would say nothing
        torch.nn.init.normal_(parameter, std=0.3)
    ids = torch.full((1, TOKENS), 5)  # the same word everywhere
    with torch.no_grad(), evaluation_mode(model), record(model, "*embed", "*.scores") as tensors:
        model(ids)
    first = next(tensor for name, tensor in tensors.items() if name.endswith("embed"))[0]  # (T, D)
    scores = next(tensor for name, tensor in tensors.items() if name.endswith("scores"))[0]  # (H, T, T)
    return float(first.std(0).max()), float(scores.std(-1).max())


def run(seeds: Sequence[int], schemes: Sequence[str] | None = None) -> Finding:
    names = SCHEMES if schemes is None else schemes
    measured = {name: over(seeds, partial(measure, name)) for name in names}
    # 1e-9: what is equal differs by rounding alone
    added = [sum(measured[name][n][0] > 1e-9 for name in names) / len(names) for n in range(len(seeds))]
    inside = [sum(measured[name][n][1] > 1e-9 for name in names) / len(names) for n in range(len(seeds))]
    return Finding(
        [
            # 0.9: nine of ten, if it is to be said of position encodings as such
            Effect("the share of schemes that change what the first layer reads", added, least=0.9),
            Effect("the share of schemes for which scores then depend on positions", inside, least=0.9),
        ],
        Table.from_rows(
            {"scheme": name, "difference": max(one[n] for one in measured[name]), "in": where}
            for n, where in enumerate(("what the first layer reads", "its scores"))
            for name in names
        ),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "scheme", "difference", "in")


def broken(seeds: Sequence[int]) -> Finding:
    """The schemes of 2017 alone, of which the claim is true."""
    return run(seeds, schemes=("sinusoidal", "learned"))
