"""The sentence that the page of a study begins with: which trial to choose, and how sure that is."""

from regard.report import Headline
from regard.tuning.analysis.evidence import StudyAnalysis
from regard.tuning.analysis.recommend import explain_no_ranking
from regard.tuning.analysis.wording import format_score, is_visible, join_words
from regard.tuning.results import TrialResult
from regard.tuning.study import format_params

MAX_NAMED_TRIALS = 3


def decide(analysis: StudyAnalysis) -> Headline:
    """The best trial with its settings, its score, and whether others are as good."""
    ranking, states = analysis.ranking, [result.state for result in analysis.results]
    if not ranking:
        return Headline(f"Nothing to choose: {explain_no_ranking(analysis)}.", "bad")
    best = ranking[0]
    settings = format_params(best.params)
    start = f"Choose {best.label}{f' ({settings})' if settings else ''}: {format_score(analysis, best)}"
    running = sum(state in ("running", "waiting", "interrupted") for state in states)
    rest = f" {running} of {len(states)} trials have not ended." if running else ""
    return Headline(f"{start}, {_judge(analysis, best)}.{rest}", "open" if running else "good")


def _judge(analysis: StudyAnalysis, best: TrialResult) -> str:
    """Which of the others the best trial is significantly better than, in words."""
    others = analysis.ranking[1:]
    if not others:
        return "the only trial that works"
    tests = analysis.claims.trials
    equal = [one.label for one in others if one.number in tests and not tests[one.number].significant]
    tested = [one for one in others if one.number in tests]
    if not tested:
        return f"the best of {len(analysis.ranking)}; no difference was tested"
    if not equal:
        scope = f"all {len(others)} others" if len(tested) == len(others) else f"the {len(tested)} that were tested"
        return f"significantly better than {others[0].label if len(others) == 1 else scope}"
    named = join_words(equal) if len(equal) <= MAX_NAMED_TRIALS else f"{len(equal)} others, {equal[0]} among them"
    return f"not significantly better than {named}"


def compare_with_best(analysis: StudyAnalysis, result: TrialResult) -> str:
    """How much worse a trial is than the best one, and whether that is significant, in words."""
    best = analysis.ranking[0]
    if result is best:
        return "best"
    gap = abs((best.value or 0.0) - (result.value or 0.0))
    if not is_visible(gap, analysis.digits):
        return "equal"
    test = analysis.claims.trials.get(result.number)
    verdict = "not tested" if test is None else "significant" if test.significant else "not significant"
    return f"{gap:.{analysis.digits}f} worse, {verdict}"
