"""Without residuals it is the signal that dies, not the gradient."""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import nn

from regard.config import ModelConfig
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.rows import mean_row
from regard.labs.seeds import over
from regard.model.build import RESIDUALS, build_encoder, use_parts
from regard.model.layers import PreNorm, Residual
from regard.model.taps import record
from regard.model.variants import NoResidual
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "Without residual connections the gradient vanishes on its way down a deep stack, and so does the signal."
SOURCE = "lectures on Transformers; for the signal Dong et al. 2021 (rank collapse)"
CLAIMS = (79,)
PREDICT = (
    "12 layers with norms, no residuals: how many powers of ten does the gradient lose from last to first? (0 to 9)"
)
CHANGE = "LAYERS=2: which share of the differences between tokens is left then?"
TURN = {"LAYERS": (2, 4, 12)}

LAYERS, WIDTH, ROWS, LENGTH, SYMBOLS = 12, 32, 16, 16, 20

SHARES: dict[str, Callable[[Sequence[float]], float]] = {
    "differences between tokens": lambda row: 1.0,  # which are a share of the length of states
    "gradient": lambda row: row[-1],  # that of the last layer
}

MakeResidual = Callable[[nn.Module, float], Residual]


def measure(residual: MakeResidual) -> tuple[list[float], list[float]]:
    """By layer: how far tokens are from their mean, as a share of their length, and the gradient of their states."""
    with use_parts(RESIDUALS, pre=residual):
        c = ModelConfig(dim=WIDTH, layers=LAYERS, heads=2, ffn=2 * WIDTH, dropout=0.0)
        model = build_encoder(c, SYMBOLS + 1, pad=0, num_labels=SYMBOLS)
    ids = torch.randint(1, SYMBOLS + 1, (ROWS, LENGTH))
    with record(model, "encoder.layers.*.out", gradients=True) as taps:
        F.cross_entropy(model.output(model(ids)).flatten(0, 1), (ids - 1).flatten()).backward()
    states = [taps[f"encoder.layers.{n}.out"] for n in range(LAYERS)]  # (B, T, D) each
    differences = [((x - x.mean(dim=1, keepdim=True)).norm() / x.norm()).item() for x in states]
    return differences, [x.grad.norm().item() for x in states if x.grad is not None]


def run(seeds: Sequence[int], residual: MakeResidual = NoResidual) -> Finding:
    """`residual`: what stands in place of residual connections."""
    arms: dict[str, MakeResidual] = {"with residuals": PreNorm, "without": residual}
    measured = {name: over(seeds, lambda kind=kind: measure(kind)) for name, kind in arms.items()}  # type: ignore[misc]
    lost_powers = [math.log10(gradients[-1] / gradients[0]) for _, gradients in measured["without"]]
    lost_signal = [1 - differences[-1] for differences, _ in measured["without"]]
    return Finding(
        [
            # 2: a hundredth is left, which is what "vanishes" means; 0.9: a tenth is left
            Effect(
                "the number of powers of ten that the gradient loses from the last layer to the first", lost_powers, 2.0
            ),
            Effect(f"the share of the differences between tokens that is lost after {LAYERS} layers", lost_signal, 0.9),
        ],
        Table.from_rows(
            {"layer": n + 1, "of": f"{of}, {name}", **positive_row([row[n] / whole(row) for row in columns])}
            for name, rows in measured.items()
            for (of, whole), columns in zip(SHARES.items(), zip(*rows, strict=True), strict=True)
            for n in range(LAYERS)
        ),
    )


def positive_row(values: Sequence[float]) -> dict[str, float]:
    """The mean and the interval of logarithms, for a logarithmic axis."""
    row = mean_row("share that is left", [math.log10(value) for value in values])
    return {name: 10**value for name, value in row.items()}


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "layer", "share that is left", "of", ("low", "high"), log="y")


def broken(seeds: Sequence[int]) -> Finding:
    """Residuals on both sides: neither gradient nor signal is lost."""
    return run(seeds, residual=PreNorm)
