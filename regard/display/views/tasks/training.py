"""The end of a training of any task but translation: a verdict, the scores beside opponents, what to do next."""

from typing import Any

from regard.display.layout import Column, format_table, wrap, wrap_all, wrap_command
from regard.display.numbers import pluralize
from regard.display.stages import format_duration
from regard.jobs.tasks.registry import task_of
from regard.jobs.tasks.verdict import describe_opponents
from regard.jobs.train.events import TrainingFinished
from regard.metrics import Score

COLUMNS = (Column("system", wraps=True), Column("metric"), Column("score", right=True), Column("95% interval"))


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
    return [system, score.name, f"{score.value:.2f}", score.format_interval()]
