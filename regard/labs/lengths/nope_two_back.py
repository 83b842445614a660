"""A small decoder without positions does not learn to count back."""

from collections.abc import Sequence
from functools import partial

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import n_back
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.rows import accuracy_row
from regard.labs.seeds import over
from regard.model.build import build_decoder
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import measure_accuracy, train_on_task

CLAIM = "A decoder without position encodings learns absolute and relative positions by itself."
SOURCE = "Haviv et al. 2022; Kazemnejad et al. 2023; answers of an assignment"
CLAIMS = (60,)
PREDICT = "The symbol two before, two layers, no positions, 100 steps: which share is right? (chance: 0.125)"
CHANGE = "STEPS=800, then LAYERS=3: how long does it take to find the causal mask as a source of positions?"
TURN = {"STEPS": (50, 100, 200)}

LENGTH, LAYERS, STEPS, WIDTH, SYMBOLS = 16, 2, 100, 32, 8
TEXTS, LAST = 64, 8
"""What is asked: the last tokens of each of TEXTS texts."""


def learn(positions: str) -> float:
    """The accuracy of a decoder that was trained to say the symbol two before."""
    scheme = PositionsConfig(kind=positions, length=LENGTH)
    c = ModelConfig(dim=WIDTH, layers=LAYERS, heads=2, ffn=2 * WIDTH, dropout=0.0, positions=scheme)
    model = build_decoder(c, SYMBOLS + 1, pad=0, num_labels=SYMBOLS)
    train_on_task(model, lambda: n_back(32, LENGTH, SYMBOLS, n=2), STEPS, learning_rate=1e-2)
    return measure_accuracy(model, n_back(TEXTS, LENGTH, SYMBOLS, n=2).asked_last(LAST))


def run(seeds: Sequence[int], positions: str = "none") -> Finding:
    names = list(dict.fromkeys((positions, "none", "relative")))
    accuracies = {name: over(seeds, partial(learn, name)) for name in names}
    return Finding(
        [
            Effect(
                f"the accuracy with {positions} as positions, {LAYERS} layers",
                accuracies[positions],
                least=0.9,  # who has learned the task makes no more than a tenth of errors
                grain=1 / (TEXTS * LAST),
                limit=1,
            )
        ],
        Table.from_rows({"positions": name, **accuracy_row(accuracies[name])} for name in names),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "positions", "accuracy", interval=("low", "high"))


def control(seeds: Sequence[int]) -> Finding:
    """The same decoder with relative positions."""
    return run(seeds, positions="relative")
