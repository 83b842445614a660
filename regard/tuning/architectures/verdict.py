"""The verdict about architectures, in sentences that are each computed."""

from collections.abc import Iterator

from regard.config import ARCHITECTURE_NOTES, READING_TASKS
from regard.tuning.analysis.wording import capitalize, format_count, is_visible
from regard.tuning.architectures.comparison import ArchitectureComparison
from regard.tuning.architectures.sizes import spread

SMALLEST_P = 0.001


def describe_architectures(comparison: ArchitectureComparison) -> Iterator[str]:
    """The verdict, how equal the models are, and what else a reader must know."""
    budget = " and ".join(f"{limit:g} {name}" for name, limit in comparison.budget.items())
    verdicts = "; ".join(_describe_tests(comparison))
    yield f"On these {comparison.num_train:,} {comparison.units} and {budget} each, {verdicts}."
    yield _describe_scores(comparison)
    yield _describe_sizes(comparison)
    names = {one.name for one in comparison.results}
    yield from (text for (task, name), text in ARCHITECTURE_NOTES.items() if task == comparison.task and name in names)
    for one in comparison.results:
        if one.collapse_reason:
            yield f"{capitalize(_the(one.name))} does not work in one of its runs: {one.collapse_reason}."
    for name, reason in comparison.failures.items():
        yield f"{capitalize(_the(name))} was not trained: {reason}."


def describe_method(comparison: ArchitectureComparison) -> str:
    """How differences are tested."""
    seeds = len(comparison.results[0].scores)
    count = format_count(len(comparison.tests), "comparison")
    chance = f"the test {comparison.units} (paired bootstrap over {comparison.num_test:,} of them)"
    if seeds > 1:
        chance = f"both {chance} and the {seeds} seeds (Student's t)"
    else:
        chance = f"{chance} alone: nothing is known of other seeds"
    return f"Intervals and p-values take account of {chance}. p-values are corrected for {count} (Holm)."


def _describe_tests(comparison: ArchitectureComparison) -> Iterator[str]:
    """The differences that were found, and then the pairs that are undecided."""
    digits, undecided = comparison.digits, []
    for test in sorted(comparison.tests, key=lambda test: test.adjusted_p):
        p = f"p < {SMALLEST_P:g}" if test.adjusted_p < SMALLEST_P else f"p = {test.adjusted_p:.3f}"
        gap = f"{test.difference:.{digits}f} points"
        if test.significant and is_visible(test.difference, digits):
            interval = f"95% interval {test.low:.{digits}f} to {test.high:.{digits}f}"
            yield (
                f"{_the(test.first)} is ahead of {_the(test.second)} by {gap} of {comparison.metric} ({interval}, {p})"
            )
        else:
            undecided.append(f"{_the(test.first)} and {_the(test.second)} ({gap}, {p})")
    if undecided:
        yield f"undecided between {', between '.join(undecided)}"


def _describe_scores(comparison: ArchitectureComparison) -> str:
    digits = comparison.digits
    order = sorted(comparison.results, key=lambda one: -one.score)
    scores = ", ".join(f"{one.name} {one.score:.{digits}f}" for one in order)
    seeds = format_count(len(order[0].scores), "seed")
    metric, units = capitalize(comparison.metric), f"{comparison.num_test:,} test {comparison.units}"
    return f"{metric} on {units}, mean of {seeds}: {scores}."


def _describe_sizes(comparison: ArchitectureComparison) -> str:
    weights = {one.name: one.weights for one in comparison.results}
    if comparison.task in READING_TASKS:
        weights.pop("encoder-decoder", None)
    low, high = min(weights.values()), max(weights.values())
    return f"Weights outside the token embeddings: {low:,} to {high:,}, {spread(list(weights.values())):.1%} apart."


def _the(name: str) -> str:
    return f"the {name}"
