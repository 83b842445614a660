"""Which trial to choose: for quality, for size and for speed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.report import pareto_front
from regard.tuning.analysis.cost import CLEAR_COST_RATIO
from regard.tuning.analysis.evidence import StudyAnalysis
from regard.tuning.analysis.wording import format_score, is_visible
from regard.tuning.measure import RunSummary
from regard.tuning.results import FINISHED_STATES, TrialResult


@dataclass(frozen=True)
class _SelectionCriterion:
    """A cost to choose by."""

    name: str
    comparative: str
    superlative: str
    """With the verb of the task in braces, where it has one."""
    cost: Callable[[RunSummary], float | None]
    """Lower is better; None if it is not known."""


SELECTION_CRITERIA = (
    _SelectionCriterion("size", "smaller", "smallest", lambda summary: float(summary.parameters)),
    _SelectionCriterion("speed", "faster", "fastest to {verb}", lambda summary: summary.decoding_seconds),
)


def explain_no_ranking(analysis: StudyAnalysis) -> str:
    """Why there is no best trial, as a clause."""
    states = [result.state for result in analysis.results]
    if not any(state in FINISHED_STATES for state in states):
        return "no trial has finished"
    all_finished = all(state in FINISHED_STATES for state in states)
    return f"{'no trial' if all_finished else 'no finished trial'} has produced a working model"


def recommend_trials(analysis: StudyAnalysis) -> str:
    """The trials to choose for quality, for size and for speed."""
    ranking = [result for result in analysis.ranking if result.first_summary is not None]
    if not ranking:
        return f"No recommendation: {explain_no_ranking(analysis)}."
    best, trial_tests = ranking[0], analysis.claims.trials
    text = f"For quality, choose {best.label}: {format_score(analysis, best)}, {_format_cost(analysis, best)}."
    equivalent_trials = [
        r for r in ranking if r is best or (r.number in trial_tests and not trial_tests[r.number].significant)
    ]
    alternatives = (_recommend_for(analysis, ranking, equivalent_trials, one) for one in SELECTION_CRITERIA)
    return " ".join(filter(None, (text, *alternatives)))


def _collect_costs(ranking: Sequence[TrialResult], criterion: _SelectionCriterion) -> dict[int, float]:
    """The known costs by trial number."""
    summaries = {result.number: result.first_summary for result in ranking}
    costs = {number: criterion.cost(summary) for number, summary in summaries.items() if summary is not None}
    return {number: cost for number, cost in costs.items() if cost is not None}


def _recommend_for(
    analysis: StudyAnalysis,
    ranking: Sequence[TrialResult],
    equivalent_trials: Sequence[TrialResult],
    criterion: _SelectionCriterion,
) -> str:
    """The cheapest trial that is not significantly worse than the best; otherwise the cheapest of the Pareto front."""
    costs = _collect_costs(ranking, criterion)
    best, candidates = ranking[0], [result for result in ranking if result.number in costs]
    if best.number not in costs or len(candidates) < 2:
        return ""
    clearly_less = CLEAR_COST_RATIO * costs[best.number]
    equivalent = min((r for r in equivalent_trials if r.number in costs), key=lambda r: costs[r.number])
    if costs[equivalent.number] < clearly_less:
        difference = f"no significant difference in {analysis.tested_metric}"
        return (
            f"For {criterion.name}, choose {equivalent.label}: {format_score(analysis, equivalent)}, {difference}, "
            f"{_format_cost(analysis, equivalent)}."
        )
    points = [(costs[result.number], result.value or 0.0) for result in candidates]
    cheapest = candidates[pareto_front(points, analysis.study.maximize)[0]]
    if costs[cheapest.number] < clearly_less:
        gap, digits = abs((best.value or 0.0) - (cheapest.value or 0.0)), analysis.digits
        superlative = criterion.superlative.format(verb=analysis.study.task.prediction_words.verb)
        difference = f"{gap:.{digits}f} worse" if is_visible(gap, digits) else "no worse"
        return (
            f"For {criterion.name}, choose {cheapest.label}, the {superlative}: {format_score(analysis, cheapest)}, "
            f"{difference}, {_format_cost(analysis, cheapest)}."
        )
    return f"No trial is clearly {criterion.comparative}, so choose it for {criterion.name} as well."


def _format_cost(analysis: StudyAnalysis, result: TrialResult) -> str:
    summary = result.first_summary
    assert summary is not None
    text = f"{_format_size(summary.parameters)} parameters, {_format_minutes(summary.minutes)} of training"
    if summary.decoding_seconds is None:
        return text
    words = analysis.study.task.prediction_words
    return f"{text}, {1000 * summary.decoding_seconds:.1f} ms to {words.verb} a {words.input}"


def _format_size(parameters: int) -> str:
    return f"{parameters / 1e6:.1f} million" if parameters >= 1e6 else f"{parameters:,}"


def _format_minutes(minutes: float) -> str:
    return f"{minutes:.1f} minutes" if minutes >= 0.5 else f"{60 * minutes:.1f} seconds"
