"""A table of positions costs memory, a little, and no multiplication."""

from collections.abc import Sequence

import torch

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Counted
from regard.labs.finding import Finding
from regard.labs.operations import count_operations
from regard.model.build import build_encoder
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.planning.cost import compute_parameter_counts

CLAIM = "Learned positions add parameters, so they cost memory and computation; sinusoids are efficient."
SOURCE = "lectures on Transformers"
CLAIMS = (51, 52)
PREDICT = "A table for 512 positions in the base model of 2017: which share of its parameters is it? (0 to 1)"
CHANGE = "LENGTH=8192: which share is the table then?"
TURN = {"LENGTH": (128, 512, 2048, 8192)}

LENGTH, WIDTH, LAYERS, VOCAB = 512, 512, 6, 37_000  # the base model of Vaswani et al. 2017
KINDS = "sinusoidal", "learned", "rotary"


def count_parameters(kind: str) -> tuple[int, int]:
    """Of the positions of the encoder, and of the whole model."""
    scheme = PositionsConfig(kind=kind, length=LENGTH)
    c = ModelConfig(dim=WIDTH, layers=LAYERS, heads=8, ffn=4 * WIDTH, positions=scheme)
    counts = compute_parameter_counts(c, VOCAB, VOCAB, joint_vocab=True)
    return counts.positions // 2, counts.total


def count_multiplications(kind: str) -> int:
    """Of a small encoder that reads 11 tokens: of matrix products, and so of everything that a look-up is not."""
    scheme = PositionsConfig(kind=kind, length=LENGTH)
    model = build_encoder(ModelConfig(dim=32, layers=1, heads=2, ffn=64, positions=scheme), vocab_size=7, pad=0).eval()
    with torch.no_grad(), count_operations() as operations:
        model(torch.ones(1, 11, dtype=torch.long))
    return operations.multiplications


def run(seeds: Sequence[int], positions: str = "learned") -> Finding:
    parameters = {kind: count_parameters(kind) for kind in dict.fromkeys((*KINDS, positions))}
    of_positions, of_model = parameters[positions]
    more = count_multiplications(positions) - count_multiplications("none")
    return Finding(
        [
            # 0.01: below a hundredth, a cost changes no decision
            Counted("the share of the table in the parameters of the model", of_positions / of_model, least=0.01),
            Counted("the number of parameters of the table", of_positions, least=1),
            Counted("the number of multiplications that positions add to a pass", more, least=1),
        ],
        Table.from_rows({"positions": kind, "parameters": counts[0]} for kind, counts in parameters.items()),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "positions", "parameters")


def broken(seeds: Sequence[int]) -> Finding:
    """A formula in place of the table: nothing is added."""
    return run(seeds, positions="sinusoidal")
