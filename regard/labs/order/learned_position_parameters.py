"""A learned table of positions costs next to nothing."""

from collections.abc import Sequence

import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.build import build_encoder
from regard.model.modules import evaluation_mode
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.planning.cost import ParameterCounts, compute_parameter_counts

CLAIM = "Learned positions add a vector for each position, so they cost more memory and computation than sinusoids."
SOURCE = "lectures on Transformers"
CLAIMS = (51, 52)
PREDICT = "The base model of 2017, 512 positions: which share of its parameters is the table? (0 to 1)"
CHANGE = "LENGTH=8192: from which length on would the table be noticed?"
TURN = {"LENGTH": (128, 512, 2048, 8192)}

LENGTH, DIM, LAYERS, VOCAB = 512, 512, 6, 37_000  # Vaswani et al. 2017, table 3; one vocabulary for both sides
TOKENS, SMALL_DIM = 31, 64


def count(kind: str) -> ParameterCounts:
    """Of an encoder-decoder; its two stacks have a table each."""
    positions = PositionsConfig(kind=kind, length=LENGTH)
    config = ModelConfig(dim=DIM, heads=8, layers=LAYERS, ffn=4 * DIM, positions=positions)
    return compute_parameter_counts(config, VOCAB, VOCAB, joint_vocab=True)


def count_operations(kind: str) -> float:
    """Of one pass of a small encoder; those of matrix products, which a look-up has none of."""
    positions = PositionsConfig(kind=kind, length=LENGTH)
    model = build_encoder(ModelConfig(dim=SMALL_DIM, heads=4, layers=2, positions=positions), 100, pad=0).double()
    with torch.no_grad(), evaluation_mode(model), FlopCounterMode(display=False) as counter:
        model(torch.randint(1, 100, (2, TOKENS)))
    return float(counter.get_total_flops())


def run(seeds: Sequence[int], kind: str = "learned") -> Finding:
    counts, table = count("sinusoidal"), count(kind).positions
    growth = over(seeds, lambda: count_operations(kind) / count_operations("sinusoidal"))
    parts = {"embeddings": counts.embeddings, "encoder": counts.encoder, "decoder": counts.decoder, "positions": table}
    return Finding(
        [
            # 0.05 and 1.05: a cost of less than a twentieth decides nothing
            Effect("the table's share of all parameters", [table / (counts.total + table)] * len(seeds), least=0.05),
            Effect("the operations for each one with sinusoids", growth, least=1.05),
            Exact("what is missing to a vector for each position, in numbers", [abs(table - 2 * LENGTH * DIM)], 0),
        ],
        Table({"parameters of": list(parts), "millions": [round(number / 1e6, 2) for number in parts.values()]}),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "parameters of", "millions")


def broken(seeds: Sequence[int]) -> Finding:
    """No positions: nothing is added, so nothing costs."""
    return run(seeds, kind="none")
