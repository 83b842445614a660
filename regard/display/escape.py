"""Control characters are shown, not sent: a name or a text from a file must not move the cursor of a terminal."""

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any

UNSAFE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]"
"""Controls but tab and line feed; embedded directions, which let text be read as another; bytes that are not UTF-8."""
BOLD_HEADING = r"^\x1b\[1m[A-Za-z ]{1,40}:\x1b\[0m$"
"""A line that is a heading in bold, as help pages have them: it hides and moves nothing, and ends what it began."""
ESCAPED = re.compile(f"({BOLD_HEADING})|{UNSAFE}", re.MULTILINE)


def escape(text: str) -> str:
    r"""The text with its control characters escaped, as in \x1b; a byte of a name that is not UTF-8 becomes \xff."""
    return ESCAPED.sub(lambda match: match[1] or _escape_character(match[0]), text)


def _escape_character(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python holds such a byte
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class EscapedStream:
    """A text stream whose `write` escapes; everything else is the stream's own."""

    def __init__(self, stream: Any):
        self._stream = stream

    def write(self, text: str) -> int:
        return int(self._stream.write(escape(text)))

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def escape_output() -> Iterator[None]:
    """Escape what is printed to standard output and error. What draws on a terminal takes the stream itself."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = EscapedStream(sys.stdout), EscapedStream(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def unescaped(stream: Any) -> Any:
    """The stream behind an escaped one."""
    return stream._stream if isinstance(stream, EscapedStream) else stream
