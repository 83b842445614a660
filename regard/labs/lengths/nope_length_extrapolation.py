"""Without positions, what is found by its content is found at 64 times the training length."""

from collections.abc import Sequence
from functools import partial

import torch

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import marked_symbols
from regard.labs.effects import Effect
from regard.labs.finding import Finding, Need
from regard.labs.rows import accuracy_row
from regard.labs.seeds import over
from regard.model.build import build_decoder
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table
from regard.training.toy import measure_accuracy, train_on_task

CLAIM = "On texts far longer than in training, a decoder without position encodings can do better than one with them."
SOURCE = "Kazemnejad et al. 2023; answers of an assignment"
CLAIMS = (60, 84)
PREDICT = "One marked symbol, learned on up to 16 tokens: which share is right among 1024, without positions?"
CHANGE = "LENGTHS=16,64,256,2048: where does it end? The nope_two_back lab asks for what is found by its place."
TURN = {"STEPS": (50, 100, 200)}

LENGTHS = (16, 128, 1024)  # the first one is the longest in training
STEPS, WIDTH, SYMBOLS, SEEDS = 100, 32, 8, 9
SCHEMES = ("none", "sinusoidal", "rotary")
ROWS, BATCHES = 8, 2


def learn(positions: str) -> list[float]:
    """The accuracy at each length of a decoder that has learned to say which symbol is marked."""
    scheme = PositionsConfig(kind=positions)
    c = ModelConfig(dim=WIDTH, layers=1, heads=2, ffn=2 * WIDTH, dropout=0.0, positions=scheme)
    model = build_decoder(c, 2 * SYMBOLS + 1, pad=0, num_labels=SYMBOLS)

    def draw_length() -> int:
        return int(torch.randint(2, LENGTHS[0] + 1, ()))

    train_on_task(model, lambda: marked_symbols(32, draw_length(), SYMBOLS), STEPS, learning_rate=1e-2)
    return [
        sum(measure_accuracy(model, marked_symbols(ROWS, length, SYMBOLS)) for _ in range(BATCHES)) / BATCHES
        for length in LENGTHS
    ]


def run(seeds: Sequence[int], positions: str = "none") -> Finding:
    """`positions`: the scheme that the claim is about."""
    accuracies = {scheme: list(zip(*over(seeds, partial(learn, scheme)), strict=True)) for scheme in SCHEMES}
    longest, grain, farthest = LENGTHS[-1], 1 / (ROWS * BATCHES), accuracies[positions][-1]
    gain = [one - other for one, other in zip(farthest, accuracies["rotary"][-1], strict=True)]
    return Finding(
        [
            # 0.85: of what it has learned, nearly all; 0.1: more than a few texts
            Effect(
                f"the accuracy with {positions} as positions at {longest}", farthest, least=0.85, grain=grain, limit=1
            ),
            Effect(
                f"the gain of {positions} over rotary positions at {longest}", gain, least=0.1, grain=grain, limit=1
            ),
        ],
        Table.from_rows(
            {"tokens": length, "positions": scheme, **accuracy_row(values)}
            for scheme in SCHEMES
            for length, values in zip(LENGTHS, accuracies[scheme], strict=True)
        ),
        [Need(f"{scheme} has learned the task", accuracies[scheme][0], least=0.85) for scheme in SCHEMES],
    )


def draw(finding: Finding) -> Picture:
    rules = {"chance": 1 / SYMBOLS}
    return CurvePicture(finding.table, "tokens", "accuracy", "positions", ("low", "high"), log="x", rules=rules)


def broken(seeds: Sequence[int]) -> Finding:
    """With rotary positions in place of none."""
    return run(seeds, positions="rotary")
