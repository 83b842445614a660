"""What is known about labels before any text is read: how frequent they are."""

import math
from collections.abc import Sequence

MAX_CLASS_WEIGHT = 10.0


def frequency_entropy(counts: Sequence[int]) -> float:
    """The loss, in nats, of always predicting the frequencies of the training data."""
    total = sum(counts)
    return -sum(count / total * math.log(count / total) for count in counts if count)


def balance_classes(counts: Sequence[int]) -> list[float]:
    """A weight for each of K classes, N / (K · count), so that all of them weigh the same; at most 10."""
    total = sum(counts)
    return [min(MAX_CLASS_WEIGHT, total / (len(counts) * max(1, count))) for count in counts]
