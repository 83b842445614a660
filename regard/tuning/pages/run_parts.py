"""What a page of compared systems shows of those that are runs: settings that differ, curves and cost."""

from collections.abc import Mapping, Sequence

from regard.config import Config
from regard.jobs.tasks.registry import task_of
from regard.jobs.tasks.task import Task
from regard.metrics import Score
from regard.report import Chart, PagePart, Paragraph, Table, TableView, Value
from regard.tuning.analysis.cost import collect_costs, draw_cost_charts
from regard.tuning.analysis.curves import read_log_curves
from regard.tuning.measure import RunFacts, RunSummary, find_differing_settings
from regard.tuning.pages.curve_charts import draw_switched_curves, list_units
from regard.tuning.study import format_value


def find_task(systems: Sequence[RunFacts]) -> Task:
    """What the runs were trained for."""
    runs = (system.run for system in systems if system.run is not None and system.run.config.exists())
    return task_of(next((run.load_config() for run in runs), Config()))


def draw_run_curves(systems: Sequence[RunFacts]) -> dict[str, list[Chart]]:
    """The learning curves of the runs that have a log, over minutes and over other units."""
    curves = {
        unit: {
            system.name: log_curves
            for system in systems
            if system.run is not None
            and system.summary is not None
            and (log_curves := read_log_curves(system.run, unit))
        }
        for unit in list_units("minutes")
    }
    names = list(curves["minutes"])
    return draw_switched_curves(curves, names, find_task(systems)) if names else {}


def draw_run_costs(systems: Sequence[RunFacts], scores: Mapping[str, Score]) -> list[Chart]:
    """Cost against quality of the systems that work, by a score of each."""
    rows: list[dict[str, Value]] = []
    for system in systems:
        if not system.collapse_reason:
            costs = collect_costs(system.summary) if system.summary else {"parameters": system.parameters}
            rows.append({"name": system.name, "score": scores[system.name].value, **costs})
    score, words = next(iter(scores.values())), find_task(systems).prediction_words
    return draw_cost_charts(rows, "score", score.name, not score.lower_is_better, words)


def describe_settings(systems: Sequence[RunFacts]) -> str:
    """The settings that differ between the runs, in words; empty where fewer than two systems are runs."""
    known = [system.name for system in systems if system.settings is not None]
    if len(known) < 2:
        return ""
    differing = find_differing_settings(systems)
    texts = [f"{name} {' / '.join(map(_format_setting, values.values()))}" for name, values in differing.items()]
    return f"settings that differ ({' / '.join(known)}): {'; '.join(texts)}" if texts else "no setting differs"


def build_settings(systems: Sequence[RunFacts]) -> PagePart:
    """The settings that differ, as a table."""
    differing = find_differing_settings(systems)
    if not differing:
        return Paragraph(describe_settings(systems).capitalize() or "The settings of two systems are not known.")
    rows = (
        {"setting": name} | {system: _format_setting(value) for system, value in values.items()}
        for name, values in differing.items()
    )
    return TableView(Table.from_rows(rows), "As each run was trained. What is equal is left out.")


def build_cost_table(systems: Sequence[RunFacts]) -> PagePart:
    """What each run has cost."""
    task = find_task(systems)
    rows: list[dict[str, Value]] = [
        {"system": s.name, "parameters": s.parameters, **_training_cost(s.summary, task)}
        for s in systems
        if s.parameters is not None
    ]
    words = task.prediction_words
    note = f"Minutes and {task.unit}s per second of training"
    if words.verb:
        how = f" of {words.note}" if words.note else ""
        note += f"; milliseconds per {words.input}{how} in validations"
    return (
        TableView(Table.from_rows(rows), f"{note}.") if rows else Paragraph("The cost of these systems is not known.")
    )


def _training_cost(summary: RunSummary | None, task: Task) -> dict[str, Value]:
    words = task.prediction_words
    names = ["minutes", f"{task.unit}s per second", *([f"ms per {words.input}"] if words.verb else [])]
    if summary is None:
        return dict.fromkeys(names)
    decoding = None if summary.decoding_seconds is None else round(1000 * summary.decoding_seconds, 1)
    values: list[Value] = [round(summary.minutes, 1), round(summary.tokens_per_second), decoding]
    return dict(zip(names, values, strict=False))


def _format_setting(value: object) -> str:
    if value is None or value == "" or value == []:
        return "unset"
    return ", ".join(map(str, value)) if isinstance(value, list) else format_value(value)
