"""What a person may want otherwise."""

from dataclasses import dataclass
from pathlib import Path

from regard.data.doctor.kinds import FINDING_KINDS, Action, FindingKind, check_names
from regard.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class DoctorSettings:
    """How the doctor judges, and what becomes of what it finds."""

    source: str = ""
    """Language code of the source side; unset: what most source sentences look like."""
    target: str = ""
    """Language code of the target side; unset: what most target sentences look like."""
    keep: frozenset[str] = frozenset()
    """Kinds of findings to count only, though they are dropped or refused by default."""
    drop: frozenset[str] = frozenset()
    """Kinds of findings to drop, though they are only counted by default."""
    longest: int = 5000
    """Characters of the longest line that may stay."""
    ratio: float = 4.0
    """How many times further apart than usual the lengths of the two sides may be."""
    examples: int = 5
    """Places that are shown of each finding."""
    scratch: Path | None = None
    """Folder for the scratch file of a corpus of more than a million pairs; unset: the system's."""

    def __post_init__(self) -> None:
        serious = {kind for kind in FINDING_KINDS.values() if kind.action is not Action.NOTED}
        check_names(self.keep, "keep", (kind.name for kind in serious))
        mild = set(FINDING_KINDS.values()) - serious
        check_names(self.drop, "drop", (kind.name for kind in mild if kind.droppable))
        if self.longest < 1:
            raise ConfigError(f"longest={self.longest}; expected at least one character")
        if not self.ratio > 1:
            raise ConfigError(f"ratio={self.ratio}; expected more than 1, the ratio of two equal lengths")
        if self.examples < 0:
            raise ConfigError(f"examples={self.examples}; expected 0 or more")

    def action_for(self, kind: FindingKind, split: str) -> Action:
        """What is done about a kind of finding in a set."""
        if kind.name in self.keep:
            return Action.NOTED
        action = Action.DROPPED if kind.name in self.drop else kind.action
        is_held_out = split != "train" and action is Action.DROPPED and not kind.applies_to_held_out
        return Action.NOTED if is_held_out else action
