"""Paired significance tests of systems on the same sentences.

p-values are Regard's own. sacreBLEU's are computed from the same draws and kept beside them: its bootstrap subtracts
the mean of *absolute* differences, which halves p, and both of its tests leave out draws that equal the observation, so
that two identical systems differ with p = 1 / (draws + 1).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric as SacreMetric
from sacrebleu.metrics.chrf import CHRF

from regard.errors import DataError
from regard.metrics.corpus_sums import FloatArray, score_corpus, score_sums, sentence_statistics
from regard.metrics.intervals import widen_for_sample_size
from regard.metrics.score import digits_of, require_aligned
from regard.metrics.statistical_tests import SIGNIFICANCE_LEVEL, holm_correction
from regard.metrics.tokenization import DEFAULT_TOKENIZATION, Tokenization

PairedTestKind = Literal["bs", "ar"]
TEST_NAMES = {"bs": "paired bootstrap", "ar": "paired approximate randomization"}
MIN_DIFFERING = 6
"""Sentences that must differ: fewer favor one system by chance alone in more than one case of twenty."""
NUM_STUDY_DRAWS = 2000
CHUNK = 200  # draws that are summed at once
TIE = 1e-9
"""Differences that are equal but for rounding: a draw that ties with the observation speaks for chance."""
Draws = NDArray[np.uint16] | NDArray[np.bool_]


@dataclass(frozen=True)
class PairedTestResult:
    """One system against another by one metric: its score, and the p-value of the difference."""

    metric: str
    score: float
    p: float | None
    """Of this difference alone; None for the first system, the baseline. 1 if nothing differs."""
    signature: str
    difference: float = 0.0
    """The score minus that of the other system."""
    num_differing: int | None = None
    """Examples for which the answers of the two systems differ; None where the test is not over examples."""
    adjusted_p: float | None = None
    """Corrected for all differences that are tested together; None where this is the only one."""
    sacrebleu_p: float | None = None
    """What sacreBLEU prints for this difference; used by no verdict."""
    units: str = "sentences"
    """What the examples are that the test is over."""
    answers: str = "translations"
    """What the systems give for them."""

    @property
    def has_enough_sentences(self) -> bool:
        """Whether enough sentences differ for any test."""
        return self.num_differing is None or self.num_differing >= MIN_DIFFERING

    @property
    def digits(self) -> int:
        """Decimal places of the difference that people read."""
        return digits_of(self.metric)

    @property
    def decisive_p(self) -> float | None:
        """The p-value that verdicts follow: the corrected one where there is one."""
        return self.p if self.adjusted_p is None else self.adjusted_p

    @property
    def significant(self) -> bool:
        """Whether the difference is unlikely to be chance."""
        p = self.decisive_p
        return p is not None and p < SIGNIFICANCE_LEVEL and self.difference != 0 and self.has_enough_sentences

    def format_p_value(self, digits: int) -> str:
        """The p-value that decides as text, with its caveat."""
        p = self.decisive_p
        if p is None or self.num_differing == 0:
            return f"the same {self.answers}"
        caveat = "" if self.has_enough_sentences else f" ({self.units} that differ: {self.num_differing})"
        return f"p = {p:.{digits}f}{caveat}"


class PairedPValues(NamedTuple):
    """Two answers from the same draws."""

    p: float
    sacrebleu_p: float


class PairedTest(Protocol):
    """A test that draws corpora from the sentences of two systems."""

    num_draws: int

    def draw(self, num_sentences: int, seed: int | None) -> Draws: ...

    def p_values(self, metric: SacreMetric, first: FloatArray, other: FloatArray, draws: Draws) -> PairedPValues: ...


class PairedBootstrap:
    """Resampled corpora show how far the difference varies; shifted by its mean, they show that of equal systems."""

    num_draws = 1000

    def draw(self, num_sentences: int, seed: int | None) -> Draws:
        """How often each sentence occurs in each resampled corpus: (draws, sentences)."""
        rng = np.random.default_rng(seed)
        return np.stack(
            [
                np.bincount(rng.choice(num_sentences, size=num_sentences), minlength=num_sentences)
                for _ in range(self.num_draws)
            ]
        ).astype(np.uint16)

    def p_values(self, metric: SacreMetric, first: FloatArray, other: FloatArray, draws: Draws) -> PairedPValues:
        """Two-sided, with the spread of small samples widened as Student's t is wider than the normal distribution."""
        observed = _observed_difference(metric, first, other)
        differences = score_sums(metric, sum_draws(draws, other)) - score_sums(metric, sum_draws(draws, first))
        absolute = np.abs(differences)
        return PairedPValues(
            bootstrap_p_value(observed, differences, len(first)), _share(absolute - absolute.mean() > observed)
        )


class ApproximateRandomization:
    """Outputs of equal systems can be exchanged sentence by sentence.  Riezler and Maxwell 2005."""

    num_draws = 10_000

    def draw(self, num_sentences: int, seed: int | None) -> Draws:
        """Which sentences the first pseudo-system has from the first system: (draws, sentences)."""
        return np.random.default_rng(seed).integers(2, size=(self.num_draws, num_sentences), dtype=bool)

    def p_values(self, metric: SacreMetric, first: FloatArray, other: FloatArray, draws: Draws) -> PairedPValues:
        """The share of exchanges with at least the observed difference."""
        observed = _observed_difference(metric, first, other)
        exchanged = sum_draws(draws, first - other)
        differences = np.abs(
            score_sums(metric, other.sum(axis=0) + exchanged) - score_sums(metric, first.sum(axis=0) - exchanged)
        )
        return PairedPValues(randomization_p_value(observed, differences), _share(differences > observed))


def bootstrap_p_value(observed: float, differences: FloatArray, num_examples: int) -> float:
    """Two-sided: how often resampled differences, shifted to those of equal systems, reach the observed one."""
    shifted = (differences - differences.mean()) * widen_for_sample_size(num_examples)
    return _share(np.abs(shifted) >= observed - TIE)


def randomization_p_value(observed: float, differences: FloatArray) -> float:
    """Two-sided: how often systems whose outputs were exchanged differ at least as much as was observed."""
    return _share(np.abs(differences) >= observed - TIE)


def describe_agreement(p_bootstrap: float, p_randomized: float) -> str:
    """Whether a difference is significant by two tests, in words."""
    significant = [p < SIGNIFICANCE_LEVEL for p in (p_bootstrap, p_randomized)]
    if significant[0] != significant[1]:
        return "the two tests disagree"
    return "significant by both tests" if significant[0] else "not significant by either test"


PAIRED_TESTS: Mapping[PairedTestKind, PairedTest] = {"bs": PairedBootstrap(), "ar": ApproximateRandomization()}


def paired_tests(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    kind: PairedTestKind,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    tokenization: Tokenization = DEFAULT_TOKENIZATION,
) -> dict[str, dict[str, PairedTestResult]]:
    """System -> metric -> test against the first system, by the bootstrap ("bs") or by randomization ("ar").

    For each metric, the p-values of several systems are corrected together, by Holm's method.
    """
    if len(systems) < 2:
        raise DataError("a paired test needs two systems or more")
    for translations in systems.values():
        require_aligned(translations, references)
    sacrebleu_metrics: dict[str, SacreMetric] = {
        "bleu": tokenization.make_bleu(),
        "chrf": CHRF(),
        "ter": tokenization.make_ter(),
    }
    seed = os.environ.get("SACREBLEU_SEED", "12345")  # the same draws as sacreBLEU's
    draws = PAIRED_TESTS[kind].draw(len(references), None if seed.lower() == "none" else int(seed))
    first = next(iter(systems.values()))
    num_differing = {
        name: sum(a != b for a, b in zip(first, outputs, strict=True)) for name, outputs in systems.items()
    }
    tests: dict[str, dict[str, PairedTestResult]] = {name: {} for name in systems}
    for metric_name in metrics:
        metric = sacrebleu_metrics[metric_name]
        results = _test_by_metric(metric, systems, references, PAIRED_TESTS[kind], draws)
        signature = metric.get_signature()
        signature.update("seed", seed.lower())
        signature.update(kind, PAIRED_TESTS[kind].num_draws)
        for name, result in results.items():
            tests[name][metric_name] = replace(result, signature=str(signature), num_differing=num_differing[name])
    return tests


def _test_by_metric(
    metric: SacreMetric,
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    test: PairedTest,
    draws: Draws,
) -> dict[str, PairedTestResult]:
    statistics = {name: sentence_statistics(metric, outputs, references) for name, outputs in systems.items()}
    scores = {name: score_corpus(metric, rows) for name, rows in statistics.items()}
    title = str(metric._compute_score_from_stats(statistics[next(iter(systems))].sum(axis=0).tolist()).name)
    baseline, *others = systems
    p_values = {name: test.p_values(metric, statistics[baseline], statistics[name], draws) for name in others}
    adjusted = holm_correction({name: values.p for name, values in p_values.items()}) if len(others) > 1 else {}
    results = {baseline: PairedTestResult(title, scores[baseline], None, "")}
    for name in others:
        results[name] = PairedTestResult(
            metric=title,
            score=scores[name],
            p=p_values[name].p,
            signature="",
            difference=scores[name] - scores[baseline],
            adjusted_p=adjusted.get(name),
            sacrebleu_p=p_values[name].sacrebleu_p,
        )
    return results


class ResampledScore(Protocol):
    """A score that can be computed again for sets that are drawn from its examples."""

    @property
    def value(self) -> float: ...

    @property
    def num_examples(self) -> int: ...

    def resample(self, weights: NDArray[np.generic]) -> FloatArray:
        """The scores of drawn sets, in which examples have these weights: (draws, n) -> (draws,)."""
        ...


def compare_with_selected(
    systems: Sequence[ResampledScore], selected: int, seed: int = 12345
) -> tuple[FloatArray, FloatArray]:
    """p-values of every system against one that was selected for its score: of each difference alone, and corrected.

    The correction is the bootstrap of the largest studentized difference between any two systems: whichever was
    selected, and however many were compared, one study in twenty of equal systems has a p-value below 0.05.
    """
    num_examples, num_systems = systems[0].num_examples, len(systems)
    shares = np.full(num_examples, 1 / num_examples)
    draws = np.random.default_rng(seed).multinomial(num_examples, shares, size=NUM_STUDY_DRAWS).astype(np.uint16)
    drawn = np.stack([system.resample(draws) for system in systems], axis=1)
    centered = (drawn - drawn.mean(axis=0)) * widen_for_sample_size(num_examples)  # (draws, systems)
    one, other = np.triu_indices(num_systems, 1)
    gaps = np.abs(centered[:, one] - centered[:, other])  # (draws, pairs)
    deviations = np.sqrt(np.square(gaps).mean(axis=0))
    differ = deviations > TIE
    largest = (gaps[:, differ] / deviations[differ]).max(axis=1, initial=0.0)
    alone, corrected = np.ones(num_systems), np.ones(num_systems)
    for k, system in enumerate(systems):
        pair = np.flatnonzero((one == min(k, selected)) & (other == max(k, selected)))
        if pair.size and differ[pair[0]]:
            observed = abs(system.value - systems[selected].value)
            alone[k] = _share(gaps[:, pair[0]] >= observed - TIE)
            corrected[k] = _share(largest >= (observed - TIE) / deviations[pair[0]])
    return alone, np.maximum(alone, corrected)


def sum_draws(draws: Draws, statistics: FloatArray) -> FloatArray:
    """The statistics of each drawn corpus, summed: (draws, statistics)."""
    chunks = (draws[start : start + CHUNK] for start in range(0, len(draws), CHUNK))
    return np.concatenate([chunk.astype(np.float64) @ statistics for chunk in chunks])


def _observed_difference(metric: SacreMetric, first: FloatArray, other: FloatArray) -> float:
    return abs(float(score_sums(metric, other.sum(axis=0)) - score_sums(metric, first.sum(axis=0))))


def _share(exceeds: NDArray[np.bool_]) -> float:
    """The share of draws; the observation counts as one, so no share is 0."""
    return float((np.count_nonzero(exceeds) + 1) / (len(exceeds) + 1))
