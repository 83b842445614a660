"""Systems of any task but translation side by side: which one is best and whether that is significant, then a table."""

from regard.display.layout import Column, bind, format_table, wrap, wrap_all
from regard.display.views.scores import format_signatures
from regard.jobs.tasks.comparison import TaskComparison
from regard.tuning.pages.run_parts import describe_settings
from regard.tuning.pages.task_comparison import describe_comparison, describe_tests, find_runs

FURTHER_MEASURES = frozenset({"weighted_f1", "balanced_accuracy", "kappa"})
"""Those that only --verbose shows."""


def format_task_comparison(comparison: TaskComparison, width: int, verbose: bool = False) -> list[str]:
    """The answer, the scores of every system, the tests against the first one, and signatures."""
    scores = comparison.baseline.scores
    names = [name for name in scores if verbose or name not in FURTHER_MEASURES]
    columns = [Column("system", wraps=True), *(Column(scores[name].name, right=True) for name in names)]
    rows = [
        [system.name, *(system.scores[name].format_margin(scores[name].digits) for name in names)]
        for system in comparison.systems
    ]
    answer, *notes = describe_comparison(comparison)
    lines = [*wrap(answer, width), "", *format_table(columns, rows, width), ""]
    tests = [sentence.replace("p = ", bind("p = ")) for sentence in describe_tests(comparison)]
    settings = describe_settings(find_runs(comparison))
    lines += wrap_all([*notes, *tests, *filter(None, [settings])], width, "", "  ")
    lower = ", ".join(scores[name].name for name in names if scores[name].lower_is_better)
    interval = f"± is half the 95% interval over {comparison.units}{f'; lower is better: {lower}' if lower else ''}."
    lines += wrap(interval, width)
    shown = list(scores.values()) if verbose else [scores[comparison.decisive]]
    return [*lines, *format_signatures(shown, width)]
