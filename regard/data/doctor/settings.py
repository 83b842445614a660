"""Settings of the doctor."""

from dataclasses import dataclass
from pathlib import Path

from regard.data.doctor.kinds import FINDING_KINDS, Action, FindingKind, check_names, decide_action
from regard.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class DoctorSettings:
    """Thresholds of the checks, and what is done about their findings."""

    source: str = ""
    """Language code of the source side; unset: that of most source sentences."""
    target: str = ""
    """Language code of the target side; unset: that of most target sentences."""
    keep: frozenset[str] = frozenset()
    """Kinds of findings that are only counted, although they are dropped or refused by default."""
    drop: frozenset[str] = frozenset()
    """Kinds of findings to drop, although they are only counted by default."""
    max_chars: int = 5000
    """Maximum number of characters of a side."""
    ratio: float = 4.0
    """Maximum ratio of the lengths of both sides, relative to the usual one."""
    examples: int = 5
    """Number of examples of each finding."""
    scratch: Path | None = None
    """Folder for the scratch file of a corpus of more than a million pairs; unset: the folder for temporary files."""

    def __post_init__(self) -> None:
        serious = {kind for kind in FINDING_KINDS.values() if kind.action is not Action.NOTED}
        check_names(self.keep, "data.keep", (kind.name for kind in serious))
        mild = set(FINDING_KINDS.values()) - serious
        check_names(self.drop, "data.drop", (kind.name for kind in mild if kind.droppable))
        if self.max_chars < 1:
            raise ConfigError(f"max_chars={self.max_chars}; expected at least one character")
        if not self.ratio > 1:
            raise ConfigError(f"ratio={self.ratio}; expected more than 1, the ratio of two equal lengths")
        if self.examples < 0:
            raise ConfigError(f"examples={self.examples}; expected 0 or more")

    def action_for(self, kind: FindingKind, split: str) -> Action:
        """What is done about a kind of finding in a split."""
        return decide_action(kind, split, self.keep, self.drop)
