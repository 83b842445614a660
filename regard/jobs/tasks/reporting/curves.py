"""The curves of training, and what a report says of it, for any task."""

import math
from collections.abc import Sequence
from typing import Any

from regard import config as settings
from regard.config import Config
from regard.model.weights import read_shapes
from regard.report import Chart, Table, Value, line_chart
from regard.run import Run
from regard.training.loop import Step
from regard.training.validate import Validation


def draw_curves(records: Sequence[Step | Validation], unit: str) -> list[Chart]:
    """Loss and accuracy of training and dev on common axes, and the score of dev."""
    rows: list[dict[str, Value]] = [
        {
            "step": record.number if isinstance(record, Step) else record.step,
            "set": "train" if isinstance(record, Step) else "dev",
            "loss": record.loss,
            "accuracy": 100 * record.accuracy,
        }
        for record in records
    ]
    table = Table.from_rows(rows)
    charts = [
        line_chart(table, "step", "loss", "set", title="Loss", x_title="step", y_title=f"nats per {unit}"),
        line_chart(table, "step", "accuracy", "set", title="Accuracy", x_title="step", y_title=f"% of {unit}s"),
    ]
    named = [chart.with_name(name) for chart, name in zip(charts, ("loss", "accuracy"), strict=True)]
    scores = [record for record in records if isinstance(record, Validation) and record.score is not None]
    if not scores:
        return named
    name = next(record.score.name for record in scores if record.score)
    points = Table.from_rows({"step": one.step, name: one.score.value if one.score else None} for one in scores)
    chart = line_chart(points, "step", name, title=f"{name} on dev", x_title="step", y_title=name)
    return [*named, chart.with_name("score")]


def training_facts(run: Run, records: Sequence[Step | Validation], epochs: float) -> dict[str, Value]:
    """Size, length and speed of a training."""
    steps = [record for record in records if isinstance(record, Step)]
    seconds = sum(step.seconds for step in steps)
    parameters = sum(math.prod(shape) for shape in read_shapes(run.best_weights()).values())
    return {
        "parameters": parameters,
        "steps": len(steps),
        "epochs": round(epochs, 2),
        "minutes of training": round(seconds / 60, 1),
    }


def flatten_settings(config: Config) -> dict[str, Value]:
    """Every setting by its dotted name, as plain values."""
    return {name: _plain_value(value) for name, value in settings.flatten(config.model_dump(mode="json")).items()}


def _plain_value(value: Any) -> Value:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else value
