"""Of the schemes that see distances, one goes on at sixteen times the training length."""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import n_back
from regard.labs.effects import Effect
from regard.labs.finding import Finding, Need
from regard.labs.rows import accuracy_row
from regard.labs.seeds import over
from regard.model.build import build_decoder, use_parts
from regard.model.positions import ALiBi, alibi_slopes
from regard.model.positions.build import SCHEMES, Scheme
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table
from regard.training.toy import measure_accuracy, train_on_task

CLAIM = "Relative, rotary and ALiBi positions see distances instead of places, so they carry over to longer texts."
SOURCE = "Shaw et al. 2018; Su et al. 2021; Press et al. 2022; lectures on Transformers"
CLAIMS = (56, 58, 59)
PREDICT = "The symbol two before, learned on 16 tokens: which share is right at 256 with relative positions?"
CHANGE = "BACK=1: what can ALiBi do that it cannot with 2? MAX_RELATIVE=16: what changes for relative positions?"
TURN = {"BACK": (1, 2, 3)}

LENGTHS = (16, 64, 256)  # the first one is that of the training
STEPS, WIDTH, SYMBOLS, BACK, MAX_RELATIVE = 150, 32, 8, 2, 4
TEXTS, LAST = 32, 8
"""What is asked: the last tokens of each of TEXTS texts."""

Slopes = Callable[[int], Sequence[float]]


def learn(positions: str) -> list[float]:
    """The accuracy at each length of a decoder that has learned to say the symbol BACK before."""
    scheme = PositionsConfig(kind=positions, max_relative=MAX_RELATIVE)
    c = ModelConfig(dim=WIDTH, layers=1, heads=2, ffn=2 * WIDTH, dropout=0.0, positions=scheme)
    model = build_decoder(c, SYMBOLS + 1, pad=0, num_labels=SYMBOLS)
    train_on_task(model, lambda: n_back(32, LENGTHS[0], SYMBOLS, BACK), STEPS, learning_rate=1e-2)
    batches = [n_back(TEXTS, length, SYMBOLS, BACK).asked_last(LAST) for length in LENGTHS]
    return [measure_accuracy(model, batch) for batch in batches]


def make_alibi(slopes: Slopes, heads: int) -> ALiBi:
    alibi = ALiBi(heads)
    alibi.slopes = torch.tensor(slopes(heads))
    return alibi


def run(
    seeds: Sequence[int],
    alibi_slopes: Slopes = alibi_slopes,
    schemes: Sequence[str] = ("relative", "rotary", "alibi"),
) -> Finding:
    alibi = Scheme(attention=lambda shape, c: make_alibi(alibi_slopes, shape.heads), shared=True)
    with use_parts(SCHEMES, alibi=alibi):
        accuracies = {name: list(zip(*over(seeds, partial(learn, name)), strict=True)) for name in schemes}
    longest, grain = LENGTHS[-1], 1 / (TEXTS * LAST)
    return Finding(
        # 0.9: who has learned the task makes no more than a tenth of errors
        [
            Effect(
                f"the accuracy with {name} positions at {longest} tokens", values[-1], least=0.9, grain=grain, limit=1
            )
            for name, values in accuracies.items()
        ],
        Table.from_rows(
            {"tokens": length, "positions": name, **accuracy_row(values)}
            for name in schemes
            for length, values in zip(LENGTHS, accuracies[name], strict=True)
        ),
        [Need(f"{schemes[0]} positions have learned the task at {LENGTHS[0]} tokens", accuracies[schemes[0]][0], 0.9)],
    )


def draw(finding: Finding) -> Picture:
    rules = {"chance": 1 / SYMBOLS}
    return CurvePicture(finding.table, "tokens", "accuracy", "positions", ("low", "high"), log="x", rules=rules)


def broken(seeds: Sequence[int]) -> Finding:
    """Places instead of distances: sinusoidal positions."""
    return run(seeds, schemes=("sinusoidal",))
