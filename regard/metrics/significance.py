"""Is one system better than another, or was it luck? sacreBLEU's own paired tests, against the first system."""

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

PairedTestKind = Literal["bs", "ar"]
TEST_NAMES = {"bs": "paired bootstrap", "ar": "paired approximate randomisation"}
SIGNIFICANT = 0.05
MIN_DIFFERING = 6  # sentences that differ: fewer all fall to one side by luck alone in more than one case of twenty


@dataclass(frozen=True)
class PairedTestResult:
    """One system against the first by one metric: the score, and the chance that luck alone would part them so far."""

    metric: str
    score: float
    p: float | None
    """None for the first system, which is not compared with itself."""
    signature: str
    difference: float = 0.0
    """From the score of the first system."""
    num_differing: int | None = None
    """Sentences that the two translate differently; None where the test is not one of sentences."""

    @property
    def has_enough_sentences(self) -> bool:
        """Whether enough sentences differ: of few, sacreBLEU's p is small, since no sample is less different."""
        return self.num_differing is None or self.num_differing >= MIN_DIFFERING

    @property
    def significant(self) -> bool:
        """Whether luck is unlikely."""
        return self.p is not None and self.p < SIGNIFICANT and self.difference != 0 and self.has_enough_sentences

    def format_p_value(self, digits: int) -> str:
        """The p-value in words, with what speaks against it."""
        if self.p is None or self.num_differing == 0:
            return "the same translations"
        caveat = "" if self.has_enough_sentences else f" of the only {self.num_differing} that differ"
        return f"p = {self.p:.{digits}f}{caveat}"


def paired_tests(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    kind: PairedTestKind,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
) -> dict[str, dict[str, PairedTestResult]]:
    """System -> metric -> Test, by the bootstrap ("bs") or by approximate randomisation ("ar")."""
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
            assert not isinstance(result, str)  # the column of names comes first and is left out
            difference = float(result.score) - float(results[0].score)  # type: ignore[union-attr]
            signature = str(signatures[title])
            tests[name][metric] = PairedTestResult(
                title, float(result.score), result.p_value, signature, difference, num_differing[name]
            )
    return tests
