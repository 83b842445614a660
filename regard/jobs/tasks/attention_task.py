"""What the tasks share whose runs are inspected by their attention: all but those whose decisions are explained."""

from typing import Any

from regard.formats import Pair
from regard.run import Run


class AttentionTask:
    """`regard look` shows the attention of its runs."""

    @property
    def inspector(self) -> str:
        return "regard.jobs.look.inspections"

    def inspected_pair(self, pair: Pair) -> Pair:
        return pair

    def restore_evaluation(self, run: Run, set_name: str) -> Any:
        """None: what is stored of a set is not all that a report shows, unless a subclass stores it."""
        return None
