"""Studies without training: sentence statistics and seeds' scores of trials that are equally good, or not."""

import functools
import re
from collections.abc import Callable, Sequence

import numpy as np

from regard.baselines.language import bits_per_byte
from regard.metrics.corpus_sums import bleu_of_sums
from regard.metrics.labels.classes import flat_measure
from regard.metrics.labels.entities import f1
from regard.metrics.labels.statistics import CellCounts, CountedScore, ExampleCounts, Measure, TableCounts
from regard.tuning.analysis.evidence import StudyAnalysis, compare_counted, compare_seeds
from regard.tuning.analysis.findings import describe_study
from regard.tuning.measure import RunSummary
from regard.tuning.results import TrialResult, rank_trials
from regard.tuning.space import Params
from tests.metrics.simulation import FloatArray, bleu_statistics, equal_systems, sentence_lengths
from tests.tuning.synthetic import FOUR, study_of

CLAIM = re.compile(
    r"significantly different from|which is significant|: significant\b|values were better"
    r"|(higher|lower)( value)? is better|significantly"
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


Simulation = Callable[[np.random.Generator, int, int, float], list[CountedScore]]


def simulate_labels(
    measure: str, rng: np.random.Generator, num_systems: int, num_texts: int, worse: float
) -> list[CountedScore]:
    """Labels of three classes, of which one is rare; the first system is wrong more often by a share of texts."""
    gold = rng.choice(3, num_texts, p=(0.5, 0.35, 0.15))
    right = np.broadcast_to(rng.beta(4, 1.2, num_texts), (num_systems, num_texts)).copy()
    right[0] -= worse
    predicted = np.where(rng.random(right.shape) < right, gold, (gold + rng.integers(1, 3, right.shape)) % 3)
    counts = [CellCounts(gold * 3 + row, 9) for row in predicted]
    return [_pair(one, flat_measure(measure, 3), row.tolist()) for one, row in zip(counts, predicted, strict=True)]


def simulate_spans(rng: np.random.Generator, num_systems: int, num_sentences: int, worse: float) -> list[CountedScore]:
    """Spans of sentences, most of which have few or none; the first system misses more of them."""
    gold, difficulty = rng.poisson(1.3, num_sentences), rng.beta(3, 1.5, num_sentences)
    systems = []
    for n in range(num_systems):
        right = rng.binomial(gold, np.maximum(0, difficulty - (0 if n else worse)))
        table = np.stack([right, gold, right + rng.poisson(0.4, num_sentences)], axis=1).astype(float)
        systems.append(_pair(TableCounts(table, table[:, 1] + table[:, 2]), f1, list(map(tuple, table.tolist()))))
    return systems


def simulate_bits(rng: np.random.Generator, num_systems: int, num_documents: int, worse: float) -> list[CountedScore]:
    """Documents of very different lengths, some of which are hard; the first system needs more bits for all of them."""
    sizes = np.round(rng.lognormal(6, 0.8, num_documents))
    hard = rng.normal(2, 0.4, num_documents)
    systems = []
    for n in range(num_systems):
        bits = sizes * (hard + rng.normal(0 if n else worse, 0.1, num_documents))
        systems.append(_pair(TableCounts(np.stack([bits, sizes], axis=1), sizes), bits_per_byte, bits.tolist()))
    return systems


SIMULATIONS: dict[str, tuple[Simulation, float, str, str]] = {
    "accuracy": (functools.partial(simulate_labels, "accuracy"), 0.15, "classify", "accuracy"),
    "macro-F1": (functools.partial(simulate_labels, "macro_f1"), 0.2, "classify", "macro_f1"),
    "entity F1": (simulate_spans, 0.2, "tag", "f1"),
    "bits per byte": (simulate_bits, 0.05, "causal-lm", "bits_per_byte"),
}
"""Each with how much worse a system is that is to be found, and the study that has such scores."""


def _pair(counts: ExampleCounts, measure: Measure, answers: list) -> CountedScore:
    return CountedScore("score", counts, measure, [str(n) for n in range(len(answers))], answers, "examples")


def study_of_counted(kind: str, trials: Sequence[Params], rng: np.random.Generator, worse: float) -> StudyAnalysis:
    """A study with one seed of trials that are equally good, but the first, which is `worse`."""
    simulate, _, task, metric = SIMULATIONS[kind]
    sets = {f"set {n}": {"model.layers": 1} for n, _ in enumerate(trials)}
    study = study_of(sets=sets, metric=metric, base={"task": task, "data": {"train": ["a.txt"]}})
    counted = simulate(rng, len(trials), 211, worse)
    results = [make_result(n, params, (counted[n].value,)) for n, params in enumerate(trials)]
    ranked = rank_trials(study, results)
    return StudyAnalysis(study, results, tests=compare_counted({r.number: counted[r.number] for r in ranked}, study))


def false_claim_rate(kind: str, num_studies: int) -> float:
    """The share of studies of equal settings that claim any difference or effect by a score of this kind."""
    rng = np.random.default_rng(3)
    return (
        sum(bool(claims(study_of_counted(kind, designs(rng)[n % 3], rng, 0.0))) for n in range(num_studies))
        / num_studies
    )


def found_worse_rate(kind: str, num_studies: int) -> float:
    """The share of studies of eight trials that name the one which is worse than all others, and rank it last."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(num_studies):
        analysis = study_of_counted(kind, designs(rng)[1], rng, SIMULATIONS[kind][1])
        hits += analysis.ranking[-1].number == 0 and analysis.claims.trials[0].significant
    return hits / num_studies


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
