"""Fast waves for what is near, slow waves for what is far."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.data.toy_tasks import ToyBatch, n_back, which_part
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.rows import accuracy_row
from regard.labs.seeds import over
from regard.model.build import build_decoder, use_parts
from regard.model.positions import Absolute, sinusoid
from regard.model.positions.build import SCHEMES, Scheme
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import measure_accuracy, train_on_task

CLAIM = "Waves of many frequencies let a model use what is near as well as what is far."
SOURCE = "lectures on Transformers; Vaswani et al. 2017, section 3.5"
CLAIMS = (46,)
PREDICT = "Only waves longer than 48 tokens: how much accuracy is lost for the symbol two before? (0 to 1)"
CHANGE = "FAST=64: are somewhat longer waves enough for the eighth of a text?"
TURN = {"FAST": (8, 16, 32, 64)}
FAST, SLOW = 16, 48  # the longest of the fast waves and the shortest of the slow ones, in tokens
STEPS = (150, 40)  # of the near task, and of the far one
WIDTH, SYMBOLS, PARTS, LENGTH, SEEDS = 32, 8, 8, 64, 3

Sinusoid = Callable[[Tensor, int], Tensor]
TASKS: dict[str, Callable[[], ToyBatch]] = {
    "the symbol two before": lambda: n_back(16, 32, SYMBOLS, n=2),
    "the eighth of the text": lambda: which_part(8, LENGTH, SYMBOLS, PARTS),
}


def select_waves(sinusoid: Sinusoid, shortest: float, longest: float) -> Sinusoid:
    """The same encodings, with 0 in place of the waves that are shorter or longer."""

    def encode(position_ids: Tensor, dim: int) -> Tensor:
        wavelengths = 2 * math.pi * 10_000 ** (torch.arange(0, dim, 2) / dim).repeat_interleave(2)[:dim]
        return sinusoid(position_ids, dim) * ((wavelengths >= shortest) & (wavelengths <= longest))

    return encode


class FunctionPositions(Absolute):
    """Adds what a function of positions returns."""

    def __init__(self, encode: Sinusoid, dim: int):
        super().__init__()
        self.encode, self.dim = encode, dim

    def vectors(self, position_ids: Tensor, like: Tensor) -> Tensor:
        return self.encode(position_ids, self.dim).to(like)


def learn(encode: Sinusoid, task: str) -> float:
    """The accuracy of a decoder with these encodings that was trained on a task."""
    with use_parts(SCHEMES, sinusoidal=Scheme(embedding=lambda shape, c: FunctionPositions(encode, shape.dim))):
        c = ModelConfig(dim=WIDTH, layers=1, heads=2, ffn=2 * WIDTH, dropout=0.0)
        model = build_decoder(c, SYMBOLS + 1, pad=0, num_labels=max(SYMBOLS, PARTS))
    train_on_task(model, TASKS[task], dict(zip(TASKS, STEPS, strict=True))[task], learning_rate=1e-2)
    return measure_accuracy(model, TASKS[task]())


def run(seeds: Sequence[int], sinusoid: Sinusoid = sinusoid) -> Finding:
    waves = {
        "all": sinusoid,
        f"up to {FAST} tokens": select_waves(sinusoid, 0, FAST),
        f"from {SLOW} tokens on": select_waves(sinusoid, SLOW, math.inf),
    }
    accuracies = {(name, task): over(seeds, partial(learn, waves[name], task)) for name in waves for task in TASKS}
    (_, fast, slow), (near, far) = waves, TASKS

    def lost(name: str, task: str) -> list[float]:
        return [a - b for a, b in zip(accuracies["all", task], accuracies[name, task], strict=True)]

    return Finding(
        [
            # 0.2: of ten answers two more are wrong, which is what it means to need the waves
            Effect(f"the accuracy that is lost for {near} without fast waves", lost(slow, near), least=0.2),
            Effect(f"the accuracy that is lost for {far} without slow waves", lost(fast, far), least=0.2),
        ],
        Table.from_rows(
            {"task": task, "waves": name, **accuracy_row(values)} for (name, task), values in accuracies.items()
        ),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "task", "accuracy", series="waves", interval=("low", "high"))


def broken(seeds: Sequence[int]) -> Finding:
    """A formula that has fast waves only: no slow ones are there to be missed."""
    return run(seeds, sinusoid=select_waves(sinusoid, 0, FAST))
