"""report.html of a task with labels: the verdict, scores beside opponents, what the task adds, training, settings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.baselines import OpponentResult
from regard.jobs.tasks.registry import task_of
from regard.jobs.tasks.reporting.curves import draw_curves, training_facts
from regard.jobs.tasks.reporting.headline import ScoredSet, find_rival, write_headline
from regard.jobs.tasks.reporting.run_sections import RunRecord, join_sections
from regard.jobs.tasks.reporting.score_files import LabelEvaluation
from regard.jobs.tasks.reporting.verdict import describe_opponents
from regard.metrics import Score
from regard.metrics.score import format_difference, format_p
from regard.progress import stage, track
from regard.report import (
    Chart,
    DefinitionList,
    Figure,
    PagePart,
    Paragraph,
    Section,
    Table,
    TableView,
    Value,
    render_page,
    write_page,
)
from regard.run import Run


@dataclass(frozen=True)
class TaskReport:
    """What a task adds to its report."""

    scored_set: ScoredSet
    measures: Sequence[str]
    """The scores of opponents that are shown."""
    sections: Sequence[Section]
    figures: Sequence[Chart] = ()
    """The charts of these sections, which are also written as files."""
    extent: str = ""
    """How long the examples are together, where their number does not tell: 12,345 bytes."""


def write_task_report(run: Run, evaluation: LabelEvaluation, report: TaskReport, epochs: float) -> None:
    """Draw every chart into charts/, and all of them into one offline page."""
    task = task_of(run.load_config())
    record = RunRecord(run, task, epochs)
    curves = [*draw_curves(record.records, task.unit), *record.learning_rate()]
    for chart in track([*curves, *report.figures], "drawing charts"):
        chart.save(run.charts)
    scored_set, words = report.scored_set, task.report_words
    measure = task.main_score if task.main_score in evaluation.scores else next(iter(evaluation.scores))
    rival = find_rival(evaluation.scores, evaluation.opponents, measure)
    headline = write_headline(words, evaluation.scores[measure], scored_set, rival, record.judge(evaluation))
    scores = [*show_scores(evaluation, task.main_score, report.measures), *record.other_sets(scored_set.name)]
    training: list[PagePart] = [DefinitionList(training_facts(run, record.records, epochs)), *map(Figure, curves)]
    sections = join_sections(record, Section("Scores", scores), report.sections, training)
    amount = f"{scored_set.count:,} {scored_set.examples or words.examples}"
    subtitle = (
        f"{report.extent} of {scored_set.name} in {amount}" if report.extent else f"{amount} of {scored_set.name}"
    )
    with stage("writing the report"):
        title = f"{task.name}: {run.folder.name}"
        write_page(run.report, render_page(title, subtitle, sections, headline=headline))


def show_scores(evaluation: LabelEvaluation, main_score: str, measures: Sequence[str]) -> list[PagePart]:
    """The verdict, the scores of the model, and those of its opponents."""
    verdict = describe_opponents(evaluation.scores, evaluation.opponents, main_score)
    parts: list[PagePart] = [
        Paragraph(verdict[:1].upper() + verdict[1:]),
        TableView(tabulate_task_scores(evaluation.scores.values())),
    ]
    if any(one.scores for one in evaluation.opponents):
        parts.append(TableView(tabulate_opponents(evaluation.opponents, measures)))
    return [*parts, *(Paragraph(f"{one.name}: {one.reason}") for one in evaluation.opponents if one.reason)]


def tabulate_task_scores(scores: Iterable[Score]) -> Table:
    """The scores, each with as many decimal places as it has everywhere."""
    return Table.from_rows(
        {
            "metric": f"{score.name} (lower is better)" if score.lower_is_better else score.name,
            **_format_score(score),
            "signature": score.signature,
        }
        for score in scores
    )


def tabulate_opponents(opponents: Sequence[OpponentResult], measures: Sequence[str]) -> Table:
    """The scores of every opponent, and the p-values of its difference from the model."""
    return Table.from_rows(
        {
            "opponent": one.name,
            "metric": one.scores[measure].name,
            **_format_score(one.scores[measure]),
            "model minus opponent": format_difference(one.tests[measure].difference, one.scores[measure].digits)
            if measure in one.tests
            else "not tested",
            "p (bootstrap)": format_p(one.tests[measure].p_bootstrap) if measure in one.tests else None,
            "p (randomization)": format_p(one.tests[measure].p_randomized) if measure in one.tests else None,
        }
        for one in opponents
        for measure in measures
        if measure in one.scores
    )


def _format_score(score: Score) -> dict[str, Value]:
    return {"score": f"{score.value:,.{score.digits}f}", "95% interval": score.format_interval(score.digits)}
