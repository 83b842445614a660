"""Cost of models, plotted against their quality."""

from collections.abc import Sequence

from regard.jobs.tasks.task_metric import PredictionWords
from regard.report import Chart, Table, Value, pareto_chart
from regard.tuning.measure import RunSummary

CLEAR_COST_RATIO = 0.9  # a cost above this share of another one is not clearly lower


def title_costs(words: PredictionWords) -> dict[str, tuple[str, str]]:
    """The title of the chart of each cost, and of its axis."""
    time = f"milliseconds per {words.input}"
    return {
        "parameters": ("Size against quality", "parameters"),
        "minutes": ("Training time against quality", "minutes"),
        "decoding": (
            f"{words.noun.capitalize()} time against quality",
            f"{time}, {words.note}" if words.note else time,
        ),
    }


def differ_clearly(costs: Sequence[float]) -> bool:
    """Whether there is a cheaper one to choose; a chart of costs that are nearly equal would exaggerate."""
    return len(costs) > 1 and min(costs) < CLEAR_COST_RATIO * max(costs)


def collect_costs(summary: RunSummary) -> dict[str, Value]:
    """Every cost of a run; None if it is not known."""
    decoding = None if summary.decoding_seconds is None else 1000 * summary.decoding_seconds
    return {"parameters": summary.parameters, "minutes": summary.minutes, "decoding": decoding}


def draw_cost_charts(
    rows: Sequence[dict[str, Value]], score: str, y_title: str, higher_is_better: bool, words: PredictionWords
) -> list[Chart]:
    """One chart for each cost that differs clearly between rows; every row has a name, a score and its costs."""
    charts = []
    for cost, (title, x_title) in title_costs(words).items():
        rows_with_cost = [
            {name: row[name] for name in ("name", score, cost)} for row in rows if row.get(cost) is not None
        ]
        if differ_clearly([float(row[cost] or 0) for row in rows_with_cost]):
            chart = pareto_chart(
                Table.from_rows(rows_with_cost),
                cost,
                score,
                "name",
                title=title,
                x_title=x_title,
                y_title=y_title,
                higher_is_better=higher_is_better,
            )
            charts.append(chart.with_name(f"{cost}-quality"))
    return charts
