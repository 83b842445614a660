"""Post-norm needs a warm-up, pre-norm does not."""

from collections.abc import Callable, Sequence
from functools import partial

from torch import nn

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import marked_symbols
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.rows import accuracy_row
from regard.labs.seeds import over
from regard.model.build import RESIDUALS, build_decoder, use_parts
from regard.model.layers import PostNorm, PreNorm, Residual
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import measure_accuracy, train_on_task

CLAIM = "A deep stack with post-norm collapses without a warm-up of the learning rate; with pre-norm it needs none."
SOURCE = "Xiong et al. 2020"
CLAIMS = (82,)
PREDICT = "6 layers, post-norm, one marked symbol of 8 to find: how much accuracy does a warm-up gain? (0 to 0.88)"
CHANGE = "LEARNING_RATE=0.001: does post-norm need the warm-up at a low learning rate? LAYERS=2: at two layers?"
TURN = {"LAYERS": (2, 4, 6)}

LAYERS, STEPS, WARMUP, LEARNING_RATE = 6, 120, 90, 0.01
WIDTH, LENGTH, SYMBOLS, SEEDS, TEXTS = 32, 8, 8, 4, 256

MakeResidual = Callable[[nn.Module, float], Residual]


def learn(residual: MakeResidual, warmup: int) -> float:
    """The accuracy of a decoder that was trained to say which symbol is marked."""
    with use_parts(RESIDUALS, post=residual):
        positions = PositionsConfig(kind="rotary")
        c = ModelConfig(dim=WIDTH, layers=LAYERS, heads=2, ffn=2 * WIDTH, dropout=0.0, norm="post", positions=positions)
        model = build_decoder(c, 2 * SYMBOLS + 1, pad=0, num_labels=SYMBOLS)
    train_on_task(model, lambda: marked_symbols(16, LENGTH, SYMBOLS), STEPS, LEARNING_RATE, warmup)
    return measure_accuracy(model, marked_symbols(TEXTS, LENGTH, SYMBOLS))


def run(seeds: Sequence[int], residual: MakeResidual = PostNorm) -> Finding:
    arms: dict[str, tuple[MakeResidual, int]] = {
        "post-norm, with warm-up": (residual, WARMUP),
        "post-norm, without": (residual, 1),
        "pre-norm, without": (PreNorm, 1),
    }
    accuracies = {name: over(seeds, partial(learn, kind, steps)) for name, (kind, steps) in arms.items()}
    warm, cold, pre_norm = accuracies.values()
    gain = [one - other for one, other in zip(warm, cold, strict=True)]
    return Finding(
        [
            # 0.3: a third of the answers; 0.8: nearly all that there is to be learned
            Effect("the accuracy that a warm-up gains with post-norm", gain, least=0.3, grain=1 / TEXTS, limit=1),
            Effect("the accuracy with pre-norm and no warm-up", pre_norm, least=0.8, grain=1 / TEXTS, limit=1),
        ],
        Table.from_rows({"training": name, **accuracy_row(values)} for name, values in accuracies.items()),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "training", "accuracy", interval=("low", "high"))


def broken(seeds: Sequence[int]) -> Finding:
    """Pre-norm in place of post-norm."""
    return run(seeds, residual=PreNorm)
