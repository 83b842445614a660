"""log.jsonl: one JSON object a line, for every step and every check."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.training.loop import Step
from regard.training.validate import Validation


class Log:
    """Appends to a log whose end is known, so that a resumed run can take up where its checkpoint stood."""

    def __init__(self, path: Path, keep_bytes: int = 0):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        with path.open("r+b") as file:
            file.truncate(_complete_lines_size(file.read(keep_bytes)))
        self._file = path.open("a", encoding="utf-8", newline="\n")

    @property
    def size_bytes(self) -> int:
        self._file.flush()
        return self._file.tell()

    def write_step(self, step: Step) -> None:
        fields = asdict(step)
        self._write({"kind": "step", **fields, "data_position": list(fields["data_position"].values())})

    def write_validation(self, validation: Validation) -> None:
        fields = asdict(validation) | {"bleu": validation.bleu.as_dict() if validation.bleu else None}
        self._write({"kind": "validation", **fields})

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _write(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record) + "\n")


class NullLog(Log):
    """The log of a process that does not speak for all: nothing is written."""

    def __init__(self) -> None:
        """No file."""

    @property
    def size_bytes(self) -> int:
        return 0

    def flush(self) -> None:
        """Nothing to flush."""

    def close(self) -> None:
        """Nothing to close."""

    def _write(self, record: dict[str, Any]) -> None:
        """Nothing is kept."""


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a log; a last line that a kill cut short is passed over."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            with contextlib.suppress(json.JSONDecodeError):  # damage costs a point of a curve, no more
                yield json.loads(line)


def _complete_lines_size(raw: bytes) -> int:
    """How many bytes are whole lines."""
    return raw.rfind(b"\n") + 1
