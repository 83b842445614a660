"""The same GRU, begun with open gates, remembers."""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from regard.baselines.recurrent import RecurrentModel
from regard.data.toy_tasks import marked_symbols
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.rows import accuracy_row
from regard.labs.seeds import over
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import measure_accuracy, train_on_task

CLAIM = "A recurrent network cannot learn what stands far back, because it reads step by step."
SOURCE = "lectures on Transformers; against it Tallec and Ollivier 2018 (chrono initialization)"
CLAIMS = (3,)
PREDICT = "A GRU at 48 tokens, its gates open for up to 96 steps at first: what does it have right? (chance: 0.25)"
CHANGE = "LENGTH=100: how far does it go? MEMORY=10: how long must the gates be open?"
TURN = {"MEMORY": (2, 24, 96)}

LENGTH, MEMORY, STEPS, WIDTH, SYMBOLS = 48, 96, 80, 32, 4
TEXTS = 256

Initialization = Callable[[RecurrentModel], None]


@torch.no_grad()
def chrono_initialization(model: RecurrentModel) -> None:
    """Each unit keeps its state for a time between 1 and MEMORY steps: the bias of its update gate is log(time)."""
    update_gate = slice(WIDTH, 2 * WIDTH)  # of torch's three gates the second one, which keeps the state if it is 1
    model.layer.get_parameter("bias_ih_l0")[update_gate] = (1 + torch.rand(WIDTH) * (MEMORY - 1)).log()
    model.layer.get_parameter("bias_hh_l0")[update_gate] = 0.0


def torch_initialization(model: RecurrentModel) -> None:
    """As torch makes it: every update gate is half open."""


def learn(initialize: Initialization) -> float:
    """The accuracy of a GRU that was trained to say at the end which symbol stood first."""
    model = RecurrentModel(2 * SYMBOLS + 1, WIDTH, SYMBOLS)
    initialize(model)
    train_on_task(model, lambda: marked_symbols(32, LENGTH, SYMBOLS, places=(0,)), STEPS, learning_rate=1e-2)
    return measure_accuracy(model, marked_symbols(TEXTS, LENGTH, SYMBOLS, places=(0,)))


def run(seeds: Sequence[int], initialization: Initialization = chrono_initialization) -> Finding:
    names = {"as torch makes it": torch_initialization, "with open gates": initialization}
    accuracies = {name: over(seeds, partial(learn, initialize)) for name, initialize in names.items()}
    opened = accuracies["with open gates"]
    return Finding(
        # 0.6: of the 0.75 that are not chance, less than half
        [Effect(f"the accuracy of the GRU at {LENGTH} tokens", opened, most=0.6, grain=1 / TEXTS, limit=1)],
        Table.from_rows({"GRU": name, **accuracy_row(values)} for name, values in accuracies.items()),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "GRU", "accuracy", interval=("low", "high"))


def control(seeds: Sequence[int]) -> Finding:
    """The same GRU as torch makes it."""
    return run(seeds, initialization=torch_initialization)
