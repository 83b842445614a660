"""Studies without training: sentence statistics and seeds' scores of trials that are equally good, or not."""

import re
from collections.abc import Sequence

import numpy as np

from regard.metrics.corpus_sums import bleu_of_sums
from regard.metrics.labels.statistics import CountedScore, TableCounts
from regard.tuning.analysis.evidence import StudyAnalysis, compare_counted, compare_seeds
from regard.tuning.analysis.findings import describe_study
from regard.tuning.measure import RunSummary
from regard.tuning.results import TrialResult, rank_trials
from regard.tuning.space import Params
from tests.metrics.simulation import FloatArray, bleu_statistics, equal_systems, sentence_lengths
from tests.tuning.synthetic import FOUR, study_of

CLAIM = re.compile(
    r"significantly different from|: significant\b|values were better|(higher|lower)( value)? is better|significantly"
)
SEED_DEVIATION = 0.5
"""Of BLEU between the seeds of one combination."""


def designs(rng: np.random.Generator) -> list[list[Params]]:
    """Four sets that change together, a grid of eight, and sixteen random points with continuous settings."""
    grid: list[Params] = [
        {"model.layers": a, "model.dropout": b, "model.heads": c} for a in (2, 4) for b in (0.1, 0.2) for c in (4, 8)
    ]
    points: list[Params] = [
        {
            "model.layers": int(rng.choice((2, 4, 6))),
            "model.dropout": float(rng.uniform(0.1, 0.4)),
            "train.learning_rate": float(rng.uniform(0.1, 1.0)),
        }
        for _ in range(16)
    ]
    return [list(FOUR.values()), grid, points]


def claims(analysis: StudyAnalysis) -> list[str]:
    """Every sentence of the study's findings that says that a difference or an effect is real."""
    sentences = [one for text in describe_study(analysis) for one in re.split(r"(?<=[.;]) ", text)]
    return [one for one in sentences if CLAIM.search(one)]


def study_of_statistics(trials: Sequence[Params], statistics: FloatArray) -> StudyAnalysis:
    """A study with one seed: the statistics (trials, sentences, 10) of what each trial translated."""
    study = study_of(sets={f"set {n}": {"model.layers": 1} for n, _ in enumerate(trials)}, metric="bleu")
    scores = bleu_of_sums(statistics.sum(axis=1))
    results = [make_result(n, params, (float(scores[n]),)) for n, params in enumerate(trials)]
    ranked = rank_trials(study, results)
    tests = compare_counted({r.number: count_bleu(statistics[r.number]) for r in ranked}, study)
    return StudyAnalysis(study, results, tests=tests)


def count_bleu(statistics: FloatArray) -> CountedScore:
    """BLEU from the statistics (sentences, 10) of a trial, no two of whose translations are the same."""
    sentences = [str(n) for n in range(len(statistics))]
    return CountedScore(
        "BLEU",
        TableCounts(statistics, statistics[:, 1]),
        bleu_of_sums,
        sentences,
        [object() for _ in sentences],
        "sentences",
    )


def study_of_seeds(trials: Sequence[Params], scores: FloatArray) -> StudyAnalysis:
    """A study with several seeds: the scores (trials, seeds) of dev."""
    sets = {f"set {n}": {"model.layers": 1} for n, _ in enumerate(trials)}
    study = study_of(sets=sets, metric="bleu", seeds=scores.shape[1])
    results = [make_result(n, params, tuple(scores[n].tolist())) for n, params in enumerate(trials)]
    return StudyAnalysis(study, results, tests=compare_seeds(study, rank_trials(study, results)))


def make_result(number: int, params: Params, values: tuple[float, ...]) -> TrialResult:
    summary = RunSummary(1000 * (number + 1), 10, 1.0, 2.0, 3.0, 3.0)
    return TrialResult(
        number, f"set {number}", "complete", params, sum(values) / len(values), values, (summary,) * len(values)
    )


def false_label_rate(num_seeds: int, num_studies: int, design: int | None = None, num_sentences: int = 150) -> float:
    """The share of studies of equal settings that claim any difference or effect."""
    rng = np.random.default_rng(num_seeds)
    hits = 0
    for n in range(num_studies):
        trials = designs(rng)[n % 3 if design is None else design]
        if num_seeds == 1:
            analysis = study_of_statistics(trials, equal_systems(rng, len(trials), num_sentences))
        else:
            analysis = study_of_seeds(trials, rng.normal(30, SEED_DEVIATION, (len(trials), num_seeds)))
        hits += bool(claims(analysis))
    return hits / num_studies


def found_rate(num_seeds: int, num_studies: int, gap: float = 3.0, num_sentences: int = 1000) -> float:
    """The share of studies of eight trials that name the one which is truly `gap` BLEU worse than all others."""
    rng = np.random.default_rng(10 + num_seeds)
    hits = 0
    for _ in range(num_studies):
        trials = designs(rng)[1]
        if num_seeds == 1:
            analysis = study_of_statistics(trials, systems_with_one_worse(rng, len(trials), num_sentences, gap))
        else:
            means = np.full((len(trials), 1), 40.0)
            means[0] -= gap
            analysis = study_of_seeds(trials, rng.normal(means, SEED_DEVIATION, (len(trials), num_seeds)))
        hits += 0 in analysis.claims.trials and analysis.claims.trials[0].significant
    return hits / num_studies


def systems_with_one_worse(rng: np.random.Generator, num_systems: int, num_sentences: int, gap: float) -> FloatArray:
    """Statistics of equally good systems, but the first, whose true BLEU is lower by `gap`."""
    lengths, difficulty = sentence_lengths(rng, (num_sentences,)), rng.beta(3, 1.5, num_sentences)
    right = np.broadcast_to(difficulty, (num_systems, num_sentences)).copy()
    right[0] *= 1 - WORSE_SHARE * gap
    return bleu_statistics(rng, lengths, right)


WORSE_SHARE = 0.0092
"""Of the words that are right, those that must be wrong for 1 BLEU less, measured on 60,000 sentences."""
