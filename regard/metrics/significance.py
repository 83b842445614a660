"""Paired significance tests of several systems against the first one, as sacreBLEU computes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sacrebleu.metrics.base import Metric as SacreMetric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from regard.errors import DataError
from regard.metrics.chrf import BootstrapCHRF
from regard.metrics.score import require_aligned
from regard.metrics.statistical_tests import SIGNIFICANCE_LEVEL

PairedTestKind = Literal["bs", "ar"]
TEST_NAMES = {"bs": "paired bootstrap", "ar": "paired approximate randomization"}
MIN_DIFFERING = 6
"""Sentences that must differ: fewer favor one system by chance alone in more than one case of twenty."""


@dataclass(frozen=True)
class PairedTestResult:
    """One system against the first by one metric: its score, and the p-value of the difference."""

    metric: str
    score: float
    p: float | None
    """None for the first system, the baseline."""
    signature: str
    difference: float = 0.0
    """The score minus that of the first system."""
    num_differing: int | None = None
    """Sentences that the two systems translate differently; None where the test is not over sentences."""

    @property
    def has_enough_sentences(self) -> bool:
        """Whether enough sentences differ: with few of them, sacreBLEU's p-value is too small."""
        return self.num_differing is None or self.num_differing >= MIN_DIFFERING

    @property
    def significant(self) -> bool:
        """Whether the difference is unlikely to be chance."""
        return self.p is not None and self.p < SIGNIFICANCE_LEVEL and self.difference != 0 and self.has_enough_sentences

    def format_p_value(self, digits: int) -> str:
        """The p-value as text, with its caveat."""
        if self.p is None or self.num_differing == 0:
            return "the same translations"
        caveat = "" if self.has_enough_sentences else f" (sentences that differ: {self.num_differing})"
        return f"p = {self.p:.{digits}f}{caveat}"


def paired_tests(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    kind: PairedTestKind,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
) -> dict[str, dict[str, PairedTestResult]]:
    """System -> metric -> result, by the bootstrap ("bs") or by approximate randomization ("ar")."""
    if len(systems) < 2:
        raise DataError("a paired test needs two systems or more")
    for translations in systems.values():
        require_aligned(translations, references)
    sacrebleu_metrics: dict[str, SacreMetric] = {"bleu": BLEU(force=True), "chrf": BootstrapCHRF(), "ter": TER()}
    selected_metrics = {name: sacrebleu_metrics[name] for name in metrics}
    named_systems: list[tuple[str, Sequence[str]]] = [
        (name, list(translations)) for name, translations in systems.items()
    ]
    signatures, scores = PairedTest(named_systems, selected_metrics, [list(references)], test_type=kind)()
    tests: dict[str, dict[str, PairedTestResult]] = {name: {} for name in systems}
    first = next(iter(systems.values()))
    num_differing = {
        name: sum(a != b for a, b in zip(first, outputs, strict=True)) for name, outputs in systems.items()
    }
    for (title, results), metric in zip(list(scores.items())[1:], metrics, strict=True):
        for name, result in zip(systems, results, strict=True):
            assert not isinstance(result, str)  # the column of names comes first and was skipped
            difference = float(result.score) - float(results[0].score)  # type: ignore[union-attr]
            signature = str(signatures[title])
            tests[name][metric] = PairedTestResult(
                title, float(result.score), result.p_value, signature, difference, num_differing[name]
            )
    return tests
