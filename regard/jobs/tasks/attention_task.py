"""What the tasks share whose runs are inspected by their attention: all but those whose decisions are explained."""

from regard.formats import Pair


class AttentionTask:
    """`regard look` shows the attention of its runs."""

    @property
    def inspector(self) -> str:
        return "regard.jobs.look.inspections"

    def inspected_pair(self, pair: Pair) -> Pair:
        return pair
