"""Charts of learning curves, several runs on common axes."""

from collections.abc import Mapping, Sequence

from regard.jobs.tasks.task import Task
from regard.report import Chart, Table, Value, overlay_curves, small_multiples
from regard.tuning.analysis.curves import CurvePoint, LogCurves

CURVES = ("loss", "accuracy", "score")


def draw_curve_charts(
    curves: Mapping[str, LogCurves], unit: str, highlighted: Sequence[str], task: Task
) -> list[Chart]:
    """Loss, accuracy and score of all runs of a task; `highlighted` names those with a color and a label."""
    charts = []
    for column, (title, y_title) in _title_curves(curves, task).items():
        tables = {
            "training": _build_table({name: one.steps for name, one in curves.items()}, column),
            "dev": _build_table({name: one.validations for name, one in curves.items()}, column),
        }
        nonempty_tables = {panel: table for panel, table in tables.items() if len(table)}
        if nonempty_tables:
            chart = overlay_curves(
                nonempty_tables, "x", column, "run", title=title, x_title=unit, y_title=y_title, highlighted=highlighted
            )
            charts.append(chart.with_name(column))
    return charts


def draw_loss_panels(curves: Mapping[str, LogCurves], unit: str, title: str, task: Task) -> Chart:
    """Training loss and dev loss of each run, side by side."""
    rows: list[dict[str, Value]] = [
        {"x": point.x, "loss": point.loss, "set": set_name, "run": name}
        for name, one in curves.items()
        for set_name, points in (("training", one.steps), ("dev", one.validations))
        for point in points
    ]
    return small_multiples(
        Table.from_rows(rows), "x", "loss", "set", "run", title=title, x_title=unit, y_title=f"nats per {task.unit}"
    )


def _title_curves(curves: Mapping[str, LogCurves], task: Task) -> dict[str, tuple[str, str]]:
    """The title of each chart, and of its axis; a score that is the accuracy has no chart of its own."""
    titles = {"loss": ("Loss", f"nats per {task.unit}"), "accuracy": ("Accuracy", f"% of {task.unit}s")}
    name = next((one.score_name for one in curves.values() if one.score_name), "")
    if name in ("", "accuracy"):
        return titles
    note = task.prediction_words.note
    return {**titles, "score": (f"{name} on dev{f', {note}' if note else ''}", name)}


def _build_table(points_by_run: Mapping[str, Sequence[CurvePoint]], column: str) -> Table:
    rows: list[dict[str, Value]] = [
        {"x": point.x, column: getattr(point, column), "run": name}
        for name, points in points_by_run.items()
        for point in points
        if getattr(point, column) is not None
    ]
    return Table.from_rows(rows)
