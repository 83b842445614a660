"""The scores of every class, label or type: a table, what stands out, and several systems side by side."""

from collections.abc import Mapping, Sequence

from regard.jobs.tasks.reporting.example_section import ExampleSection
from regard.metrics.labels import PartScores
from regard.report import Table, Value

NUM_WEAKEST = 3
MIN_PARTS = 5
"""Parts from which on a sentence says which are the weakest: fewer are seen at a glance."""
UNKNOWN_NOTE = "–: not known, as nothing is there to compute it from."


def tabulate_parts(parts: Sequence[PartScores], noun: str, units: str) -> Table:
    """Precision, recall, F1 of every part, how many of its units gold has, and how many are predicted."""
    return Table.from_rows(
        {
            noun: one.name,
            "precision": _round(one.precision),
            "recall": _round(one.recall),
            "F1": _round(one.f1),
            units: one.gold,
            "predicted": one.predicted,
        }
        for one in parts
    )


def describe_parts(parts: Sequence[PartScores], plural: str) -> str:
    """How many parts are never predicted, and which of the others have the lowest F1, if there are many."""
    never = [one.name for one in parts if not one.predicted]
    if parts and len(never) == len(parts):
        return "Nothing is predicted, so precision is not known; it counts as 0 in the scores above."
    scored = [one for one in parts if one.predicted and one.gold]
    by_f1 = sorted(scored, key=lambda one: (one.f1 or 0.0, -one.gold))
    weakest = by_f1[:NUM_WEAKEST] if len(parts) >= MIN_PARTS else []
    sentences = []
    if never:
        names = f": {', '.join(never)}" if len(never) <= NUM_WEAKEST else ""
        sentences.append(
            f"{len(never)} of {len(parts)} {plural} {'is' if len(never) == 1 else 'are'} never predicted{names}."
        )
    if len(weakest) == NUM_WEAKEST:
        of_others = " of the others" if never else ""
        listed = ", ".join(f"{one.name} ({one.f1:.1f})" for one in weakest)
        sentences.append(f"The lowest F1{of_others}: {listed}.")
    return " ".join(sentences)


def describe_unknown(parts: Sequence[PartScores]) -> str:
    """What a missing number means; empty where none is missing."""
    return UNKNOWN_NOTE if any(not one.gold or not one.predicted for one in parts) else ""


def show_part_scores(
    systems: Mapping[str, Sequence[PartScores]], noun: str, plural: str, set_name: str
) -> ExampleSection:
    """F1 of every part by each of several systems."""
    names = sorted({one.name for parts in systems.values() for one in parts})
    columns: dict[str, list[Value]] = {noun: list(names)}
    for system, parts in systems.items():
        by_name = {one.name: _round(one.f1) for one in parts}
        columns[system] = [by_name.get(name) for name in names]
    note = f"F1 of each {noun} on {set_name}, best trials first."
    is_unknown = any(value is None for column in columns.values() for value in column)
    return ExampleSection(
        plural.capitalize(), table=Table(columns), note=f"{note} {UNKNOWN_NOTE}" if is_unknown else note
    )


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
