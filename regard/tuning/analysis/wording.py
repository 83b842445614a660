"""Numbers and lists in sentences about a study."""

from collections.abc import Sequence
from statistics import stdev

from regard.metrics.score import format_with_margin
from regard.tuning.analysis.evidence import StudyAnalysis
from regard.tuning.results import TrialResult
from regard.tuning.study import METRIC_NAMES


def format_score(analysis: StudyAnalysis, result: TrialResult) -> str:
    """The dev score with its deviation over seeds, or with half of its confidence interval, if either is known."""
    value = result.value or 0.0
    name = METRIC_NAMES[analysis.study.metric]
    if len(result.values) > 1:
        return f"dev {name} {value:.2f} ± {stdev(result.values):.2f} over {len(result.values)} seeds"
    score = result.first_summary.scores.get(analysis.study.metric) if result.first_summary else None
    if score and score.get("low") is not None:
        return f"dev {name} {format_with_margin({**score, 'value': value}, 2)}"
    return f"dev {name} {value:.3f}"


def is_visible(gap: float) -> bool:
    """Whether a difference is visible in the two digits that are shown."""
    return round(gap, 2) > 0


def format_count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def join_words(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def capitalize(text: str) -> str:
    """The text with a capital first letter; the rest stays as it is."""
    return text[:1].upper() + text[1:]
