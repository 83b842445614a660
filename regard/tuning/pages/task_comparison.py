"""A comparison of runs and of files of predictions, of any task but translation, as a page and as files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from regard.exchange import write_folder
from regard.formats import tsv
from regard.jobs.tasks.comparison import ComparedSystem, TaskComparison
from regard.metrics import Score
from regard.metrics.labels import Confusion
from regard.metrics.score import format_difference, limits_of
from regard.progress import stage, track
from regard.report import (
    Chart,
    Figure,
    Headline,
    PagePart,
    Paragraph,
    Section,
    Table,
    TableView,
    Value,
    ValueAxis,
    bar_chart,
    heatmap_chart,
    render_page,
    to_csv,
    write_page,
)
from regard.report.text import shorten
from regard.run import write_text
from regard.training import log
from regard.tuning.measure import TrainedSystem, summarize_log
from regard.tuning.pages.curve_charts import switch_curves
from regard.tuning.pages.links import link_report
from regard.tuning.pages.run_parts import (
    build_cost_table,
    build_settings,
    draw_run_costs,
    draw_run_curves,
    find_task,
)

CHARTS = "charts"
MAX_CONFUSION_CLASSES = 30
MAX_SHOWN_ERRORS = 20
MAX_TEXT_CHARACTERS = 300
"""Of a text in a table of the page; predictions.tsv has all of it."""


def write_task_comparison(comparison: TaskComparison, folder: Path) -> None:
    """Write report.html, charts/, confusion matrices and predictions.tsv into a folder."""
    trained = find_runs(comparison)
    scores = {system.name: system.scores[comparison.decisive] for system in comparison.systems}
    figures = [draw_scores(scores), *draw_confusions(comparison)]
    curves = draw_run_curves(trained) if trained else {}
    costs = draw_run_costs(trained, scores) if trained else []
    run_figures = [*(chart for drawn in curves.values() for chart in drawn), *costs]
    with write_folder(folder, owned={CHARTS}) as staged:
        for chart in track([*figures, *run_figures], "drawing charts"):
            chart.save(staged / CHARTS)
        for number, system in enumerate(comparison.systems):
            if system.confusion is not None:
                write_text(staged / f"confusion-{number}.csv", to_csv(tabulate_confusion(system.confusion)))
        write_text(staged / "predictions.tsv", format_predictions(comparison))
        sections = [
            *([Section("Notes", [Paragraph(text) for text in comparison.notes])] if comparison.notes else []),
            Section("Scores", [*_show_scores(comparison, folder), Figure(figures[0])]),
            Section("Significance", [_tabulate_tests(comparison)] if comparison.tests else [Paragraph(_ONE_SYSTEM)]),
            *_show_runs(trained, curves, costs),
            *_show_parts(comparison, figures[1:]),
            *_show_texts(comparison),
        ]
        names = " · ".join(system.name for system in comparison.systems)
        subtitle = f"{len(comparison.texts):,} {comparison.units} of {comparison.name}"
        with stage("writing the page"):
            headline = Headline(describe_best(comparison))
            page = render_page(f"Comparison: {names}", subtitle, sections, headline=headline)
            write_page(staged / "report.html", page)


_ONE_SYSTEM = "There is only one system."


def find_runs(comparison: TaskComparison) -> list[TrainedSystem]:
    """The systems that are runs, with what their training has cost."""
    return [
        TrainedSystem(system.name, system.run, summarize_log(system.run) if log.read_steps(system.run.log) else None)
        for system in comparison.systems
        if system.run is not None
    ]


def describe_comparison(comparison: TaskComparison) -> list[str]:
    """Which system is best, and what a reader must know."""
    return [describe_best(comparison), *comparison.notes]


def describe_best(comparison: TaskComparison) -> str:
    """The best system, and whether it differs significantly from the baseline or, if it is that, from the next one."""
    best, baseline = comparison.best, comparison.baseline
    score = best.scores[comparison.decisive]
    count = f"{len(comparison.texts):,} {comparison.units}"
    if len(comparison.systems) == 1:
        return f"{best.name}: {score.name} {score.format_margin(score.digits)} on {count}."
    rival = baseline if best is not baseline else _find_second(comparison)
    test = comparison.tests[comparison.decisive][(rival if best is baseline else best).name]
    superlative, comparative = ("lowest", "less") if score.lower_is_better else ("highest", "more")
    return (
        f"{best.name} has the {superlative} {score.name} on {count}: {score.value:.{score.digits}f}, "
        f"{abs(test.difference):.{score.digits}f} {comparative} than {rival.name}; {test.verdict}."
    )


def describe_tests(comparison: TaskComparison) -> Iterator[str]:
    """A sentence for each system and measure: the difference from the baseline, and whether it is significant."""
    baseline = comparison.baseline
    for system in comparison.systems[1:]:
        for measure, tests in comparison.tests.items():
            test, score = tests[system.name], baseline.scores[measure]
            p_values = (
                f" (paired bootstrap p = {test.p_bootstrap:.4f}, approximate randomization p = {test.p_randomized:.4f})"
                if test.has_enough_examples
                else ""
            )
            difference = f"{score.name} {format_difference(test.difference, score.digits + 1)} against {baseline.name}"
            yield f"{system.name}: {difference}: {test.verdict}{p_values}"
    if len(comparison.systems) > 2:
        yield f"p-values are corrected for {len(comparison.systems) - 1} comparisons by each measure (Holm)."


def draw_scores(scores: dict[str, Score]) -> Chart:
    """The score that decides, with its interval."""
    rows = [
        {"system": name, "score": round(score.value, score.digits), "low": score.low, "high": score.high}
        for name, score in scores.items()
    ]
    first = next(iter(scores.values()))
    has_intervals = all(score.low is not None for score in scores.values())
    chart = bar_chart(
        Table.from_rows(rows),
        "system",
        "score",
        interval=("low", "high") if has_intervals else None,
        title=f"{first.name[:1].upper()}{first.name[1:]}{' with 95% confidence intervals' if has_intervals else ''}",
        x_title="",
        y_title=ValueAxis(first.name, limits_of(first.name)),
    )
    return chart.with_name("scores")


def draw_confusions(comparison: TaskComparison) -> list[Chart]:
    """The confusion matrix of each system that has one."""
    return [
        draw_confusion(system.name, system.confusion, number)
        for number, system in enumerate(comparison.systems)
        if system.confusion is not None
    ]


def draw_confusion(name: str, confusion: Confusion, number: int) -> Chart:
    """The confusion matrix as shares of each gold class; of many classes, those that are confused most."""
    matrix, shown = confusion.matrix, select_classes(confusion)
    counts = matrix.sum(axis=1, keepdims=True)
    shares = np.where(counts > 0, matrix / np.maximum(1, counts), np.nan)  # of a class without texts none is known
    names = [confusion.classes[n] for n in shown]
    subset = f" ({len(shown)} of {len(matrix)} classes, those with the most errors)" if len(shown) < len(matrix) else ""
    return heatmap_chart(
        shares[np.ix_(shown, shown)].tolist(),
        names,
        names,
        title=f"Confusion of {name}{subset}",
        row_title="gold",
        column_title="predicted",
        value_title="share of the gold class",
    ).with_name(f"confusion-{number}")


def select_classes(confusion: Confusion) -> list[int]:
    """The classes with the most errors, as many as can be drawn."""
    matrix = confusion.matrix
    errors = matrix.sum(axis=0) + matrix.sum(axis=1) - 2 * np.diagonal(matrix)
    most = np.argsort(-errors, kind="stable")[:MAX_CONFUSION_CLASSES]
    return sorted(most.tolist())


def tabulate_confusion(confusion: Confusion) -> Table:
    """How many texts of each gold class, in rows, are predicted as each class."""
    rows: list[dict[str, Value]] = []
    for name, counts in zip(confusion.classes, confusion.matrix, strict=True):
        row: dict[str, Value] = {"gold": name}
        rows.append(row | {other: int(count) for other, count in zip(confusion.classes, counts, strict=True)})
    return Table.from_rows(rows)


def format_predictions(comparison: TaskComparison) -> str:
    """A row for each text: the text, its labels if it has any, and the answers of every system."""
    gold = {"gold": comparison.gold} if comparison.gold else {}
    columns = gold | {system.name: system.answers for system in comparison.systems}
    rows = [
        tsv.format_row([text, *(" ".join(answer) for answer in answers)])
        for text, *answers in zip(comparison.texts, *columns.values(), strict=True)
    ]
    return "\n".join([tsv.format_row(["text", *columns]), *rows]) + "\n"


def _find_second(comparison: TaskComparison) -> ComparedSystem:
    """The best of the systems that are not the baseline."""
    second, *others = comparison.systems[1:]
    for system in others:
        is_better = system.scores[comparison.decisive].is_better_than(second.scores[comparison.decisive])
        second = system if is_better else second
    return second


def _show_scores(comparison: TaskComparison, folder: Path) -> list[PagePart]:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems:
        row: dict[str, Value] = {"system": system.name}
        rows.append(row | {score.name: score.format_margin(score.digits) for score in system.scores.values()})
    scores = comparison.baseline.scores.values()
    lower = ", ".join(score.name for score in scores if score.lower_is_better)
    note = f" Lower is better: {lower}." if lower else ""
    signatures = "\n\n".join(f"{score.name}: {score.signature}" for score in scores)
    caption = f"± is half the width of the 95% confidence interval.{note}"
    links = {"system": [link_report(system.run, folder) for system in comparison.systems]}
    return [TableView(Table.from_rows(rows), caption, interactive=True, links=links), Paragraph(signatures)]


def _tabulate_tests(comparison: TaskComparison) -> TableView:
    rows: list[dict[str, Value]] = [
        {
            "system": name,
            "measure": comparison.baseline.scores[measure].name,
            "difference": format_difference(test.difference, comparison.baseline.scores[measure].digits + 1),
            "paired bootstrap": f"{test.p_bootstrap:.4f}" if test.has_enough_examples else None,
            "approximate randomization": f"{test.p_randomized:.4f}" if test.has_enough_examples else None,
            "verdict": f"{_say(test.difference, comparison.baseline.scores[measure])}{test.verdict}",
        }
        for measure, results in comparison.tests.items()
        for name, test in results.items()
    ]
    note = f"Against {comparison.baseline.name}, over {comparison.units}."
    if len(comparison.systems) > 2:
        note += " p-values are corrected for the number of systems (Holm)."
    return TableView(Table.from_rows(rows), note)


def _say(difference: float, score: Score) -> str:
    """Better or worse, as a difference of this score is to be read."""
    if difference == 0:
        return ""
    return "better: " if (difference > 0) is not score.lower_is_better else "worse: "


def _show_runs(
    trained: Sequence[TrainedSystem], curves: Mapping[str, Sequence[Chart]], costs: Sequence[Chart]
) -> list[Section]:
    """Settings, curves and cost of the systems that are runs; nothing where there are none."""
    if not trained:
        return []
    settings = [Section("Settings that differ", [build_settings(trained)])] if len(trained) > 1 else []
    return [
        *settings,
        *([Section("Curves", switch_curves(curves, find_task(trained)))] if curves else []),
        Section("Cost and quality", [build_cost_table(trained), *(Figure(chart) for chart in costs)]),
    ]


def _show_parts(comparison: TaskComparison, confusions: Sequence[Chart]) -> list[Section]:
    """The scores of each class or type by every system, and what it takes for what."""
    charts = {chart.name: chart for chart in confusions}
    sections = []
    for number, system in enumerate(comparison.systems):
        if system.parts is not None:
            chart = charts.get(f"confusion-{number}")
            figures: list[PagePart] = [Figure(chart)] if chart else []
            sections.append(Section(f"{comparison.part_title}: {system.name}", [*figures, TableView(system.parts)]))
    return sections


def _show_texts(comparison: TaskComparison) -> list[Section]:
    """Texts with answers that tell something."""
    if not comparison.gold:
        return [_show_differences(comparison)]
    return [_show_errors(comparison)] if comparison.has_errors else []


def _show_errors(comparison: TaskComparison) -> Section:
    """Texts that the best system has wrong, and others that another system has wrong, with the answers of all."""
    best, units = comparison.best, comparison.units
    wrong = [n for n, gold in enumerate(comparison.gold) if best.answers[n] != gold]
    others = [
        n
        for n, gold in enumerate(comparison.gold)
        if best.answers[n] == gold and any(system.answers[n] != gold for system in comparison.systems)
    ]
    parts: list[PagePart] = [] if wrong else [Paragraph(f"{best.name} has no errors.")]
    for numbers, title in (
        (wrong, f"{units} that {best.name} has wrong"),
        (others, f"{units} that {best.name} has right, and another system wrong"),
    ):
        if numbers:
            parts.append(_show_answers(comparison, numbers, title))
    return Section("Errors", parts)


def _show_answers(comparison: TaskComparison, numbers: Sequence[int], title: str) -> TableView:
    table = _tabulate_answers(comparison, numbers[:MAX_SHOWN_ERRORS])
    if len(table) == len(numbers):
        return TableView(table, f"All {len(numbers)} {title}.")
    return TableView(table, f"The first {len(table)} of {len(numbers):,} {title}; predictions.tsv has all.")


def _tabulate_answers(comparison: TaskComparison, numbers: Sequence[int]) -> Table:
    rows: list[dict[str, Value]] = []
    for n in numbers:
        row: dict[str, Value] = {"text": shorten(comparison.texts[n], MAX_TEXT_CHARACTERS)}
        row["gold"] = comparison.describe(n, comparison.gold[n])
        rows.append(row | {system.name: comparison.describe(n, system.answers[n]) for system in comparison.systems})
    return Table.from_rows(rows)


def _show_differences(comparison: TaskComparison) -> Section:
    """Texts that the systems predict most differently well."""
    values = np.array([[float(value) for (value,) in system.answers] for system in comparison.systems])
    gaps = np.abs(values - values[0]).max(axis=0)
    rows: list[dict[str, Value]] = []
    for n in np.argsort(-gaps, kind="stable")[:MAX_SHOWN_ERRORS].tolist():
        row: dict[str, Value] = {"text": shorten(comparison.texts[n], MAX_TEXT_CHARACTERS)}
        rows.append(row | {s.name: float(one) for s, one in zip(comparison.systems, values[:, n], strict=True)})
    name, units = comparison.baseline.scores[comparison.decisive].name, comparison.units
    if len(comparison.systems) == 1:
        note = f"{name} of the first {units}."
    else:
        note = f"{name} of the {len(rows)} {units} that differ most from {comparison.baseline.name}."
    return Section("Largest differences", [TableView(Table.from_rows(rows), note)])
