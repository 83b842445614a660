"""Sinusoidal positions do not carry over to longer texts."""

from collections.abc import Sequence
from functools import partial

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import n_back
from regard.labs.effects import Effect
from regard.labs.finding import Finding, Need
from regard.labs.rows import accuracy_row
from regard.labs.seeds import over
from regard.model.build import build_decoder
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table
from regard.training.toy import measure_accuracy, train_on_task

CLAIM = "Sinusoidal positions are fixed, so a model generalizes to lengths that it has not seen in training."
SOURCE = "lectures on Transformers; Vaswani et al. 2017, section 3.5, as a hope"
CLAIMS = (47, 48, 53, 83)
PREDICT = "The symbol two before, learned on 16 tokens: which share is right at 32 tokens? (chance: 0.125)"
CHANGE = "STEPS=400: does longer training help at 32 tokens? LENGTHS=64,96,128: do longer training texts?"
TURN = {"STEPS": (75, 150, 300)}

LENGTHS = (16, 24, 32, 64)  # the first one is that of the training
STEPS, WIDTH, SYMBOLS = 150, 32, 8
SCHEMES = "sinusoidal", "learned", "rotary", "relative"
TEXTS, LAST = 64, 8
"""What is asked: the last tokens of each of TEXTS texts."""


def learn(positions: str) -> list[float]:
    """The accuracy at each length of a decoder that has learned to say the symbol two before."""
    scheme = PositionsConfig(kind=positions, length=max(LENGTHS), max_relative=4)
    c = ModelConfig(dim=WIDTH, layers=1, heads=2, ffn=2 * WIDTH, dropout=0.0, positions=scheme)
    model = build_decoder(c, SYMBOLS + 1, pad=0, num_labels=SYMBOLS)
    train_on_task(model, lambda: n_back(32, LENGTHS[0], SYMBOLS, n=2), STEPS, learning_rate=1e-2)
    batches = [n_back(TEXTS, length, SYMBOLS, n=2).asked_last(LAST) for length in LENGTHS]
    return [measure_accuracy(model, batch) for batch in batches]


def run(seeds: Sequence[int], positions: str = "sinusoidal") -> Finding:
    """`positions`: the scheme that the claim is about; the others are shown beside it."""
    accuracies = {scheme: list(zip(*over(seeds, partial(learn, scheme)), strict=True)) for scheme in SCHEMES}
    at_training_length, *_, at_twice, _ = accuracies[positions]
    grain = 1 / (TEXTS * LAST)
    return Finding(
        # 0.9: who has learned the task makes no more than a tenth of errors
        [
            Effect(
                f"the accuracy of {positions} positions at {LENGTHS[-2]} tokens",
                at_twice,
                least=0.9,
                grain=grain,
                limit=1,
            )
        ],
        Table.from_rows(
            {"tokens": length, "positions": scheme, **accuracy_row(values)}
            for scheme in SCHEMES
            for length, values in zip(LENGTHS, accuracies[scheme], strict=True)
        ),
        [Need(f"{positions} positions have learned the task at {LENGTHS[0]} tokens", at_training_length, least=0.9)],
    )


def draw(finding: Finding) -> Picture:
    rules = {"chance": 1 / SYMBOLS}
    return CurvePicture(finding.table, "tokens", "accuracy", "positions", ("low", "high"), log="x", rules=rules)


def control(seeds: Sequence[int]) -> Finding:
    """The same task with relative positions, which see the distance of two instead of places."""
    return run(seeds, positions="relative")
