"""A symbol to remember: attention finds it at any distance, GRU and LSTM only nearby."""

from collections.abc import Sequence
from functools import partial

from torch import nn

from regard.baselines.recurrent import RecurrentModel
from regard.config import ModelConfig
from regard.data.toy_tasks import marked_symbols
from regard.labs.effects import Effect
from regard.labs.finding import Finding, Need
from regard.labs.rows import accuracy_row
from regard.labs.seeds import over
from regard.model.attention import AttentionFunction, attend
from regard.model.build import ATTENDS, build_decoder, use_parts
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table
from regard.training.toy import measure_accuracy, train_on_task

CLAIM = "Attention learns dependencies at any distance; GRU and LSTM lose them."
SOURCE = "lectures on Transformers; Hochreiter and Schmidhuber 1997 on distances of recurrent networks"
CLAIMS = (2, 3, 4, 84)
PREDICT = "The first of 48 symbols is asked for at the end: how much better than a GRU is attention? (0 to 0.75)"
CHANGE = "LENGTHS=6,12,24: where does the GRU begin to fail? STEPS=300: does patience help?"
TURN = {"STEPS": (40, 80, 160)}

LENGTHS, STEPS, WIDTH, SYMBOLS, SEEDS = (8, 24, 48), 80, 32, 4, 3
TEXTS = 1024


def learn(name: str, attention: AttentionFunction, length: int) -> float:
    """The accuracy of a model that was trained to say at the end which symbol stood first."""
    vocab_size = 2 * SYMBOLS + 1
    if name == "attention":
        with use_parts(ATTENDS, softmax=attention):
            c = ModelConfig(dim=WIDTH, layers=1, heads=2, ffn=2 * WIDTH, dropout=0.0)
            model: nn.Module = build_decoder(c, vocab_size, pad=0, num_labels=SYMBOLS)
    else:
        model = RecurrentModel(vocab_size, WIDTH, SYMBOLS, {"GRU": nn.GRU, "LSTM": nn.LSTM}[name])
    train_on_task(model, lambda: marked_symbols(32, length, SYMBOLS, places=(0,)), STEPS, learning_rate=1e-2)
    return measure_accuracy(model, marked_symbols(TEXTS, length, SYMBOLS, places=(0,)))


def run(seeds: Sequence[int], attend: AttentionFunction = attend) -> Finding:
    names = ("attention", "GRU", "LSTM")
    accuracies = {
        (name, length): over(seeds, partial(learn, name, attend, length)) for name in names for length in LENGTHS
    }
    longest = LENGTHS[-1]

    def gain(name: str) -> list[float]:
        return [a - r for a, r in zip(accuracies["attention", longest], accuracies[name, longest], strict=True)]

    return Finding(
        [
            # 0.5: one has learned the task, and the other has not
            Effect(f"the gain of attention over a GRU at {longest} tokens", gain("GRU"), 0.5, grain=1 / TEXTS, limit=1),
            Effect(
                f"the gain of attention over an LSTM at {longest} tokens", gain("LSTM"), 0.5, grain=1 / TEXTS, limit=1
            ),
        ],
        Table.from_rows(
            {"tokens": length, "model": name, **accuracy_row(values)} for (name, length), values in accuracies.items()
        ),
        [Need(f"the {name} learns it at {LENGTHS[0]} tokens", accuracies[name, LENGTHS[0]], 0.9) for name in names[1:]],
    )


def draw(finding: Finding) -> Picture:
    rules = {"chance": 1 / SYMBOLS}
    return CurvePicture(finding.table, "tokens", "accuracy", "model", ("low", "high"), log="x", rules=rules)


def broken(seeds: Sequence[int]) -> Finding:
    """Attention to the last two tokens only."""
    return run(seeds, attend=lambda q, k, v, mask, *rest: attend(q, k, v, mask & mask.tril().triu(-1), *rest))
