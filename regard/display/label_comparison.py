"""Systems that predict labels side by side: which one is best and whether that is significant, then a table."""

from collections.abc import Iterator

from regard.display.layout import Column, bind, format_table, wrap, wrap_all
from regard.display.views.scores import format_p_values, format_signatures
from regard.jobs.label_comparison import LabelComparison, LabelSystem

FURTHER_MEASURES = frozenset({"weighted_f1", "balanced_accuracy", "kappa"})
"""Those that only --verbose shows."""


def format_label_comparison(comparison: LabelComparison, width: int, verbose: bool = False) -> list[str]:
    """The answer, the scores of every system, the tests against the first one, and signatures."""
    scores = comparison.baseline.scores
    names = [name for name in scores if verbose or name not in FURTHER_MEASURES]
    columns = [Column("system", wraps=True), *(Column(scores[name].name, right=True) for name in names)]
    rows = [[system.name, *(system.scores[name].format_margin(1) for name in names)] for system in comparison.systems]
    lines = [*wrap(_describe_answer(comparison), width), "", *format_table(columns, rows, width), ""]
    if comparison.majority:
        label, accuracy = comparison.majority
        lines += wrap(f"Always predicting {label!r} has accuracy {accuracy:.1f}.", width)
    lines += wrap_all(list(_describe_tests(comparison)), width, "", "  ")
    lines += wrap(f"± is half the 95% interval over {comparison.unit}.", width)
    shown = list(scores.values()) if verbose else [scores[comparison.decisive]]
    return [*lines, *format_signatures(shown, width)]


def _describe_answer(comparison: LabelComparison) -> str:
    best, measure = comparison.best, comparison.decisive
    score = best.scores[measure]
    answer = f"{best.name} has the highest {score.name} on {len(comparison.gold):,} {comparison.unit}: "
    answer += bind(f"{score.value:.1f}")
    if len(comparison.systems) == 1:
        return (
            f"{best.name}: {score.name} {bind(score.format_margin(1))} on {len(comparison.gold):,} {comparison.unit}."
        )
    rival = _select_rival(comparison)
    test = comparison.tests[measure][(rival if best is comparison.baseline else best).name]
    return f"{answer}, {abs(test.difference):.1f} more than {rival.name}; {test.verdict}."


def _select_rival(comparison: LabelComparison) -> LabelSystem:
    """What the best system was tested against: the baseline, or the best of the others if it is the baseline."""
    if comparison.best is not comparison.baseline:
        return comparison.baseline
    others = comparison.systems[1:]
    return max(others, key=lambda system: system.scores[comparison.decisive].value)


def _describe_tests(comparison: LabelComparison) -> Iterator[str]:
    baseline = comparison.baseline
    for system in comparison.systems[1:]:
        for measure, tests in comparison.tests.items():
            test, score = tests[system.name], baseline.scores[measure]
            p_values = format_p_values(test.p_bootstrap, test.p_randomized) if test.num_differing else ""
            difference = f"{score.name} {test.difference:+.2f} against {baseline.name}"
            yield f"{system.name}: {difference}: {test.verdict}{p_values}"
    if len(comparison.systems) > 2:
        yield f"p-values are corrected for {len(comparison.systems) - 1} comparisons by each measure (Holm)."
