"""Paired tests of two systems on the same examples, by any measure of sums of counts."""

from collections.abc import Mapping
from dataclasses import dataclass

from regard.metrics.labels.statistics import ExampleCounts, Measure, score_draws, score_exchanged
from regard.metrics.significance import (
    PAIRED_TESTS,
    bootstrap_p_value,
    describe_agreement,
    randomization_p_value,
)
from regard.metrics.statistical_tests import holm_correction

SEED = 12345
MIN_DIFFERING = 5
"""Answers that differ, below which nothing is tested."""


@dataclass(frozen=True)
class LabelTest:
    """A difference between a system and the baseline, and how often chance alone makes one as large."""

    difference: float
    num_differing: int
    """Examples with different answers."""
    p_bootstrap: float
    p_randomized: float

    @property
    def has_enough_examples(self) -> bool:
        """Whether enough answers differ for any test."""
        return self.num_differing >= MIN_DIFFERING

    @property
    def verdict(self) -> str:
        """Whether the difference is significant, in words."""
        if not self.num_differing:
            return "the same predictions"
        if not self.has_enough_examples:
            return f"only {self.num_differing} of the predictions differ, too few for a test"
        return describe_agreement(self.p_bootstrap, self.p_randomized)


def compare_with_baseline(
    systems: Mapping[str, ExampleCounts], differing: Mapping[str, int], measure: Measure
) -> dict[str, LabelTest]:
    """Every system but the first tested against it; the p-values of several are corrected (Holm)."""
    (_, baseline), *others = systems.items()
    num_examples = len(baseline.sizes)
    draws, exchanges = (PAIRED_TESTS[kind].draw(num_examples, SEED) for kind in ("bs", "ar"))
    drawn_baseline, base_value = score_draws(baseline, draws, measure), float(measure(baseline.total()))
    differences = {name: float(measure(counts.total())) - base_value for name, counts in others}
    p_values = {
        "bootstrap": {
            name: bootstrap_p_value(
                abs(differences[name]), score_draws(counts, draws, measure) - drawn_baseline, num_examples
            )
            for name, counts in others
        },
        "randomized": {
            name: randomization_p_value(
                abs(differences[name]), score_exchanged(baseline, counts, exchanges.astype(bool), measure)
            )
            for name, counts in others
        },
    }
    corrected = {kind: holm_correction(values) for kind, values in p_values.items()}
    return {
        name: LabelTest(differences[name], differing[name], corrected["bootstrap"][name], corrected["randomized"][name])
        for name, _ in others
    }
