"""LayerNorm does not normalize what attention puts out."""

from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.rows import mean_row
from regard.labs.seeds import over
from regard.model.build import RESIDUALS, build_encoder, use_parts
from regard.model.layers import PostNorm, PreNorm, Residual, Sublayer
from regard.model.taps import record
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "LayerNorm stands after each sublayer and normalizes the output of multi-head attention."
SOURCE = "lecture slides; for both placements Vaswani et al. 2017 and Xiong et al. 2020"
CLAIMS = (72, 75)
PREDICT = "Pre-norm: what attention adds has a deviation of 1 if it is normalized. How far from 1 is it? (0 to 1)"
CHANGE = "LAYERS=24: how far does the residual stream grow with pre-norm, and with post-norm?"
TURN = {"LAYERS": (2, 8, 24)}

LAYERS, WIDTH, ROWS, LENGTH, SYMBOLS, SEEDS = 8, 32, 16, 16, 20, 8


class NormOfOutput(Residual):
    """x + norm(f(x)): as the claim has it."""

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        return self.after(x + self.norm(sublayer(x)))


def measure(residual: type[Residual]) -> tuple[list[float], list[float]]:
    """By layer the standard deviation of what attention adds, and that of the residual stream."""
    added: list[Tensor] = []

    class WatchedResidual(residual):  # type: ignore[misc, valid-type]
        def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
            self.x = x
            return super().forward(x, sublayer)

        def after(self, x: Tensor) -> Tensor:
            added.append(x - self.x)
            return super().after(x)

    with use_parts(RESIDUALS, pre=WatchedResidual):
        c = ModelConfig(dim=WIDTH, layers=LAYERS, heads=2, ffn=2 * WIDTH, dropout=0.0)
        model = build_encoder(c, SYMBOLS + 1, pad=0).eval()
    with torch.no_grad(), record(model, "encoder.layers.*.out") as states:
        model(torch.randint(1, SYMBOLS + 1, (ROWS, LENGTH)))
    by_attention = [one.std().item() for one in added[::2]]  # the others are by feed-forward
    return by_attention, [states[f"encoder.layers.{n}.out"].std().item() for n in range(LAYERS)]


def distance(by_attention: Sequence[float]) -> float:
    return sum(abs(deviation - 1) for deviation in by_attention) / len(by_attention)


def run(seeds: Sequence[int], residuals: Mapping[str, type[Residual]] | None = None) -> Finding:
    placements = residuals or {"pre-norm": PreNorm, "post-norm": PostNorm}
    measured = {name: over(seeds, partial(measure, residual)) for name, residual in placements.items()}
    return Finding(
        [
            # 0.05: what is normalized has a deviation of 1 but for ε
            Effect(
                f"the distance from 1 of the deviation of what attention adds, {name},",
                [distance(by_attention) for by_attention, _ in rows],
                most=0.05,
            )
            for name, rows in measured.items()
        ],
        Table.from_rows(
            {"layer": n + 1, "of": f"{of}, {name}", **mean_row("standard deviation", column)}
            for name, rows in measured.items()
            for of, columns in zip(("what attention adds", "residual stream"), zip(*rows, strict=True), strict=True)
            for n, column in enumerate(zip(*columns, strict=True))
        ),
    )


def draw(finding: Finding) -> Picture:
    rules = {"normalized": 1.0}
    return CurvePicture(finding.table, "layer", "standard deviation", "of", ("low", "high"), rules=rules)


def control(seeds: Sequence[int]) -> Finding:
    """A residual that normalizes the output, as the claim has it."""
    return run(seeds, residuals={"norm of the output": NormOfOutput})
