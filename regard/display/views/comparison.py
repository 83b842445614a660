"""Systems side by side: which one is best and whether that is significant, a table, and how it was tested."""

from collections.abc import Iterator, Sequence

from regard.display.layout import Column, bind, format_table, wrap, wrap_all
from regard.display.numbers import format_score
from regard.display.views.scores import format_signatures, is_above_chance
from regard.metrics import Score
from regard.tuning.compare import Comparison, System
from regard.tuning.measure import SCORED_METRICS
from regard.tuning.pages.comparison import (
    LENGTH_RATIO,
    VERBS,
    describe_correction,
    describe_tests,
    describe_verdict,
    pair_tests,
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
    lines = wrap(_describe_answer(comparison), width)
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


def _describe_answer(comparison: Comparison) -> str:
    working = [
        system for system in comparison.systems if not system.collapse_reason and is_above_chance(system.evaluation)
    ]
    count = f"{len(comparison.pairs):,} sentences"
    if not working:
        return f"No system translates: on {count}, BLEU is no better than that of other sentences' translations."
    best, baseline = max(working, key=lambda system: _bleu(system).value), comparison.baseline
    if len(comparison.systems) == 1:
        return f"{best.name}: {bind(format_score(_bleu(best)))} on {count}."
    other = best
    if len(working) == 1:
        return f"{best.name} is the only system that translates: {bind(format_score(_bleu(best)))} on {count}."
    if best is baseline:
        others = [system for system in working if system is not baseline]
        other = max(others, key=lambda system: _bleu(system).value)
    bootstrap, randomization = next(iter(pair_tests(comparison, other)))
    difference = _bleu(best).value - _bleu(baseline if other is best else other).value
    verdict = describe_verdict(bootstrap, randomization)
    if other is best and len(comparison.systems) > 2:
        return f"{best.name} has the highest BLEU on {count}: {_compare_with_baseline(comparison, best, working)}."
    rival = baseline.name if other is best else other.name
    return (
        f"{best.name} has the highest BLEU on {count}: {bind(f'{_bleu(best).value:.1f}')}, {difference:.1f} more than "
        f"{rival}; {verdict}."
    )


def _compare_with_baseline(comparison: Comparison, best: System, working: Sequence[System]) -> str:
    """Of several systems: the test of the best one, which is against the baseline alone, and what was not tested."""
    baseline = comparison.baseline
    bootstrap, randomization = next(iter(pair_tests(comparison, best)))
    value, difference = _bleu(best).value, _bleu(best).value - _bleu(baseline).value
    if bootstrap.has_enough_sentences and bootstrap.significant and randomization.significant:
        parts = [f"{value:.1f}, significantly better than the baseline {baseline.name} ({difference:.1f} more)"]
    else:
        verdict = describe_verdict(bootstrap, randomization)
        parts = [f"{value:.1f}, {difference:.1f} more than the baseline {baseline.name}; {verdict}"]
    untested = sorted(
        (system for system in working if system not in (best, baseline)), key=lambda system: -_bleu(system).value
    )
    if untested:
        names = ", ".join(f"{system.name} ({_bleu(system).value:.1f})" for system in untested)
        parts.append(f"not tested against {names}")
    return "; ".join(parts)


def _describe_systems(comparison: Comparison) -> Iterator[str]:
    for system in comparison.systems:
        if system.collapse_reason:
            yield f"{system.name} {VERBS[system.diagnosis]}: {system.collapse_reason}"
        if system is not comparison.baseline:
            for sentence in describe_tests(comparison, system):
                yield f"{system.name}: {sentence.replace('p = ', bind('p = '))}"


def _bleu(system: System) -> Score:
    return system.evaluation.scores["bleu"]


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
