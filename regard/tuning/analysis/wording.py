"""Numbers and lists in sentences about a study."""

from collections.abc import Sequence
from statistics import stdev

from regard.metrics.score import format_with_margin
from regard.tuning.analysis.evidence import StudyAnalysis
from regard.tuning.results import TrialResult


def format_score(analysis: StudyAnalysis, result: TrialResult) -> str:
    """The dev score with its deviation over seeds, or with half of its confidence interval, if either is known."""
    value, name, digits = result.value or 0.0, analysis.metric, analysis.digits
    if len(result.values) > 1:
        deviation = stdev(result.values)
        return f"dev {name} {value:.{digits}f} ± {deviation:.{digits}f} over {len(result.values)} seeds"
    scores = result.first_summary.scores if result.first_summary else {}
    score = scores.get(analysis.study.find_metric(scores))
    if score and score.get("low") is not None:
        return f"dev {name} {format_with_margin({**score, 'value': value}, digits)}"
    return f"dev {name} {value:.{digits}f}"


def is_visible(gap: float, digits: int) -> bool:
    """Whether a difference is visible in the digits that are shown."""
    return round(gap, digits) > 0


def format_count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def join_words(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def capitalize(text: str) -> str:
    """The text with a capital first letter; the rest stays as it is."""
    return text[:1].upper() + text[1:]
