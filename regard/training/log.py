"""log.jsonl: one JSON object per line, for every step and every validation."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import IO, Any

from regard.errors import RunError
from regard.files import MAX_LINE_BYTES, LineTooLongError, check_shape, iter_lines, open_regular, parse_json
from regard.training.loop import Step
from regard.training.validate import Validation

FLUSH_SECONDS = 1.0
"""After which what is buffered is written, for those who watch."""
MAX_READ_BYTES = 64 * 2**20
"""Of a growing file at once; the rest is read the next time."""
MAX_CURVE_POINTS = 240
"""Of the curve of a training: more cannot be distinguished on a page."""


class Log:
    """Appends to a log, from the size that a checkpoint recorded: what was written after it is dropped on resume."""

    def __init__(self, path: Path, keep_bytes: int = 0):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        open_regular(path).close()  # a pipe would be waited for
        with path.open("r+b") as file:
            file.truncate(_complete_lines_size(file, keep_bytes))
        self._file = path.open("a", encoding="utf-8", newline="\n")
        self._flushed_at = time.monotonic()

    @property
    def size_bytes(self) -> int:
        return self._file.tell()  # which writes what is buffered

    def write_step(self, step: Step) -> None:
        fields = asdict(step) | {"data_position": [step.data_position.epoch, step.data_position.batch]}
        if step.muon_learning_rate is None:
            del fields["muon_learning_rate"]
        self._write({"kind": "step", **fields})
        if time.monotonic() - self._flushed_at > FLUSH_SECONDS:
            self.flush()

    def write_validation(self, validation: Validation) -> None:
        self._write({"kind": "validation", **asdict(validation)})
        self.flush()

    def flush(self) -> None:
        self._file.flush()
        self._flushed_at = time.monotonic()

    def close(self) -> None:
        self._file.close()

    def _write(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record) + "\n")


class NullLog(Log):
    """The log of a process that is not the main process: nothing is written."""

    def __init__(self) -> None:
        """No file."""
        self._flushed_at = time.monotonic()

    @property
    def size_bytes(self) -> int:
        return 0

    def flush(self) -> None:
        """Nothing to flush."""

    def close(self) -> None:
        """Nothing to close."""

    def _write(self, record: dict[str, Any]) -> None:
        """Nothing is written."""


def read(path: Path) -> Iterator[Step | Validation]:
    """The steps and validations of a log, in the order in which they were written."""
    for record in read_json_lines(path):
        try:
            yield _PARSERS[record.pop("kind")](record)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise RunError(f"{path}: a line is neither a step nor a validation ({error}): {record!a:.200}") from None


def read_from(path: Path, offset: int) -> tuple[list[Step | Validation], int]:
    """The steps and validations after `offset` bytes, and where the last complete line ends.

    Of a log that is being written: a line that is no record is skipped.
    """
    lines, end = read_lines_from(path, offset)
    records: list[Step | Validation] = []
    for line in lines:
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            records.append(_PARSERS[line.pop("kind")](line))
    return records, end


def read_lines_from(path: Path, offset: int) -> tuple[list[Any], int]:
    """The objects of the complete lines of a JSON Lines file after `offset` bytes, and where the last one ends."""
    with open_regular(path) as file:
        file.seek(offset)
        complete, newline, _ = file.read(MAX_READ_BYTES).rpartition(b"\n")
    lines: list[Any] = []
    for line in complete.split(b"\n"):
        with contextlib.suppress(ValueError):
            lines.append(parse_json(line, finite=False))
    return lines, offset + len(complete) + len(newline)


def read_steps(path: Path) -> list[Step]:
    """The steps of a log; none where there is no log."""
    return [record for record in read(path) if isinstance(record, Step)] if path.exists() else []


def read_validations(path: Path) -> list[Validation]:
    """The validations of a log; none where there is no log."""
    return [record for record in read(path) if isinstance(record, Validation)] if path.exists() else []


def pool_steps(records: Sequence[Step | Validation], max_points: int = MAX_CURVE_POINTS) -> list[Step]:
    """About `max_points` groups of consecutive steps, as the points of a curve: Σ loss · targets / Σ targets.

    The last batch of an epoch may hold one text, whose accuracy is 0 or 1: a step with less than half of the targets
    of the median step is joined with the next one, and each step counts by its targets. No group spans a validation.
    """
    stretches: list[list[Step]] = [[]]
    for record in records:
        if isinstance(record, Step):
            stretches[-1].append(record)
        else:
            stretches.append([])
    tokens = [step.tokens for stretch in stretches for step in stretch]
    least = max(sum(tokens) / max_points, median(tokens) / 2) if tokens else 0
    return [_pool(group) for stretch in stretches for group in _group_by_tokens(stretch, least)]


def _group_by_tokens(steps: Sequence[Step], least: float) -> list[list[Step]]:
    """Consecutive steps that have at least `least` tokens together, if all of them do."""
    groups: list[list[Step]] = [[]]
    for step in steps:
        groups[-1].append(step)
        if sum(one.tokens for one in groups[-1]) >= least:
            groups.append([])
    rest = groups.pop()
    if groups:
        groups[-1] += rest
        return groups
    return [rest] if rest else []


def _pool(group: Sequence[Step]) -> Step:
    """The last step of a group, with the means over all its targets."""
    if len(group) == 1:
        return group[0]
    tokens = sum(step.tokens for step in group)
    loss, accuracy = (
        sum(step.tokens * value for step, value in zip(group, values, strict=True)) / max(1, tokens)
        for values in ([step.loss for step in group], [step.accuracy for step in group])
    )
    seconds = sum(step.seconds for step in group)
    return replace(group[-1], loss=loss, accuracy=accuracy, tokens=tokens, seconds=seconds)


def read_json_lines(path: Path) -> Iterator[Any]:
    """The objects of a JSON Lines file; a line that a kill cut short is skipped."""
    try:
        with open_regular(path) as file:
            for line in iter_lines(file):
                with contextlib.suppress(ValueError):  # damage costs a point of a curve, no more
                    yield parse_json(line, finite=False)  # a training that diverges has losses that are not
    except (OSError, LineTooLongError) as error:
        raise RunError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _parse_step(fields: Mapping[str, Any]) -> Step:
    epoch, batch = fields["data_position"]
    return check_shape({**fields, "data_position": {"epoch": epoch, "batch": batch}}, Step)


def _parse_validation(fields: Mapping[str, Any]) -> Validation:
    return check_shape(fields, Validation)


_PARSERS: dict[str, Callable[[Mapping[str, Any]], Step | Validation]] = {
    "step": _parse_step,
    "validation": _parse_validation,
}


def _complete_lines_size(file: IO[bytes], size: int) -> int:
    """How many of the first `size` bytes are complete lines."""
    begin = max(0, min(size, file.seek(0, os.SEEK_END)) - MAX_LINE_BYTES)
    file.seek(begin)
    return begin + file.read(min(size - begin, MAX_LINE_BYTES)).rfind(b"\n") + 1
