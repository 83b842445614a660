"""What `regard look` prints, by the kind of its result."""

from collections.abc import Callable
from typing import Any

from regard.display.decisions import format_decisions
from regard.display.views.look import format_inspection
from regard.jobs.look.decisions import DecisionInspection
from regard.jobs.look.inspections import Inspection

VIEWS: dict[type, Callable[[Any, int, bool], list[str]]] = {
    Inspection: format_inspection,
    DecisionInspection: format_decisions,
}
"""The view of each kind of result."""


def format_look(result: object, width: int, verbose: bool = False) -> list[str]:
    return VIEWS[type(result)](result, width, verbose)
