"""A study in sentences. Every sentence is computed from the trials; what they do not support is left out."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import mean, stdev

from regard.metrics import PairedTestResult
from regard.tuning.analysis.curves import find_turning_point
from regard.tuning.analysis.effects import (
    EffectTest,
    find_confounders,
    is_continuous,
    pair_values_with_scores,
    select_trials,
)
from regard.tuning.analysis.evidence import SEED_TESTS, StudyAnalysis
from regard.tuning.analysis.recommend import explain_no_ranking, recommend_trials
from regard.tuning.analysis.wording import capitalize, format_count, format_score, is_visible, join_words
from regard.tuning.measure import COLLAPSED, UNDERTRAINED
from regard.tuning.results import FINISHED_STATES, TrialResult
from regard.tuning.study import format_value, short_name

MIN_TRIALS_FOR_IMPORTANCE = 10  # with fewer trials, importances are only an indication
MAX_LISTED_TRIALS = 8
STATE_PHRASES = {
    "pruned": "pruned",
    "failed": "failed",
    "running": "still running",
    "interrupted": "interrupted",
    "waiting": "not started",
}
VERBS = {COLLAPSED: COLLAPSED, UNDERTRAINED: f"was {UNDERTRAINED}"}
ARCHITECTURE_PARAMETERS = ("model.layers", "model.dim", "model.heads", "model.dropout")
PARAMETER_LABELS = {"model.layers": "depth", "model.dim": "width", "model.heads": "heads", "model.dropout": "dropout"}


def describe_study(analysis: StudyAnalysis) -> list[str]:
    """Paragraphs, each about one question."""
    parts = [
        summarize_trials(analysis),
        describe_failures(analysis),
        describe_significance(analysis),
        describe_overfitting(analysis),
        *describe_effects(analysis),
        describe_correction(analysis),
        describe_importances(analysis),
        recommend_trials(analysis),
    ]
    return [part for part in parts if part]


def summarize_trials(analysis: StudyAnalysis) -> str:
    """The best trial, whether it differs from the next one, and how many trials there are."""
    ranking, results = analysis.ranking, analysis.results
    states = [result.state for result in results]
    count = f"{format_count(len(results), 'trial')}: {states.count('complete')} complete"
    for state, phrase in STATE_PHRASES.items():
        count += f", {states.count(state)} {phrase}" if states.count(state) else ""
    if not ranking:
        return f"There is no ranking: {explain_no_ranking(analysis)}. {count}."
    best, worst = ranking[0], ranking[-1]
    text = f"Best on dev: {best.label} with {format_score(analysis, best)}{_compare_with_next(analysis)}"
    gap = abs((best.value or 0.0) - (worst.value or 0.0))
    if worst is not best and is_visible(gap, analysis.digits):
        last = f"{worst.label} with {format_score(analysis, worst)}"
        text += f"; the last of the ranking is {last}, {gap:.{analysis.digits}f} worse{_judge_last(analysis)}"
    elif worst is not best:
        text += "; all other ranked trials have the same score"
    return f"{text}. {count}."


def _compare_with_next(analysis: StudyAnalysis) -> str:
    """Whether the best of several trials differs significantly from the next one; empty where that is not tested."""
    test = analysis.claims.trials.get(analysis.ranking[1].number) if len(analysis.ranking) > 2 else None
    if test is None:
        return ""
    relation = "significantly different from" if test.significant else "no significant difference from"
    return f", {relation} the next, {analysis.ranking[1].label}"


def _judge_last(analysis: StudyAnalysis) -> str:
    """Whether the second of two trials is significantly worse; empty for more, and where that is not tested."""
    test = analysis.claims.trials.get(analysis.ranking[1].number) if len(analysis.ranking) == 2 else None
    if test is None:
        return ""
    return ", which is significant" if test.significant else ", which is not significant"


def describe_failures(analysis: StudyAnalysis) -> str:
    """Trials whose models do not work, and failed ones, with their reasons."""
    results = analysis.results
    sentences = [
        f"{capitalize(r.label)} {VERBS[r.diagnosis]}: {r.collapse_reason}. It is not ranked."
        for r in results
        if r.diagnosis
    ]
    sentences += [f"{capitalize(r.label)} failed: {r.reason}" for r in results if r.state == "failed" and r.reason]
    return " ".join(sentences)


def describe_significance(analysis: StudyAnalysis) -> str:
    """Which differences from the best trial are significant."""
    ranking = analysis.ranking
    if len(ranking) < 2:
        return ""
    best, seeds, trial_tests = ranking[0], analysis.study.seeds > 1, analysis.claims.trials
    tests = [(result, trial_tests[result.number]) for result in ranking[1:] if result.number in trial_tests]
    test_name = f"{SEED_TESTS} over seeds" if seeds else "paired bootstrap"
    scope = "over these seeds" if seeds else f"on these {''.join(test.units for _, test in tests[:1])}"
    words = [(f"{r.label} ({_format_gap(t, analysis.digits if seeds else t.digits)})", t.significant) for r, t in tests]
    significant, insignificant = ([text for text, real in words if real is wanted] for wanted in (True, False))
    sentences = [] if tests or seeds else [_NOT_TESTED.format(example=analysis.study.task.example)]
    if significant:
        summary = f"{len(significant)} of the {len(tests)} tested trials, the best of them {significant[0]}"
        names = join_words(significant) if len(significant) <= 5 else summary
        sentences.append(
            f"By dev {analysis.tested_metric}, significantly different from {best.label} ({test_name}): {names}."
        )
    if insignificant:
        sentences.append(
            f"Not significant {scope}: the difference in {analysis.tested_metric} between {best.label} and "
            f"{join_words(insignificant)}."
        )
    seed_std = _pooled_seed_std(analysis)
    if seed_std is not None:
        sentences.append(
            f"Standard deviation between seeds of one combination, pooled: {seed_std:.{analysis.digits}f}."
        )
    else:
        sentences.append("Every combination was trained with one seed, so the variation between seeds is not known.")
    return " ".join(sentences)


_NOT_TESTED = "No difference was tested: this machine has no scores of the same single {example}s of dev."


def _format_gap(test: PairedTestResult, digits: int) -> str:
    """The difference from the best trial, with its p-value."""
    if test.num_differing == 0:
        return f"the same {test.answers}"
    p_value = test.format_p_value(3).replace(" (", ", ").removesuffix(")")  # the gap is in parentheses itself
    return f"{test.difference:+.{digits}f}, {p_value}"


def describe_overfitting(analysis: StudyAnalysis) -> str:
    """Which trials overfit, and from where on."""
    overfitting_trials, steady_trials = [], []
    for result in analysis.results:
        curve = analysis.loss_curves.get(result.number)
        if curve is None or len(curve.dev_loss) < 3 or result.collapse_reason or result.state not in FINISHED_STATES:
            continue
        turning_point = find_turning_point(curve)
        if turning_point is None:
            steady_trials.append(result.label)
        else:
            x, rise = turning_point
            overfitting_trials.append(
                f"{result.label} from {_format_position(x, analysis.unit)} on (dev loss rises by {rise:.2f} to the "
                f"end, training loss falls to {curve.train_loss[-1]:.2f})"
            )
    sentences = []
    if overfitting_trials:
        rest = len(overfitting_trials) - MAX_LISTED_TRIALS
        listed = [*overfitting_trials[:MAX_LISTED_TRIALS], *([f"{rest} more"] if rest > 0 else [])]
        sentences.append(f"Overfitting, dev loss rising while training loss falls: {join_words(listed)}.")
    if steady_trials and len(steady_trials) <= MAX_LISTED_TRIALS:
        sentences.append(f"No overfitting in {join_words(steady_trials)}.")
    elif steady_trials:
        group = "the other" if overfitting_trials else "any of the"
        sentences.append(f"No overfitting in {group} {len(steady_trials)} trials.")
    return " ".join(sentences)


def describe_effects(analysis: StudyAnalysis) -> list[str]:
    """The effect of each setting, by means over trials that share a value."""
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
    label = capitalize(PARAMETER_LABELS.get(name, short_name(name)))
    test = analysis.claims.effects[name]
    if is_continuous(values):
        return _describe_correlation(analysis, label, test, [x for x, _ in pair_values_with_scores(trials, name)])
    metric, maximize, digits = analysis.metric, analysis.study.maximize, analysis.digits
    groups = {value: [r.value for r in trials if r.params[name] == value and r.value is not None] for value in values}
    means = {value: mean(scores) for value, scores in groups.items()}
    value_means = ", ".join(
        f"{format_value(v)}: {m:.{digits}f}{_format_sample_size(groups[v])}" for v, m in means.items()
    )
    text = f"{label} ({name}), dev {metric} by value: {value_means}. "
    worst, best = sorted(means, key=lambda v: means[v] if maximize else -means[v])[:: len(means) - 1]
    gap = abs(means[best] - means[worst])
    if not is_visible(gap, digits):
        return f"{text}No difference between the best and the worst."
    confounders = find_confounders(trials, name, best, worst)
    unclear = not test.significant or confounders or any(isinstance(value, str | bool) for value in values)
    trend = "" if unclear else f"{_describe_trend(list(means.values()), maximize)}, "
    text += f"Best at {format_value(best)}; {trend}{gap:.{digits}f} between the best and the worst"
    text += f"; {_describe_permutation_test(test, bool(confounders))}."
    if confounders:
        confounder_names = join_words([short_name(other) for other in confounders])
        text += f" Between these two it changed together with {confounder_names}: their effects cannot be separated."
    return text


def _describe_permutation_test(test: EffectTest, confounded: bool) -> str:
    if not test.can_reach_significance:
        return "too few trials for a permutation test"
    verdict = "not significant" if not test.significant else "significant" + ", but confounded" * confounded
    return f"permutation test p = {test.p_value:.2g}: {verdict}"


def _describe_correlation(analysis: StudyAnalysis, label: str, test: EffectTest, values: Sequence[float]) -> str:
    """The rank correlation of a continuous setting with the score."""
    rho = (test.rho or 0.0) * (1 if analysis.study.maximize else -1)
    direction = "higher values were better" if rho > 0 else "lower values were better"
    verdict = direction if test.significant else "no significant trend"
    return (
        f"{label} from {format_value(min(values))} to {format_value(max(values))}: {verdict} "
        f"(rank correlation {rho:+.2f}, p = {test.p_value:.2g})."
    )


def describe_correction(analysis: StudyAnalysis) -> str:
    """That p-values are corrected, and for what."""
    count = analysis.claims.num_tests
    if not count:
        return ""
    tests = "the one test" if count == 1 else f"all {count} tests"
    return f"p-values are corrected for the selection of the best trial and for {tests} of this study (Holm)."


def describe_importances(analysis: StudyAnalysis) -> str:
    if not analysis.importances:
        return ""
    order = sorted(analysis.importances, key=lambda name: -analysis.importances[name])
    shares = ", ".join(f"{short_name(name)} {analysis.importances[name]:.0%}" for name in order)
    rest = 1 - sum(analysis.importances.values())
    unexplained = f"; {rest:.0%} is explained by no setting alone" if rest >= 0.005 else ""
    note = qualify_importances(analysis)
    return f"Importance (fANOVA, share of the variance): {shares}{unexplained}.{f' {note}' if note else ''}"


def qualify_importances(analysis: StudyAnalysis) -> str:
    """Why importances are an indication and no finding; empty where they are one."""
    if len(analysis.ranking) < MIN_TRIALS_FOR_IMPORTANCE:
        return f"With {format_count(len(analysis.ranking), 'trial')}, this is only an indication."
    effects = [analysis.claims.effects.get(name) for name in analysis.importances]
    if not any(effect is not None and effect.significant for effect in effects):
        return "No setting has a significant effect, so this is only an indication."
    return ""


def _pooled_seed_std(analysis: StudyAnalysis) -> float | None:
    """The standard deviation between seeds, pooled over combinations."""
    variances = [stdev(r.values) ** 2 for r in analysis.ranking if len(r.values) > 1]
    return math.sqrt(mean(variances)) if variances else None


def _describe_trend(means: Sequence[float], maximize: bool) -> str:
    gains = [b - a if maximize else a - b for a, b in pairwise(means)]
    if len(means) == 2:
        return "the higher value is better" if gains[0] > 0 else "the lower value is better"
    if all(gain > 0 for gain in gains):
        return "higher is better throughout"
    return "lower is better throughout" if all(gain < 0 for gain in gains) else "no monotonic trend"


def _format_position(x: float, unit: str) -> str:
    return f"step {x:,.0f}" if unit == "steps" else f"{x:.1f} {unit}"


def _format_sample_size(scores: Sequence[float]) -> str:
    return f" (mean of {len(scores)})" if len(scores) > 1 else ""
