"""A cosine from which on a word has the same sense: chosen where the answers are known, never where it is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from regard.files import Finite
from regard.inspection.word_states import FloatArray


@dataclass(frozen=True)
class Threshold:
    """Cosines of at least this value mean the same sense."""

    value: Finite
    accuracy: Finite
    """Of the pairs that it was chosen on."""


@dataclass(frozen=True)
class FittedThresholds:
    """senses.json of a run: the threshold of each layer, and what they were chosen on."""

    layers: Mapping[str, Threshold]
    files: tuple[str, ...] = ()
    num_pairs: int = 0

    def as_dict(self) -> dict[str, object]:
        """As it is stored."""
        return asdict(self)


def choose_threshold(cosines: FloatArray, same: Sequence[bool]) -> Threshold:
    """The threshold with the most right answers; of several equally good ones the lowest, in the middle of its gap."""
    order = np.argsort(cosines, kind="stable")
    values, labels = np.round(cosines[order], 12), np.asarray(same, bool)[order]
    below = np.concatenate(([0], np.cumsum(~labels)))  # right answers below each cut
    above = np.concatenate((np.cumsum(labels[::-1])[::-1], [0]))
    is_cut = np.concatenate(([True], values[1:] > values[:-1], [True]))  # equal cosines have equal answers
    right = np.where(is_cut, below + above, -1)
    cut = int(right.argmax())
    edges = np.concatenate(([values[0] - 1], values, [values[-1] + 1]))
    return Threshold(float((edges[cut] + edges[cut + 1]) / 2), float(right[cut] / len(values)))


def cosines_of(first: FloatArray, second: FloatArray) -> FloatArray:
    """The cosine of each pair of vectors (N, D); 0 where one is zero: (N,)."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.asarray((first * second).sum(axis=1) / np.maximum(norms, 1e-30))
