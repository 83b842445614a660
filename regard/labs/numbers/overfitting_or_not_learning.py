"""Overfitting, or never having learned: the numbers of a report, read again."""

from collections.abc import Sequence
from typing import NamedTuple

from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "The deepest of four sets overfits, and the accuracies of the others, 75% on dev, are those of words."
SOURCE = "a report on tuning a translator: the numbers of its four sets, nothing else"
CLAIMS = (85, 86)
PREDICT = "The training losses of the other sets are below 0.4. What is that of the set that is said to overfit?"
CHANGE = "PADDING=50.0: how many words do the other sets get right, if half of all positions are padding?"
TURN = {"PADDING": (0.0, 25.0, 50.0, 63.29)}

PADDING = 63.29  # % of positions: all that the fourth set has right, if padding is all that it has learned


class TrainedSet(NamedTuple):
    """Accuracies in %, losses in nats. Those of the first three sets are known as ranges: here are the ends that speak
    least for overfitting."""

    train_accuracy: float
    dev_accuracy: float
    train_loss: float
    dev_loss: float


REPORT = {
    "set 1": TrainedSet(90.28, 74.80, 0.39, 1.94),
    "set 2": TrainedSet(89.79, 74.98, 0.39, 1.94),
    "set 3": TrainedSet(90.11, 74.03, 0.39, 2.08),
    "set 4": TrainedSet(63.66, 63.29, 2.92, 4.77),
}
OTHERS = ["set 1", "set 2", "set 3"]


def words_alone(accuracy: float, padding: float) -> float:
    """The accuracy on words (%) of a model that is right about all padding."""
    return max(0.0, 100 * (accuracy - padding) / (100 - padding))


def read_report(suspects: Sequence[str], padding: float) -> Finding:
    """What overfitting would look like, for each suspect; and what the accuracies of the others are without padding."""
    sets = [REPORT[name] for name in suspects] * 2  # twice, since an interval needs two values
    train_losses, loss_gaps = [one.train_loss for one in sets], [one.dev_loss - one.train_loss for one in sets]
    accuracy_gaps = [one.train_accuracy - one.dev_accuracy for one in sets]
    words = [words_alone(REPORT[name].dev_accuracy, padding) for name in OTHERS]
    parts = [
        # The grain is what rounding leaves open. 1 nat: who has learned the training text by heart has lost most of
        # the loss on it; 5 points and 1 nat between training text and dev: more than another sample explains.
        Effect("the loss of the suspected set on training text, in nats,", train_losses, most=1, grain=0.01),
        Effect("its lead in accuracy on training text over dev, in points,", accuracy_gaps, least=5, grain=0.01),
        Effect("what its loss on dev is above that on training text, in nats,", loss_gaps, least=1, grain=0.01),
        # 50: "most words"
        Effect("the accuracy of the other sets on dev, in % of words,", words, least=50, grain=0.01),
    ]
    return Finding(
        parts,
        Table.from_rows(
            {"set": name, "accuracy (%)": round(value), "on": where}
            for name, one in REPORT.items()
            for where, value in (
                ("training text", one.train_accuracy),
                ("dev", one.dev_accuracy),
                ("dev, words alone", words_alone(one.dev_accuracy, padding)),
            )
            if name in OTHERS or where != "dev, words alone"  # for the suspected set this is what is assumed
        ),
    )


def run(seeds: Sequence[int]) -> Finding:
    """No chance is in it: the seeds change nothing."""
    return read_report(["set 4"], PADDING)


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "set", "accuracy (%)", "on")


def control(seeds: Sequence[int]) -> Finding:
    """The sets that were called good, read as if nothing were padding: by the same measures they overfit."""
    return read_report(OTHERS, padding=0.0)
