"""Where text for people goes: a terminal with its width and colors, a log, or a screen reader."""

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.display.escape import EscapedStream, escape, unescaped

if TYPE_CHECKING:
    from rich.console import Console

MIN_WIDTH, MAX_WIDTH, DEFAULT_WIDTH = 60, 120, 80


@dataclass
class _Flag:
    value: bool = False


_plain_option = _Flag()
_verbose_option = _Flag()


def use_plain(value: bool) -> None:
    """Set whether `--plain` was passed: no live lines, no bars, no box characters, no color."""
    _plain_option.value = value


def is_plain() -> bool:
    """Whether output is plain: by `--plain`, by the environment, or since the terminal cannot move its cursor."""
    requested = os.environ.get("REGARD_PLAIN", "0") not in ("", "0")
    return _plain_option.value or requested or os.environ.get("TERM", "") in ("dumb", "unknown")


def use_verbose(value: bool) -> None:
    """Set whether `--verbose` was passed: views show every detail."""
    _verbose_option.value = value


def is_verbose() -> bool:
    """Whether views show every detail."""
    return _verbose_option.value


def make_console() -> "Console":
    """A console on standard error. Ask its `is_terminal` before drawing anything that is redrawn."""
    from rich.console import Console

    class EscapingConsole(Console):
        """A console that sends no control characters of names and texts."""

        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(escape(one) if isinstance(one, str) else one for one in objects), **options)

    if is_plain():
        return EscapingConsole(
            stderr=True,
            force_terminal=False,
            color_system=None,
            highlight=False,
            soft_wrap=True,
            width=terminal_width(),
        )
    # rich itself sends control characters: those of colors, and of lines that are redrawn.
    stream = unescaped(sys.stderr) if isinstance(sys.stderr, EscapedStream) else None
    console = EscapingConsole(stderr=True, file=stream, highlight=False, soft_wrap=True)  # honors NO_COLOR
    if not console.is_terminal:
        console.width = terminal_width()  # that of a terminal is left to rich, which follows its size
    return console


def terminal_width() -> int:
    """Columns for text: COLUMNS or the width of the terminal, between 60 and 120; 80 without a terminal."""
    return min(max(_requested_width() or _measured_width() or DEFAULT_WIDTH, MIN_WIDTH), MAX_WIDTH)


def _requested_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isascii() and columns.isdigit() else 0


def _measured_width() -> int:
    for stream in (sys.stdout, sys.stderr):
        try:
            return os.get_terminal_size(stream.fileno()).columns
        except (AttributeError, OSError, ValueError):  # no stream, or no terminal behind it
            continue
    return 0
