"""The curves of training, and what a report says of it, for any task."""

import math
from collections.abc import Sequence
from typing import Any

from regard import config as settings
from regard.config import TASK_METRICS, Config
from regard.model.weights import read_shapes
from regard.report import Chart, Table, Value, line_chart
from regard.run import Run
from regard.training import log
from regard.training.loop import Step
from regard.training.validate import Validation


def tabulate_curves(records: Sequence[Step | Validation]) -> Table:
    """Loss and accuracy of training and of dev, and the score of dev unless it is the accuracy.

    Steps that are too small, or too many, for points of their own are pooled.
    """
    steps = log.pool_steps(records)
    rows: list[dict[str, Value]] = [
        {"step": step.number, "set": "train", "loss": step.loss, "accuracy": 100 * step.accuracy, "score": None}
        for step in steps
    ]
    rows += [
        {
            "step": one.step,
            "set": "dev",
            "loss": one.loss,
            "accuracy": 100 * one.accuracy,
            "score": one.score.value if one.score and one.score.name != "accuracy" else None,
        }
        for one in records
        if isinstance(one, Validation)
    ]
    return Table.from_rows(rows)


def draw_curves(records: Sequence[Step | Validation], unit: str) -> list[Chart]:
    """Loss and accuracy of training and dev on common axes, and the score of dev unless it is the accuracy."""
    table = tabulate_curves(records)
    charts = [
        line_chart(table, "step", "loss", "set", title="Loss", x_title="step", y_title=f"nats per {unit}"),
        line_chart(table, "step", "accuracy", "set", title="Accuracy", x_title="step", y_title=f"% of {unit}s"),
    ]
    num_steps, num_points = (sum(one == "train" for one in names) for names in (_set_names(records), table["set"]))
    note = (
        f"train: means over {num_steps / num_points:.0f} steps, by {unit}s" if num_steps >= 2 * num_points > 0 else ""
    )
    named = [chart.with_note(note).with_name(name) for chart, name in zip(charts, ("loss", "accuracy"), strict=True)]
    scores = [row for row in table.rows() if row["score"] is not None]
    if not scores:
        return named
    name = next(one.score.name for one in records if isinstance(one, Validation) and one.score)
    chart = line_chart(Table.from_rows(scores), "step", "score", title=f"{name} on dev", x_title="step", y_title=name)
    return [*named, chart.with_name("score")]


def draw_learning_rate(steps: Sequence[Step]) -> Chart:
    """The learning rate by step, of each optimizer."""
    rows: list[dict[str, Value]] = [
        {"step": step.number, "learning rate": rate, "optimizer": name}
        for step in log.pool_steps(steps)
        for name, rate in (("AdamW", step.learning_rate), ("Muon", step.muon_learning_rate))
        if rate is not None
    ]
    table = Table.from_rows(rows)
    series = "optimizer" if "Muon" in table["optimizer"] else None
    title = "Learning rate"
    return line_chart(
        table, "step", "learning rate", series, title=title, x_title="step", y_title="learning rate"
    ).with_name("learning-rate")


def _set_names(records: Sequence[Step | Validation]) -> list[str]:
    return ["train" if isinstance(record, Step) else "dev" for record in records]


def training_facts(run: Run, records: Sequence[Step | Validation], epochs: float) -> dict[str, Value]:
    """Size, length and speed of a training."""
    steps = [record for record in records if isinstance(record, Step)]
    seconds = sum(step.seconds for step in steps)
    parameters = sum(math.prod(shape) for shape in read_shapes(run.best_weights()).values())
    return {
        "parameters": parameters,
        "steps": len(steps),
        "epochs": round(epochs, 2),
        **time_of_training(seconds),
    }


def time_of_training(seconds: float) -> dict[str, Value]:
    """Minutes or, of less than one, seconds."""
    if seconds < 60:
        return {"seconds of training": round(seconds, 1)}
    return {"minutes of training": round(seconds / 60, 1)}


def flatten_settings(config: Config) -> dict[str, Value]:
    """Every setting by its dotted name, as plain values; of the sections of tasks only that of the run's own."""
    others = {f"{task.replace('-', '_')}." for task in TASK_METRICS if task != config.task}
    values = settings.flatten(config.model_dump(mode="json"))
    return {name: _plain_value(value) for name, value in values.items() if not name.startswith(tuple(others))}


def _plain_value(value: Any) -> Value:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if value == "":
        return None
    return str(value).lower() if isinstance(value, bool) else value
