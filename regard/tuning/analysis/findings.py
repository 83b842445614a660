"""A study in words. Every sentence is computed from the trials; what the trials cannot say is not said."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean, stdev

from regard.metrics import PairedTestResult
from regard.report import pareto_front
from regard.tuning.analysis.effects import (
    build_blocks,
    find_confounders,
    is_continuous,
    is_significant,
    pair_values_with_scores,
    select_trials,
    spearman_correlation,
)
from regard.tuning.analysis.luck import PermutationTestResult, permutation_test
from regard.tuning.measure import RunSummary
from regard.tuning.results import TrialResult, rank_trials
from regard.tuning.study import METRIC_NAMES, Study, format_value, short_name

MIN_TRIALS_FOR_IMPORTANCE = 10  # trials below which importances are a hint
CLEAR_COST_RATIO = 0.9  # of a cost: what is hardly less is none
MIN_LOSS_RISE = 0.02  # nats that dev must have risen above its lowest for a turn to count
FINISHED_STATES = ("complete", "pruned", "failed")
STATE_PHRASES = {
    "pruned": "stopped early as weak",
    "failed": "failed",
    "running": "still running",
    "interrupted": "interrupted",
    "waiting": "not begun",
}
ARCHITECTURE_PARAMETERS = ("model.layers", "model.dim", "model.heads", "model.dropout")
PARAMETER_LABELS = {"model.layers": "depth", "model.dim": "width", "model.heads": "heads", "model.dropout": "dropout"}


@dataclass(frozen=True)
class LossCurve:
    """One run over time: where it stood, and the losses there."""

    x: Sequence[float]
    train_loss: Sequence[float]
    dev_loss: Sequence[float]


@dataclass(frozen=True)
class StudyAnalysis:
    """All that the words are made of."""

    study: Study
    results: Sequence[TrialResult]
    loss_curves: Mapping[int, LossCurve] = field(default_factory=dict)
    """By the number of the trial, at its looks at dev."""
    unit: str = "steps"
    """What the curves are drawn over."""
    tests: Mapping[int, PairedTestResult] = field(default_factory=dict)
    """By the number of the trial: against the best one, on the dev sentences, or by seeds where there are several."""
    importances: Mapping[str, float] = field(default_factory=dict)

    @property
    def ranking(self) -> list[TrialResult]:
        return rank_trials(self.study, self.results)


def describe_study(analysis: StudyAnalysis) -> list[str]:
    """Paragraphs, each about one question."""
    parts = [
        summarize_trials(analysis),
        describe_failures(analysis),
        describe_significance(analysis),
        describe_overfitting(analysis),
        *describe_effects(analysis),
        describe_importances(analysis),
        recommend(analysis),
    ]
    return [part for part in parts if part]


def summarize_trials(analysis: StudyAnalysis) -> str:
    ranking, results = analysis.ranking, analysis.results
    states = [result.state for result in results]
    text = f"{_format_count(len(results), 'trial')}: {states.count('complete')} trained to the end"
    for state, words in STATE_PHRASES.items():
        text += f", {states.count(state)} {words}" if states.count(state) else ""
    if not ranking:
        return f"{text}. {explain_no_ranking(analysis)}, so there is no ranking."
    best, worst = ranking[0], ranking[-1]
    text += f". Best on dev: {_trial_name(best)} with {_format_score(analysis, best)}"
    gap = abs((best.value or 0.0) - (worst.value or 0.0))
    if worst is not best and _is_visible(gap):
        text += (
            f"; the weakest that works is {_trial_name(worst)} with {_format_score(analysis, worst)}, {gap:.2f} away"
        )
    elif worst is not best:
        text += "; all others that work score the same"
    return text + "."


def explain_no_ranking(analysis: StudyAnalysis) -> str:
    """Why there is no best trial: none has ended, or none of those that have ended works."""
    states = [result.state for result in analysis.results]
    if not any(state in FINISHED_STATES for state in states):
        return "None has come to its end"
    all_finished = all(state in FINISHED_STATES for state in states)
    return (
        "None of them is a model that works" if all_finished else "None of those that have ended is a model that works"
    )


def describe_failures(analysis: StudyAnalysis) -> str:
    """Collapsed models by name, with the reason; failed trials too."""
    sentences = [
        f"{_capitalize(_trial_name(r))} collapsed: {r.collapse_reason}. It is not ranked."
        for r in analysis.results
        if r.collapse_reason
    ]
    sentences += [
        f"{_capitalize(_trial_name(r))} failed: {r.reason}"
        for r in analysis.results
        if r.state == "failed" and r.reason
    ]
    return " ".join(sentences)


def describe_significance(analysis: StudyAnalysis) -> str:
    """Which differences are significant, and which are noise."""
    ranking = analysis.ranking
    if len(ranking) < 2:
        return ""
    best, seeds = ranking[0], analysis.study.seeds > 1
    tests = [(result, analysis.tests[result.number]) for result in ranking[1:] if result.number in analysis.tests]
    test_name, sample_unit = ("Welch's t over seeds", "seeds") if seeds else ("paired bootstrap", "sentences")
    words = [(f"{_trial_name(r)} ({_format_gap(t, 2 if seeds else 1)})", t.significant) for r, t in tests]
    significant, insignificant = ([text for text, real in words if real is wanted] for wanted in (True, False))
    sentences = []
    if significant:
        summary = f"{len(significant)} of the {len(tests)} others that were tested, {significant[0]} the best of them"
        names = _join_words(significant) if len(significant) <= 5 else summary
        sentences.append(
            f"By dev {_tested_metric(analysis)}, significantly different from {_trial_name(best)} ({test_name}): {names}."
        )
    if insignificant:
        difference = (
            f"the difference in {_tested_metric(analysis)} between {_trial_name(best)} and {_join_words(insignificant)}"
        )
        sentences.append(f"Noise, as far as these {sample_unit} can tell: {difference}.")
    seed_std = _pooled_seed_std(analysis)
    if seed_std is not None:
        sentences.append(f"Between seeds of one combination the score varies by ± {seed_std:.2f}.")
    else:
        sentences.append("Every combination was trained with one seed, so what another seed would change is not known.")
    return " ".join(sentences)


def _format_gap(test: PairedTestResult, digits: int) -> str:
    """How far from the best, and what luck has to do with it."""
    return (
        f"{test.difference:+.{digits}f}, {test.format_p_value(3)}"
        if test.num_differing != 0
        else "the same translations"
    )


def _tested_metric(analysis: StudyAnalysis) -> str:
    """What the tests are of: the metric of the seeds, or BLEU of the sentences."""
    return METRIC_NAMES[analysis.study.metric if analysis.study.seeds > 1 else "bleu"]


def find_turning_point(curve: LossCurve) -> tuple[float, float] | None:
    """Where dev was lowest and how far it rose after, if it rose while training fell; None if it did not."""
    if len(curve.dev_loss) < 3:
        return None
    low = min(range(len(curve.dev_loss)), key=lambda n: curve.dev_loss[n])
    rise = curve.dev_loss[-1] - curve.dev_loss[low]
    falls = curve.train_loss[-1] < curve.train_loss[low]
    return (curve.x[low], rise) if low < len(curve.dev_loss) - 1 and rise > MIN_LOSS_RISE and falls else None


def describe_overfitting(analysis: StudyAnalysis) -> str:
    """Where dev turns while training falls."""
    overfitting_trials, steady_trials = [], []
    for result in analysis.results:
        curve = analysis.loss_curves.get(result.number)
        if curve is None or len(curve.dev_loss) < 3 or result.collapse_reason or result.state not in FINISHED_STATES:
            continue
        turning_point = find_turning_point(curve)
        if turning_point is None:
            steady_trials.append(_trial_name(result))
        else:
            overfitting_trials.append(
                f"{_trial_name(result)} from {_format_position(turning_point[0], analysis.unit)} on (dev loss rises by {turning_point[1]:.2f} to the end, "
                f"training loss falls to {curve.train_loss[-1]:.2f})"
            )
    sentences = []
    if overfitting_trials:
        sentences.append(
            f"Overfitting, dev loss turning up while training loss falls: {_join_words(overfitting_trials[:8])}."
        )
        if len(overfitting_trials) > 8:
            sentences.append(f"So do {len(overfitting_trials) - 8} more.")
    if steady_trials and len(steady_trials) <= 8:
        sentences.append(f"No overfitting by the end of {_join_words(steady_trials)}.")
    elif steady_trials:
        sentences.append(
            f"No overfitting by the end of {'the other' if overfitting_trials else 'any of the'} {len(steady_trials)}."
        )
    return " ".join(sentences)


def describe_effects(analysis: StudyAnalysis) -> list[str]:
    """What each setting did, by means over all trials that share a value."""
    ranking = analysis.ranking
    names = dict.fromkeys(name for result in ranking for name in result.params)
    order = [name for name in ARCHITECTURE_PARAMETERS if name in names] + [
        name for name in names if name not in ARCHITECTURE_PARAMETERS
    ]
    return [text for name in order if (text := _describe_effect(analysis, ranking, name))]


def _describe_effect(analysis: StudyAnalysis, ranking: Sequence[TrialResult], name: str) -> str:
    trials, values = select_trials(ranking, name)
    if len(values) < 2:
        return ""
    if is_continuous(values):
        return _describe_correlation(
            analysis, PARAMETER_LABELS.get(name, short_name(name)), pair_values_with_scores(trials, name)
        )
    groups = {value: [r.value for r in trials if r.params[name] == value and r.value is not None] for value in values}
    means = {value: mean(scores) for value, scores in groups.items()}
    value_means = ", ".join(f"{format_value(v)}: {m:.2f}{_format_sample_size(groups[v])}" for v, m in means.items())
    metric, maximize = METRIC_NAMES[analysis.study.metric], analysis.study.maximize
    text = f"{_capitalize(PARAMETER_LABELS.get(name, short_name(name)))} ({name}), mean dev {metric} by value: {value_means}. "
    worst, best = sorted(means, key=lambda v: means[v] if maximize else -means[v])[:: len(means) - 1]
    gap = abs(means[best] - means[worst])
    if not _is_visible(gap):
        return f"{text}No difference between the best and the worst."
    confounders = find_confounders(trials, name, best, worst)
    unclear = confounders or any(isinstance(value, str | bool) for value in values)
    trend = "" if unclear else f"{_describe_trend(list(means.values()), maximize)}, "
    text += f"Best at {format_value(best)}; {trend}{gap:.2f} between the best and the worst"
    text += f"; {_describe_permutation_test(permutation_test(build_blocks(trials, name)), bool(confounders))}."
    if confounders:
        confounder_names = _join_words([short_name(other) for other in confounders])
        text += f" Between these two it changed together with {confounder_names}: what each of them did cannot be told apart."
    return text


def _is_visible(gap: float) -> bool:
    """Whether a gap is more than the digits that are shown can hide."""
    return round(gap, 2) > 0


def _describe_permutation_test(test: PermutationTestResult, confounded: bool) -> str:
    if not test.can_reach_significance:
        return "these are too few trials to hold it against luck"
    frequency = f"luck alone puts them so far apart in {_format_percent(test.p_value)} of cases"
    if not test.significant:
        return f"{frequency}, so that may be noise"
    return f"{frequency}, so {'it is more than luck' if confounded else 'it is an effect'}"


def _format_percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _describe_correlation(analysis: StudyAnalysis, word: str, points: Sequence[tuple[float, float]]) -> str:
    """How a score goes with a number that never repeats."""
    rho, limit = spearman_correlation(points)
    rho *= 1 if analysis.study.maximize else -1
    direction = "more of it was better" if rho > 0 else "less of it was better"
    verdict = direction if abs(rho) > limit else "no trend that stands out from noise"
    ends = (min(p[0] for p in points), max(p[0] for p in points))
    text = f"{_capitalize(word)} from {format_value(ends[0])} to {format_value(ends[1])}: {verdict}"
    return f"{text} (rank correlation {rho:+.2f}, noise up to ± {limit:.2f})."


def describe_importances(analysis: StudyAnalysis) -> str:
    if not analysis.importances:
        return ""
    order = sorted(analysis.importances, key=lambda name: -analysis.importances[name])
    shares = ", ".join(f"{short_name(name)} {analysis.importances[name]:.0%}" for name in order)
    rest = 1 - sum(analysis.importances.values())
    unexplained = f"; {rest:.0%} none of them explains by itself" if rest >= 0.005 else ""
    hint = ""
    if len(analysis.ranking) < MIN_TRIALS_FOR_IMPORTANCE:
        hint = f" From {_format_count(len(analysis.ranking), 'trial')} that is a hint, no more."
    elif not any(is_significant(analysis.ranking, name) for name in order):
        hint = " Nothing that a setting did stands out from luck, so that is a hint, no more."
    return f"Share of the variation that each setting explains (fANOVA): {shares}{unexplained}.{hint}"


def recommend(analysis: StudyAnalysis) -> str:
    """What to take for quality, for size and for speed."""
    ranking = [result for result in analysis.ranking if result.first_summary is not None]
    if not ranking:
        return f"Nothing to pick: {explain_no_ranking(analysis)[0].lower()}{explain_no_ranking(analysis)[1:]}."
    best = ranking[0]
    text = f"For quality take {_trial_name(best)}: {_format_score(analysis, best)}, {_format_cost(best)}."
    equivalent_trials = [
        r for r in ranking if r is best or (r.number in analysis.tests and not analysis.tests[r.number].significant)
    ]
    return text + "".join(_recommend_for(analysis, ranking, equivalent_trials, wish) for wish in SELECTION_CRITERIA)


@dataclass(frozen=True)
class _SelectionCriterion:
    """What else somebody may want of a model."""

    name: str
    superlative: str
    cost: Callable[[RunSummary], float | None]
    """The less the better; None where it is not known."""


SELECTION_CRITERIA = (
    _SelectionCriterion("size", "smallest", lambda one: float(one.parameters)),
    _SelectionCriterion("speed", "fastest to translate", lambda one: one.decoding_seconds),
)


def _recommend_for(
    analysis: StudyAnalysis,
    ranking: Sequence[TrialResult],
    equivalent_trials: Sequence[TrialResult],
    criterion: _SelectionCriterion,
) -> str:
    """Which one to take for a wish: one that is as good as the best, else the one that has most of it."""
    costs = {
        r.number: cost
        for r in ranking
        if r.first_summary is not None and (cost := criterion.cost(r.first_summary)) is not None
    }
    best, trials_with_cost = ranking[0], [r for r in ranking if r.number in costs]
    if best.number not in costs or len(trials_with_cost) < 2:
        return ""
    cheapest_equivalent = min((r for r in equivalent_trials if r.number in costs), key=lambda r: costs[r.number])
    front = [
        trials_with_cost[n]
        for n in pareto_front([(costs[r.number], r.value or 0.0) for r in trials_with_cost], analysis.study.maximize)
    ]
    if costs[cheapest_equivalent.number] < CLEAR_COST_RATIO * costs[best.number]:
        equal = f"no significant difference in {_tested_metric(analysis)}"
        return f" For {criterion.name} take {_trial_name(cheapest_equivalent)}: {_format_score(analysis, cheapest_equivalent)}, {equal}, {_format_cost(cheapest_equivalent)}."
    if costs[front[0].number] < CLEAR_COST_RATIO * costs[best.number]:
        cheapest = front[0]
        gap = abs((best.value or 0.0) - (cheapest.value or 0.0))
        gap_text = f"{gap:.2f} worse" if _is_visible(gap) else "no worse"
        text = f" For {criterion.name} take {_trial_name(cheapest)}, the {criterion.superlative}: {_format_score(analysis, cheapest)}, {gap_text}"
        return f"{text}, {_format_cost(cheapest)}."
    return f" None is clearly the {criterion.superlative} instead, so take it for {criterion.name} as well."


def _format_cost(result: TrialResult) -> str:
    summary = result.first_summary
    assert summary is not None
    text = f"{summary.parameters / 1e6:.1f} million parameters, {summary.minutes:.1f} minutes of training"
    return (
        text
        if summary.decoding_seconds is None
        else f"{text}, {1000 * summary.decoding_seconds:.1f} ms to translate a sentence"
    )


def _pooled_seed_std(analysis: StudyAnalysis) -> float | None:
    """The scatter between seeds, pooled over combinations."""
    variances = [stdev(r.values) ** 2 for r in analysis.ranking if len(r.values) > 1]
    return math.sqrt(mean(variances)) if variances else None


def _describe_trend(means: Sequence[float], maximize: bool) -> str:
    gains = [b - a if maximize else a - b for a, b in pairwise(means)]
    if len(means) == 2:
        return "the larger value is better" if gains[0] > 0 else "the smaller value is better"
    if all(gain > 0 for gain in gains):
        return "more is better throughout"
    return "less is better throughout" if all(gain < 0 for gain in gains) else "no steady trend"


def _format_score(analysis: StudyAnalysis, result: TrialResult) -> str:
    """The dev score, with ± where something is known of it: between seeds, or of the sentences."""
    value = result.value or 0.0
    name = METRIC_NAMES[analysis.study.metric]
    if len(result.values) > 1:
        return f"dev {name} {value:.2f} ± {stdev(result.values):.2f} over {len(result.values)} seeds"
    score = result.first_summary.scores.get(analysis.study.metric) if result.first_summary else None
    if score and "low" in score:
        return f"dev {name} {value:.2f} ± {(score['high'] - score['low']) / 2:.2f}"
    return f"dev {name} {value:.3f}"


def _trial_name(result: TrialResult) -> str:
    return result.name if not result.name.isdigit() else f"trial {result.name}"


def _format_position(x: float, unit: str) -> str:
    return f"{unit[:-1] if unit.endswith('s') else unit} {x:,.0f}" if unit == "steps" else f"{x:.1f} {unit}"


def _format_sample_size(scores: Sequence[float]) -> str:
    return f" (n = {len(scores)})" if len(scores) > 1 else ""


def _format_count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _join_words(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]
