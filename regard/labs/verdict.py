"""What a measurement says of a claim: one word, and its sign for those who do not see colors."""

from collections.abc import Sequence
from enum import StrEnum


class Verdict(StrEnum):
    """In the order of a summary: what goes against a claim first."""

    OPPOSITE_HOLDS = "the opposite holds"
    DOES_NOT_HOLD = "does not hold"
    HOLDS_PARTLY = "holds partly"
    UNDECIDED = "undecided"
    HOLDS = "holds"

    @property
    def sign(self) -> str:
        return SIGNS[self]


SIGNS = {
    Verdict.OPPOSITE_HOLDS: "⇄",
    Verdict.DOES_NOT_HOLD: "✗",
    Verdict.HOLDS_PARTLY: "◐",
    Verdict.UNDECIDED: "?",
    Verdict.HOLDS: "✓",
}


def combine_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim from those on its parts."""
    distinct = set(verdicts)
    if len(distinct) == 1:
        return distinct.pop()
    if Verdict.HOLDS in distinct:
        return Verdict.HOLDS_PARTLY
    return Verdict.UNDECIDED if Verdict.UNDECIDED in distinct else Verdict.DOES_NOT_HOLD
