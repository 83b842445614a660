"""The issues of a stream of translations: counted, the first ones kept, all of them written."""

import contextlib
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from regard.atomic import open_output
from regard.formats import tsv
from regard.tasks.translate.translator import TranslationIssue

COLUMNS = ("location", "kind", "issue")
SHOWN_ISSUES = 10  # of each kind, on the terminal


class IssueLog:
    """Counts of issues, the first `max_kept` of each kind, and a file of all of them.

    A file that was asked for is always written; another one only if there are more issues than are kept. Memory does
    not grow with the number of issues.
    """

    def __init__(self, path: Path | None, max_kept: int, always: bool = False):
        self.path = path
        """The file; None if none is written."""
        self.counts: Counter[str] = Counter()
        """The number of issues of each kind."""
        self.first: dict[str, list[tuple[str, str]]] = {}
        """The location and the description of the first issues of each kind."""
        self.num_locations = 0
        """Lines or segments with any issue."""
        self._max_kept, self._always = max_kept, always
        self._waiting: list[tuple[str, str, str]] = []
        self._sink: IO[str] | None = None
        self._stack = contextlib.ExitStack()

    def add(self, location: str, issues: Sequence[TranslationIssue]) -> None:
        """Record the issues of one line or segment."""
        self.num_locations += bool(issues)
        for issue in issues:
            self.counts[issue.kind] += 1
            first = self.first.setdefault(issue.kind, [])
            if len(first) < self._max_kept:
                first.append((location, issue.message))
            self._write((location, issue.kind, issue.message))

    def __enter__(self) -> Self:
        if self._always:
            self._open()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._sink is None:
            self.path = None
        self._stack.__exit__(exc_type, exc_value, traceback)

    def _write(self, row: tuple[str, str, str]) -> None:
        if self._sink is not None:
            self._sink.write(tsv.format_row(row) + "\n")
        elif self.path is not None:
            self._waiting.append(row)
            if len(self._waiting) > self._max_kept:
                self._open()

    def _open(self) -> None:
        assert self.path is not None
        file = self._stack.enter_context(open_output(self.path))
        # A location has the name of a file, which need not be UTF-8.
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="\n")
        self._sink = self._stack.enter_context(text)
        self._sink.writelines(tsv.format_row(row) + "\n" for row in [COLUMNS, *self._waiting])
