"""What reaches the last token from the first: thinly spread by attention, gone in a recurrent network."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from regard.baselines.recurrent import RecurrentModel
from regard.config import ModelConfig
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.rows import mean_row
from regard.labs.seeds import over
from regard.model.attention import AttentionFunction, attend
from regard.model.build import ATTENDS, build_decoder, use_parts
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "Attention connects the most distant tokens directly, while the gradient of a recurrent network vanishes."
SOURCE = "Vaswani et al. 2017, section 4; Bengio et al. 1994"
CLAIMS = (2, 3, 80)
PREDICT = "From 4 to 64 tokens of distance: how many powers of ten of its gradient does a GRU lose? (0 to 20)"
CHANGE = "DISTANCES=4,16,64,1024: does attention lose more than the share of one token among all?"
TURN = {"WIDTH": (8, 32, 64)}

DISTANCES, WIDTH, ROWS, SYMBOLS = (4, 16, 64, 256), 32, 4, 8
"""The loss is judged between the first and the last but one distance: beyond, a GRU's gradient is 0."""


def find_embedding(model: nn.Module) -> nn.Module:
    return next(module for name, module in model.named_modules() if name.split(".")[-1] == "embedding")


def measure_gradients(build_model: Callable[[], nn.Module]) -> list[float]:
    """The gradient of the last state by the vector of the token at each distance, at initialization."""
    model = build_model()
    norms = []
    for distance in DISTANCES:
        ids = torch.randint(1, SYMBOLS + 1, (ROWS, distance + 1))
        vectors: list[Tensor] = []
        handle = find_embedding(model).register_forward_hook(
            lambda *inputs, vectors=vectors: vectors.append(inputs[-1])
        )
        states = model(ids)
        handle.remove()
        (gradient,) = torch.autograd.grad((states[:, -1] * torch.randn(ROWS, WIDTH)).sum(), vectors)
        norms.append(gradient[:, 0].norm(dim=1).mean().item())
    return norms


def build_transformer(attention: AttentionFunction) -> nn.Module:
    with use_parts(ATTENDS, softmax=attention):
        c = ModelConfig(dim=WIDTH, layers=1, heads=2, ffn=2 * WIDTH, dropout=0.0)
        return build_decoder(c, SYMBOLS + 1, pad=0)


def lost_powers(norms: Sequence[float]) -> float:
    """The powers of ten between the first and the last but one distance; what is below 1e-20 counts as gone."""
    return math.log10(max(norms[0], 1e-20) / max(norms[-2], 1e-20))


def run(seeds: Sequence[int], attend: AttentionFunction = attend) -> Finding:
    models: dict[str, Callable[[], nn.Module]] = {
        "attention": partial(build_transformer, attend),
        "GRU": lambda: RecurrentModel(SYMBOLS + 1, WIDTH, SYMBOLS),
    }
    gradients = {name: over(seeds, partial(measure_gradients, build)) for name, build in models.items()}
    lost = {name: [lost_powers(norms) for norms in rows] for name, rows in gradients.items()}
    near, far = DISTANCES[0], DISTANCES[-2]
    return Finding(
        [
            # 3: a thousandth is left, which is what "vanishes" means
            Effect(f"the powers of ten that a GRU loses from {near} to {far} tokens", lost["GRU"], least=3.0),
            # the share of one of n tokens falls as 1/n, by 1.2 powers of ten here; twice that would be another reason
            Effect("the powers of ten that attention loses", lost["attention"], most=2 * math.log10(far / near)),
        ],
        Table.from_rows(
            {"distance in tokens": distance, "model": name, **positive_row([norms[n] for norms in rows])}
            for name, rows in gradients.items()
            for n, distance in enumerate(DISTANCES)
        ),
    )


def positive_row(norms: Sequence[float]) -> dict[str, float | None]:
    if min(norms) < 1e-20:  # which has no place on a logarithmic axis
        return {"gradient": None, "low": None, "high": None}
    row = mean_row("gradient", [math.log10(norm) for norm in norms])
    return {name: 10**value for name, value in row.items()}


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "distance in tokens", "gradient", "model", ("low", "high"), log="xy")


def broken(seeds: Sequence[int]) -> Finding:
    """Attention to the last five tokens only: what is farther away has no way to the end."""
    return run(seeds, attend=lambda q, k, v, mask, *rest: attend(q, k, v, mask & mask.tril().triu(-4), *rest))
