"""Systems side by side: which one is best and whether that is significant, a table, and how it was tested."""

from collections.abc import Iterator

from regard.display.layout import Column, bind, format_table, wrap, wrap_all
from regard.display.views.scores import format_signatures
from regard.tuning.compare import Comparison, System
from regard.tuning.measure import SCORED_METRICS
from regard.tuning.pages.comparison import (
    LENGTH_RATIO,
    VERBS,
    describe_answer,
    describe_correction,
    describe_tests,
)
from regard.tuning.pages.run_parts import describe_settings

COST_COLUMNS = (
    Column("parameters", right=True, below=True),
    Column("minutes", right=True, below=True),
    Column("tokens/s", right=True, below=True),
)


def format_comparison(comparison: Comparison, width: int, verbose: bool = False) -> list[str]:
    """The answer, the scores of every system, the tests against the first one, and signatures."""
    scores = comparison.baseline.evaluation.scores
    columns = [
        Column("system", wraps=True),
        *(Column(scores[name].name, right=True) for name in SCORED_METRICS),
        Column("length", right=True),
        *COST_COLUMNS,
    ]
    answer = describe_answer(comparison)
    for text in ("BLEU ", " ± ", "p = "):
        answer = answer.replace(text, bind(text))
    lines = wrap(answer, width)
    lines += ["", *format_table(columns, [_make_row(system) for system in comparison.systems], width), ""]
    lines += wrap_all(_describe_systems(comparison), width, "", "  ")
    lines += wrap(describe_settings(comparison.systems), width, "", "  ")
    if correction := describe_correction(comparison):
        lines += wrap(correction, width, "", "  ")
    if tokenization := comparison.baseline.evaluation.tokenization.describe():
        lines += wrap(tokenization, width, "", "  ")
    lines += wrap(f"± is half the 95% interval; lower TER is better; length: {LENGTH_RATIO}.", width, "", "  ")
    shown = [scores[name] for name in SCORED_METRICS if verbose or name == "bleu"]
    return [*lines, *format_signatures(shown, width)]


def _describe_systems(comparison: Comparison) -> Iterator[str]:
    for system in comparison.systems:
        if system.collapse_reason:
            yield f"{system.name} {VERBS[system.diagnosis]}: {system.collapse_reason}"
        if system is not comparison.baseline:
            for sentence in describe_tests(comparison, system):
                yield f"{system.name}: {sentence.replace('p = ', bind('p = '))}"


def _make_row(system: System) -> list[str]:
    scores = (system.evaluation.scores[name] for name in SCORED_METRICS)
    summary = system.summary
    return [
        system.name,
        *(score.format_margin(1) for score in scores),
        f"{system.evaluation.baselines.length_ratio:.2f}",
        "" if system.parameters is None else f"{system.parameters:,}",
        "" if summary is None else f"{summary.minutes:.1f}",
        "" if summary is None else f"{summary.tokens_per_second:,.0f}",
    ]
