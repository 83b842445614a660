"""What the labs showed the last time, and what was predicted: a line of JSON for each run, in the user's state folder.

The folder is that of XDG_STATE_HOME, or ~/.local/state; nothing of it leaves the machine.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from regard.files import iter_lines, open_regular, parse_json
from regard.progress import report_note

FILE_NAME = "labs.jsonl"


@dataclass(frozen=True)
class LabRecord:
    """One run of a lab."""

    lab: str
    verdict: str
    headline: str
    measured: str
    """The number that was to be predicted, with its interval."""
    prediction: float | None
    is_own: bool
    """Whether knobs and mechanisms were those of the lab itself."""
    date: str
    version: str


def state_folder() -> Path:
    """The folder of this user for what Regard remembers."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "regard"


def append_records(records: list[LabRecord]) -> None:
    """Add runs to the file; where it cannot be written, say so, since the measurement is not lost."""
    path = state_folder() / FILE_NAME
    text = "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, text.encode("utf-8", "replace"))  # one call: two programs never mix their lines
        finally:
            os.close(descriptor)
    except OSError as error:
        report_note(f"{path}: this run was not recorded ({error.strerror or error})")


def read_records() -> Iterator[LabRecord]:
    """All runs that can be read, oldest first; a line that is damaged is passed over."""
    try:
        with open_regular(state_folder() / FILE_NAME) as file:
            for line in iter_lines(file):
                try:
                    yield parse_json(line, LabRecord)
                except ValueError:
                    continue
    except (OSError, ValueError):
        return


def last_records() -> dict[str, LabRecord]:
    """The last run of each lab with its own knobs and mechanisms."""
    return {record.lab: record for record in read_records() if record.is_own}
