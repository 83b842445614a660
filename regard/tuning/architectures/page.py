"""The page of a comparison of architectures: verdict, table, charts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from regard.metrics.score import limits_of
from regard.progress import stage, track
from regard.report import (
    Chart,
    Figure,
    Headline,
    Paragraph,
    Section,
    Table,
    TableView,
    Value,
    ValueAxis,
    bar_chart,
    render_page,
    write_page,
)
from regard.run import Run
from regard.tuning.analysis.wording import capitalize
from regard.tuning.architectures.comparison import ArchitectureComparison
from regard.tuning.architectures.verdict import describe_method
from regard.tuning.folder import StudyFolder
from regard.tuning.measure import TrainedSystem
from regard.tuning.pages.curve_charts import switch_curves
from regard.tuning.pages.run_parts import draw_run_curves, find_task

PAGE = "architectures.html"


def write_architectures_page(comparison: ArchitectureComparison) -> Path:
    """Write the page and its charts into the folder of the study; returns the path of the page."""
    folder = StudyFolder(comparison.folder)
    scores, curves = draw_scores(comparison), draw_training(comparison)
    for chart in track([scores, *(chart for drawn in curves.values() for chart in drawn)], "drawing charts"):
        chart.save(folder.charts)
    path = folder.path / PAGE
    with stage("writing the page"):
        write_page(path, _render(comparison, scores, curves))
    return path


def draw_training(comparison: ArchitectureComparison) -> dict[str, list[Chart]]:
    """The learning curves of the first seeds, by every unit."""
    return draw_run_curves(_find_systems(comparison))


def _find_systems(comparison: ArchitectureComparison) -> list[TrainedSystem]:
    return [TrainedSystem(one.name, Run(one.folders[0]), one.summaries[0]) for one in comparison.results if one.folders]


def draw_scores(comparison: ArchitectureComparison) -> Chart:
    """The mean score of each architecture with its interval."""
    rows: list[dict[str, Value]] = [
        {"architecture": one.name, "score": one.score, "low": one.low, "high": one.high} for one in comparison.results
    ]
    title = f"{capitalize(comparison.metric)} of architectures with equally many weights, with 95% intervals"
    chart = bar_chart(
        Table.from_rows(rows),
        "architecture",
        "score",
        interval=("low", "high"),
        title=title,
        x_title="",
        y_title=ValueAxis(f"test {comparison.metric}", limits_of(comparison.metric)),
    )
    return chart.with_name("architectures")


def tabulate_tests(comparison: ArchitectureComparison) -> Table:
    """Every two architectures: the difference, its interval, and p-values."""
    digits = comparison.digits
    return Table.from_rows(
        {
            "architecture": test.first,
            "against": test.second,
            "difference": f"{test.difference:+.{digits}f}",
            "95% interval": f"{test.low:+.{digits}f} to {test.high:+.{digits}f}",
            "p": f"{test.p:.4f}",
            "corrected p": f"{test.adjusted_p:.4f}{' *' if test.significant else ''}",
        }
        for test in comparison.tests
    )


def tabulate_costs(comparison: ArchitectureComparison) -> Table:
    """What each architecture made of its time, on average over seeds."""
    return Table.from_rows(
        {
            "architecture": one.name,
            "parameters": one.parameters,
            "steps": round(mean(summary.steps for summary in one.summaries)),
            "epochs": round(mean(summary.epochs for summary in one.summaries), 1),
            "targets per second": round(mean(summary.tokens_per_second for summary in one.summaries)),
            "dev loss": _mean_loss([summary.loss for summary in one.summaries]),
        }
        for one in comparison.results
    )


def _mean_loss(losses: list[float | None]) -> float | None:
    known = [loss for loss in losses if loss is not None]
    return round(mean(known), 3) if known else None


def _render(comparison: ArchitectureComparison, scores: Chart, curves: Mapping[str, Sequence[Chart]]) -> str:
    answer, *others = comparison.findings
    switch = switch_curves(curves, find_task(_find_systems(comparison)))
    sections = [
        *([Section("Verdict", [Paragraph(text) for text in others])] if others else []),
        Section("Scores", [TableView(comparison.as_table()), Figure(scores)]),
        Section("Differences", [TableView(tabulate_tests(comparison)), Paragraph(describe_method(comparison))]),
        Section("Training", [TableView(tabulate_costs(comparison)), *switch]),
    ]
    names = ", ".join(one.name for one in comparison.results)
    title, subtitle = f"Architectures for {comparison.task}", f"{comparison.folder.name}: {names}"
    return render_page(title, subtitle, sections, headline=Headline(answer))
