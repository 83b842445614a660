"""Charts of learning curves, several runs on common axes."""

from collections.abc import Mapping, Sequence

from regard.report import Chart, Table, Value, overlay_curves, small_multiples
from regard.tuning.analysis.curves import CurvePoint, LogCurves

LOSS_TITLE = "nats per target token"
CURVES = {
    "loss": ("Loss", LOSS_TITLE),
    "accuracy": ("Accuracy", "% of target tokens"),
    "bleu": ("BLEU on dev, greedy decoding", "BLEU"),
}


def draw_curve_charts(curves: Mapping[str, LogCurves], unit: str, highlighted: Sequence[str]) -> list[Chart]:
    """Loss, accuracy and BLEU of all runs; `highlighted` names those with a color and a label."""
    charts = []
    for column, (title, y_title) in CURVES.items():
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


def draw_loss_panels(curves: Mapping[str, LogCurves], unit: str, title: str) -> Chart:
    """Training loss and dev loss of each run, side by side."""
    rows: list[dict[str, Value]] = [
        {"x": point.x, "loss": point.loss, "set": set_name, "run": name}
        for name, one in curves.items()
        for set_name, points in (("training", one.steps), ("dev", one.validations))
        for point in points
    ]
    return small_multiples(
        Table.from_rows(rows), "x", "loss", "set", "run", title=title, x_title=unit, y_title=LOSS_TITLE
    )


def _build_table(points_by_run: Mapping[str, Sequence[CurvePoint]], column: str) -> Table:
    rows: list[dict[str, Value]] = [
        {"x": point.x, column: getattr(point, column), "run": name}
        for name, points in points_by_run.items()
        for point in points
        if getattr(point, column) is not None
    ]
    return Table.from_rows(rows)
