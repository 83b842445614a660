"""A model beside cheap opponents on the same examples: their scores, and paired tests of every difference."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from regard.baselines.language import bits_per_byte, score_bits
from regard.baselines.scoring import Answer, AnswerScoring, label_scoring, tag_scoring
from regard.errors import DataError, RegardError
from regard.metrics import Score
from regard.metrics.intervals import FloatArray
from regard.metrics.labels import LabelTest, compare_with_baseline
from regard.metrics.labels.statistics import TableCounts
from regard.progress import track

Example = TypeVar("Example")
ReadExample = TypeVar("ReadExample", contravariant=True)
MODEL = ""
"""The name of the model among the systems; no opponent has it."""


class Opponent(Protocol[ReadExample]):
    """A cheap system that was fitted on training examples; a setting of it may have been chosen on dev."""

    @property
    def name(self) -> str: ...

    def predict(self, examples: Sequence[ReadExample]) -> list[Answer]:
        """The answers; labels and tags of these examples are not read."""
        ...


@dataclass(frozen=True)
class OpponentPredictions:
    """What opponents predict, and why others could not."""

    answers: Mapping[str, Sequence[Answer]]
    """By the name of the opponent."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Of opponents that were not computed."""


@dataclass(frozen=True)
class OpponentResult:
    """The scores of an opponent, and whether the model differs from it."""

    name: str
    scores: Mapping[str, Score]
    tests: Mapping[str, LabelTest] = field(default_factory=dict)
    """By measure. A positive difference: the model has the larger value."""
    reason: str = ""
    """Why there are no scores."""

    def as_dict(self) -> dict[str, Any]:
        """Measure -> value, interval, signature, and the p-values of the difference between the model and this one."""
        if self.reason:
            return {"not_computed": self.reason}
        return {name: score.as_dict() | self._describe_test(name) for name, score in self.scores.items()}

    def _describe_test(self, measure: str) -> dict[str, Any]:
        test = self.tests.get(measure)
        if test is None:
            return {}
        return {
            "difference": test.difference,
            "p_bootstrap": test.p_bootstrap,
            "p_randomized": test.p_randomized,
            "verdict": test.verdict,
        }


def predict_by_opponents(
    fits: Mapping[str, Callable[[Sequence[Example], Sequence[Example]], Opponent[Example]]],
    training: Sequence[Example],
    dev: Sequence[Example],
    examples: Sequence[Example],
) -> OpponentPredictions:
    """Fit opponents and let them predict; one that cannot be fitted is named with the reason, as a missing package."""
    answers: dict[str, Sequence[Answer]] = {}
    reasons: dict[str, str] = {}
    for title, fit in track(fits.items(), "fitting baselines"):
        try:
            opponent = fit(training, dev)
        except RegardError as error:
            reasons[title] = str(error)
        else:
            answers[opponent.name] = opponent.predict(examples)
    return OpponentPredictions(answers, reasons)


def compare_labels(
    gold: Sequence[Answer], predicted: Sequence[Answer], opponents: OpponentPredictions
) -> list[OpponentResult]:
    """A row for each opponent of a classifier."""
    return _compare(predicted, opponents, label_scoring(gold, [predicted, *opponents.answers.values()]))


def compare_tags(
    gold: Sequence[Answer], predicted: Sequence[Answer], opponents: OpponentPredictions
) -> list[OpponentResult]:
    """A row for each opponent of a tagger."""
    return _compare(predicted, opponents, tag_scoring(gold))


def compare_bits(
    num_bytes: ArrayLike, bits: ArrayLike, opponents: Mapping[str, ArrayLike], units: str = "documents"
) -> list[OpponentResult]:
    """A row for each opponent of a language model, from the bits of the same documents or other units: (units,).

    The fewer bits, the better: a negative difference is in favor of the model.
    """
    tests = compare_sums(num_bytes, bits, opponents)
    return [
        OpponentResult(name, {"bits_per_byte": score_bits(values, num_bytes, units)}, {"bits_per_byte": tests[name]})
        for name, values in opponents.items()
    ]


def compare_sums(sizes: ArrayLike, values: ArrayLike, opponents: Mapping[str, ArrayLike]) -> dict[str, LabelTest]:
    """Paired tests of Σ values / Σ sizes of the model and of each opponent, from the same units: (units,)."""
    all_sizes = np.asarray(sizes, np.float64)
    tables = {name: _count_bits(row, all_sizes, name) for name, row in {MODEL: values, **opponents}.items()}
    differing = {name: int(np.count_nonzero(~np.isclose(row, values))) for name, row in opponents.items()}
    tests = compare_with_baseline(tables, differing, bits_per_byte)
    return {name: _negate(tests[name]) for name in opponents}


def _compare(
    predicted: Sequence[Answer], opponents: OpponentPredictions, scoring: AnswerScoring
) -> list[OpponentResult]:
    systems = {name: scoring.score(answers) for name, answers in opponents.answers.items()}
    counts = {MODEL: scoring.score(predicted).counts} | {name: system.counts for name, system in systems.items()}
    differing = {
        name: sum(a != b for a, b in zip(predicted, answers, strict=True))
        for name, answers in opponents.answers.items()
    }
    tests = {
        key: compare_with_baseline(counts, differing, measure)
        for key, measure in track(scoring.measures.items(), "testing significance")
    }
    rows = [
        OpponentResult(name, system.scores, {key: _negate(results[name]) for key, results in tests.items()})
        for name, system in systems.items()
    ]
    return [*rows, *(OpponentResult(name, {}, reason=reason) for name, reason in opponents.reasons.items())]


def _negate(test: LabelTest) -> LabelTest:
    """The model minus the opponent: a test has the difference from its baseline, which the model is."""
    return replace(test, difference=-test.difference)


def _count_bits(bits: ArrayLike, sizes: FloatArray, name: str) -> TableCounts:
    values = np.asarray(bits, np.float64)
    if values.shape != sizes.shape or not len(sizes):
        raise DataError(
            f"{name or 'the model'} has bits of {values.size:,} documents, but {sizes.size:,} are scored; "
            f"expected as many"
        )
    return TableCounts(np.stack([values, sizes], axis=1), sizes)
