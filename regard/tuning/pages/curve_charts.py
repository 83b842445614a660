"""Charts of learning curves, several runs on common axes."""

from collections.abc import Mapping, Sequence

from regard.jobs.tasks.task import Task
from regard.report import Chart, Figure, PagePart, Switch, Table, Value, overlay_curves, small_multiples
from regard.tuning.analysis.curves import TARGETS, CurvePoint, LogCurves

SWITCHED_UNITS = ("steps", "minutes", TARGETS)
"""What curves can be shown over, besides the unit of the budget."""


def list_units(first: str) -> list[str]:
    """The units of a switch, with the one that is shown at first."""
    return list(dict.fromkeys((first, *SWITCHED_UNITS)))


def draw_switched_curves(
    curves: Mapping[str, Mapping[str, LogCurves]], highlighted: Sequence[str], task: Task
) -> dict[str, list[Chart]]:
    """The charts of every unit; those of the first one have plain names."""
    charts: dict[str, list[Chart]] = {}
    for unit, by_run in curves.items():
        title = f"{task.unit}s" if unit == TARGETS else unit
        drawn = draw_curve_charts(by_run, title, highlighted, task)
        charts[unit] = drawn if not charts else [chart.with_name(f"{chart.name}-{unit}") for chart in drawn]
    return charts


def switch_curves(charts: Mapping[str, Sequence[Chart]], task: Task) -> list[PagePart]:
    """The charts of one unit, and a switch to the others."""
    names = {"minutes": "time", TARGETS: f"{task.unit}s"}
    variants = {names.get(unit, unit): list(map(Figure, drawn)) for unit, drawn in charts.items() if drawn}
    return [Switch("curves", "Curves by", variants)] if variants else []


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
