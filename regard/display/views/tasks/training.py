"""The scores of any task but translation, after training and on files: a verdict, a table, what to do next."""

from typing import Any

from regard.display.layout import Column, format_table, wrap, wrap_all, wrap_command
from regard.display.numbers import pluralize
from regard.display.stages import format_duration
from regard.display.views.scores import format_evaluation
from regard.jobs.evaluate import FileEvaluation
from regard.jobs.tasks.file_evaluation import TaskFileEvaluation
from regard.jobs.tasks.registry import task_of
from regard.jobs.tasks.reporting.verdict import describe_opponents
from regard.jobs.train.events import TrainingFinished
from regard.metrics import Score
from regard.report.text import MISSING, shorten

COLUMNS = (Column("system", wraps=True), Column("metric"), Column("score", right=True), Column("95% interval"))

SHOWN_MISTAKES, MAX_CELL, MIN_WRAPPED = 5, 200, 24


def format_task_training(event: TrainingFinished, ends: dict[str, str], width: int, verbose: bool) -> list[str]:
    """The verdict, the table of scores, the report, and commands to go on with."""
    evaluation, task = event.evaluation, task_of(event.run.load_config())
    trained = ends[event.end].format(steps=pluralize(event.step, "step"), time=format_duration(event.seconds))
    verdict = describe_opponents(evaluation.scores, evaluation.opponents, task.main_score)
    lines = [*wrap(f"{trained}, scored on {event.set_name}: {verdict}", width), ""]
    lines += format_task_scores(evaluation, width, verbose)
    lines += [*wrap(f"report: {event.run.report}", width), "", "Use it:"]
    for command in task.next_commands(str(event.run.folder)):
        lines += wrap_command(command, width)
    return lines


def format_file_evaluation(result: FileEvaluation | TaskFileEvaluation, width: int, verbose: bool = False) -> list[str]:
    """The scores of a run on files."""
    if isinstance(result, FileEvaluation):
        return format_evaluation(result, width, verbose)
    task, evaluation = result.task, result.evaluation
    contamination = result.describe_contamination()
    answer = f"On {pluralize(result.num_examples, task.file_example)}: {result.describe_verdict()}"
    lines = wrap(f"{answer} {contamination}." if contamination else answer, width)
    lines += ["", *format_task_scores(evaluation, width, verbose)]
    if evaluation.loss is not None:
        lines += wrap(f"loss {evaluation.loss:.3f} nats per {task.unit}", width)
    lines += wrap(f"one row per {task.example}: {result.example_scores}", width)
    return [*lines, *_format_mistakes(result, width)]


def _format_mistakes(result: TaskFileEvaluation, width: int) -> list[str]:
    """The worst mistakes as a table."""
    rows = list(result.mistakes.rows())[:SHOWN_MISTAKES]
    if not rows:
        return []
    cells = [[_format_cell(value) for value in row.values()] for row in rows]
    lengths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    columns = [Column(name, wraps=length > MIN_WRAPPED) for name, length in zip(rows[0], lengths, strict=True)]
    return ["", "Worst mistakes:", *format_table(columns, cells, width)]


def _format_cell(value: object) -> str:
    text = MISSING if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
    return shorten(text, MAX_CELL)


def format_task_scores(evaluation: Any, width: int, verbose: bool) -> list[str]:
    """The scores of the model, and of its opponents."""
    rows = [_make_row("this model", score) for score in evaluation.scores.values()]
    reasons = []
    for opponent in evaluation.opponents:
        rows += [_make_row(opponent.name, score) for score in list(opponent.scores.values())[:2]]
        reasons += [f"{opponent.name}: not computed: {opponent.reason}"] if opponent.reason else []
    signatures = [f"{score.name} signature: {score.signature}" for score in evaluation.scores.values()]
    shown = signatures if verbose else signatures[:1]
    return [*format_table(COLUMNS, rows, width), "", *wrap_all([*reasons, *shown], width, "", "  ")]


def _make_row(system: str, score: Score) -> list[str]:
    return [system, score.name, f"{score.value:.{score.digits}f}", score.format_interval(score.digits)]
