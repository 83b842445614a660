"""What the tasks share whose runs are inspected by their attention: all but those whose decisions are explained."""

from typing import Any

from regard.config import Config
from regard.formats import Pair
from regard.run import Run


class AttentionTask:
    """`regard look` shows the attention of its runs."""

    @property
    def inspector(self) -> str:
        return "regard.jobs.look.inspections"

    def inspected_pair(self, pair: Pair) -> Pair:
        return pair

    def closing_seconds(self, config: Config, data: Any) -> float:
        return 0.0

    def close(self, run: Run, config: Config, data: Any) -> list[str]:
        """Nothing more is made of most runs."""
        return []
