"""A decoder of two layers knows order without positions."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

import torch
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.build import build_decoder
from regard.model.masks import causal_mask, position_ids_of
from regard.model.modules import evaluation_mode
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "Without positions the Transformer is a bag of words, its decoder as well."
SOURCE = "lectures on Transformers; against it Haviv et al. 2022"
CLAIMS = (37,)
PREDICT = "Two layers, all tokens before the last are shuffled: by which share of itself does the last state move?"
CHANGE = "LAYERS=(1, 2, 4, 8): does it grow with depth?"
TURN = {"TOKENS": (5, 11, 47)}

LAYERS, TOKENS, DIM, VOCAB, SEEDS = (1, 2, 3), 11, 32, 50, 20

Mask = Callable[[int], Tensor]


def measure(causal_mask: Mask, layers: int) -> float:
    """How far the last state moves when all tokens before it are shuffled, as a share of its length."""
    config = ModelConfig(dim=DIM, heads=4, layers=layers, ffn=2 * DIM, positions=PositionsConfig(kind="none"))
    model = build_decoder(config, VOCAB, pad=0).double()
    ids = 1 + torch.randperm(VOCAB - 1)[None, :TOKENS]  # all different
    shuffled = torch.cat((ids[:, :-1].roll(1, dims=1), ids[:, -1:]), dim=1)
    with torch.no_grad(), evaluation_mode(model):
        last, other = (model.decoder(one, causal_mask(TOKENS), position_ids_of(one))[0, -1] for one in (ids, shuffled))
    return float((last - other).norm() / last.norm())


def run(seeds: Sequence[int], causal_mask: Mask = causal_mask) -> Finding:
    measured = {layers: over(seeds, partial(measure, causal_mask, layers)) for layers in LAYERS}
    deeper = [layers for layers in LAYERS if layers > 1]
    return Finding(
        [
            *(
                # 0.01: what is less than a hundredth of the state could still be called a bag
                Effect(f"the change of the last state with {layers} layers", measured[layers], most=0.01)
                for layers in deeper
            ),
            *(Exact("the change of the last state with 1 layer", measured[1]) for _ in {1} & set(LAYERS)),
        ],
        Table.from_rows({"layers": str(layers), "change": fmean(values)} for layers, values in measured.items()),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "layers", "change")


def broken(seeds: Sequence[int]) -> Finding:
    """Without the causal mask, which is what tells places apart: a bag at any depth."""
    return run(seeds, causal_mask=lambda length: torch.ones(length, length, dtype=torch.bool))
