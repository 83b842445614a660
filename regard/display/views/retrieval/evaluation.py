"""Search systems side by side: which one is best and whether that is significant, then a table."""

from collections.abc import Iterator

from regard.display.layout import Column, bind, format_table, wrap, wrap_all
from regard.display.views.scores import format_p_values, format_signatures
from regard.jobs.retrieval.evaluation import DECISIVE, SearchEvaluation
from regard.metrics.retrieval import RankingTest

FURTHER_MEASURES = frozenset({"p_10"})
"""Those that only --verbose shows."""


def format_search_evaluation(evaluation: SearchEvaluation, width: int, verbose: bool = False) -> list[str]:
    """The answer, the scores of every system, the tests of every two, what is missing, and signatures."""
    scores = evaluation.scores
    first = next(iter(scores.values()))
    names = [name for name in first if verbose or name not in FURTHER_MEASURES]
    columns = [Column("system", wraps=True), *(Column(first[name].name, right=True) for name in names)]
    rows = [[system, *(each[name].format_margin(1) for name in names)] for system, each in scores.items()]
    lines = [*wrap(_describe_answer(evaluation), width), "", *format_table(columns, rows, width), ""]
    lines += wrap_all(_describe_tests(evaluation, names if verbose else [DECISIVE]), width, "", "  ")
    lines += wrap("± is half the 95% interval over queries.", width)
    lines += wrap_all([f"! {note}" for note in evaluation.notes], width, "", "  ")
    lines += format_signatures(list(first.values()) if verbose else [first[DECISIVE]], width)
    return lines + wrap_all([f"{name}: {how}" for name, how in evaluation.signatures.items()], width, "", "  ")


def _describe_answer(evaluation: SearchEvaluation) -> str:
    best, rival = _rank_systems(evaluation)[:2]
    score = evaluation.scores[best][DECISIVE]
    test = next(test for test in evaluation.tests[DECISIVE] if {test.first, test.second} == {best, rival})
    queries = "query" if evaluation.num_queries == 1 else "queries"
    return (
        f"{best} has the highest {score.name} on {evaluation.num_queries:,} {queries}: {bind(f'{score.value:.1f}')}, "
        f"{abs(test.difference.value):.1f} more than {rival}; {test.verdict}."
    )


def _rank_systems(evaluation: SearchEvaluation) -> list[str]:
    return sorted(evaluation.scores, key=lambda name: -evaluation.scores[name][DECISIVE].value)


def _describe_tests(evaluation: SearchEvaluation, names: list[str]) -> Iterator[str]:
    for name in names:
        yield from map(_describe_test, evaluation.tests[name])
    yield f"p-values are corrected for {len(evaluation.tests[DECISIVE])} comparisons by each measure (Holm)."


def _describe_test(test: RankingTest) -> str:
    measure = test.difference.name.removesuffix(" difference")
    p_values = format_p_values(test.p_bootstrap, test.p_randomized) if test.num_differing else ""
    interval = "" if test.difference.low is None else f" [{test.difference.low:+.1f}, {test.difference.high:+.1f}]"
    difference = f"{measure} {bind(f'{test.difference.value:+.2f}{interval}')} against {test.second}"
    return f"{test.first}: {difference}: {test.verdict}{p_values}"
