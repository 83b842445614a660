"""Without norms the gradient of a deep stack explodes, and it does not learn."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch.nn.functional as F
from torch import nn

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import marked_symbols
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.rows import accuracy_row
from regard.labs.seeds import over
from regard.model.build import NORMS, build_decoder, use_parts
from regard.model.layers import LayerNorm
from regard.model.single_stack import DecoderOnly
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import answer, measure_accuracy, train_on_task

CLAIM = "LayerNorm stabilizes the training of a deep stack and improves its convergence."
SOURCE = "Ba et al. 2016; lectures on Transformers"
CLAIMS = (76,)
PREDICT = "8 layers, one marked symbol of 8 to find: how much accuracy is lost without norms? (0 to 0.88)"
CHANGE = "LAYERS=2: does a shallow stack need norms? LAYERS=16: and a deeper one?"
TURN = {"LAYERS": (2, 4, 8)}

LAYERS, STEPS, WIDTH, LENGTH, SYMBOLS, SEEDS = 8, 80, 32, 8, 8, 3
TEXTS, MODELS = 256, 8

MakeNorm = Callable[[int, float], nn.Module]


def make_model(make_norm: MakeNorm) -> DecoderOnly:
    with use_parts(NORMS, layer=make_norm):
        positions = PositionsConfig(kind="rotary")
        c = ModelConfig(dim=WIDTH, layers=LAYERS, heads=2, ffn=2 * WIDTH, dropout=0.0, positions=positions)
        return build_decoder(c, 2 * SYMBOLS + 1, pad=0, num_labels=SYMBOLS)


def first_gradient(model: DecoderOnly) -> float:
    """The power of ten of the first layer's gradient."""
    batch = marked_symbols(64, LENGTH, SYMBOLS)
    F.cross_entropy(answer(model, batch).flatten(0, 1), batch.targets.flatten()).backward()
    first = model.decoder.layers[0].get_parameter("self_attn.v_proj.weight").grad
    assert first is not None
    return math.log10(first.norm().item())


def learn(make_norm: MakeNorm) -> tuple[float, float]:
    """The power of ten of the first layer's gradient before training, mean of some models, and the accuracy of one."""
    power = sum(first_gradient(make_model(make_norm)) for _ in range(MODELS)) / MODELS
    model = make_model(make_norm)
    train_on_task(model, lambda: marked_symbols(16, LENGTH, SYMBOLS), STEPS, learning_rate=5e-3)
    return power, measure_accuracy(model, marked_symbols(TEXTS, LENGTH, SYMBOLS))


def run(seeds: Sequence[int], layer_norm: MakeNorm = LayerNorm) -> Finding:
    arms: dict[str, MakeNorm] = {"with norms": layer_norm, "without norms": lambda dim, epsilon: nn.Identity()}
    measured = {name: over(seeds, partial(learn, make_norm)) for name, make_norm in arms.items()}
    pairs = list(zip(*measured.values(), strict=True))
    return Finding(
        [
            # 0.3: more than twice what chance gives; 1: ten times as long, so that no learning rate fits both
            Effect(
                "the accuracy that is lost without norms",
                [a[1] - b[1] for a, b in pairs],
                0.3,
                grain=1 / TEXTS,
                limit=1,
            ),
            Effect(
                "the powers of ten by which the first gradient grows without norms",
                [b[0] - a[0] for a, b in pairs],
                1.0,
            ),
        ],
        Table.from_rows(
            {"stack": name, **accuracy_row([accuracy for _, accuracy in rows])} for name, rows in measured.items()
        ),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "stack", "accuracy", interval=("low", "high"))


def broken(seeds: Sequence[int]) -> Finding:
    """Norms that do nothing: both stacks are the same."""
    return run(seeds, layer_norm=lambda dim, epsilon: nn.Identity())
