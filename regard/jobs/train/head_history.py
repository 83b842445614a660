"""heads.jsonl: what every attention head does in the course of training, one JSON object per measured step."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from regard.errors import RunError
from regard.files import Count, Finite, check_shape
from regard.run import write_text
from regard.training.log import read_json_lines


@dataclass(frozen=True)
class HeadSnapshot:
    """One head at one step."""

    entropy: Finite
    confidence: Finite
    role: str | None
    lift: Finite | None
    """Of the pattern that fits best."""


@dataclass(frozen=True)
class HeadHistoryEntry:
    """All heads at one step."""

    step: Count
    heads: Mapping[str, HeadSnapshot]
    """By name, as in `decoder.3.cross.5`."""

    def to_json(self) -> str:
        heads = {name: asdict(snapshot) for name, snapshot in self.heads.items()}
        return json.dumps({"step": self.step, "heads": heads}) + "\n"


def read_head_history(path: Path) -> list[HeadHistoryEntry]:
    """The entries of a heads.jsonl; none where there is no file."""
    try:
        return [check_shape(record, HeadHistoryEntry) for record in (read_json_lines(path) if path.exists() else ())]
    except ValueError as error:
        raise RunError(f"{path}: a line is not the history of heads ({error})") from None


def append_entry(path: Path, entry: HeadHistoryEntry) -> None:
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(entry.to_json())


def truncate_after(path: Path, step: int) -> None:
    """Drop the entries that a killed process wrote after the checkpoint from which the run is resumed."""
    entries = read_head_history(path)
    if any(entry.step > step for entry in entries):
        write_text(path, "".join(entry.to_json() for entry in entries if entry.step <= step))


class NullHeadRecorder:
    """Records no heads; `head_recorder.HeadRecorder` does."""

    def record_step(self, step: int) -> None:
        """Measure all heads and append an entry, if this step is one to measure."""
