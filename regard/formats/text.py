"""Plain text, one sentence per line, and two such files aligned.

A line ends at a line feed and nowhere else. `str.splitlines` would also split at U+2028, U+0085 and other characters
that occur inside sentences, and misalign every pair after them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES, iter_lines
from regard.formats import files
from regard.formats.binary import require_sentences, require_text
from regard.formats.pair import Pair, Segment

BOM = "\ufeff"


def read_lines(path: Path, max_line_bytes: int = MAX_LINE_BYTES, streams: bool = False) -> Iterator[str]:
    """The lines of a UTF-8 file without their line ends; the last one may lack its line feed."""
    with files.open_binary(path, streams) as file:
        for number, raw in enumerate(iter_lines(file, max_line_bytes), start=1):
            yield decode_line(raw.removesuffix(b"\n").removesuffix(b"\r"), path, number)


def read(source: Path, target: Path, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Pair]:
    """The pairs of two aligned files: line n of one is the translation of line n of the other."""
    number = 0
    sides = (read_lines(path, max_line_bytes) for path in (source, target))
    for number, (left, right) in enumerate(zip_longest(*sides), start=1):
        if left is None or right is None:
            short, long = (source, target) if left is None else (target, source)
            raise FormatError(
                f"{short} has {number - 1} lines, {long} has {count_lines(long)}; aligned files have the same number. "
                f"Line {number} of {long} has no partner."
            )
        yield Pair(left, right, f"{source}:{number}")
    if not number:
        raise FormatError(f"{source} and {target} are empty; expected one sentence per line")


def write(source: Path, target: Path, pairs: Sequence[Pair]) -> None:
    """Write pairs as two aligned files."""
    for path, lines in ((source, (pair.source for pair in pairs)), (target, (pair.target for pair in pairs))):
        write_lines(path, lines)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines in UTF-8."""
    with files.create_binary(path) as file:
        file.writelines(line.encode() + b"\n" for line in lines)


def count_lines(path: Path) -> int:
    """The number of lines of a file, the last one included if it lacks its line feed."""
    return sum(1 for _ in read_lines(path))


class TextDocument:
    """Plain text to be translated line by line: blank lines and line ends stay, an untranslated line becomes empty."""

    def __init__(self, path: Path, source: str = "", target: str = ""):
        self.path = path
        self._lines = files.read_document(path).split(b"\n")
        texts = [decode_line(raw.removesuffix(b"\r"), path, number) for number, raw in enumerate(self._lines, start=1)]
        self._line_indices = [index for index, text in enumerate(texts) if text.strip()]
        self.segments = [Segment(texts[index], f"{path}:{index + 1}") for index in self._line_indices]
        self._translations: Sequence[str | None] = [None] * len(self.segments)

    def fill(self, translations: Sequence[str | None]) -> None:
        """Set the translation of each segment, or None."""
        for number, (segment, text) in enumerate(zip(self.segments, translations, strict=True)):
            if reason := self.check_segment(number, text or ""):
                raise FormatError(f"{segment.location}: its translation has {reason}")
        self._translations = translations

    def check_segment(self, number: int, text: str) -> str:
        """Why a text cannot be written here."""
        return "a line end, which would shift all following lines" if "\n" in text or text.endswith("\r") else ""

    def write(self, out: Path) -> None:
        """Write the document with its translations."""
        output_lines = list(self._lines)
        for index, text in zip(self._line_indices, self._translations, strict=True):
            bom = BOM if index == 0 and self._lines[0].startswith(BOM.encode()) else ""
            line_end = b"\r" if self._lines[index].endswith(b"\r") else b""
            output_lines[index] = (bom + (text or "")).encode() + line_end
        files.write(out, b"\n".join(output_lines))


def decode_line(raw: bytes, path: Path, number: int) -> str:
    """The text of a line without its line end; what is not UTF-8 or no text of sentences is refused."""
    if number == 1:
        require_text(raw, path)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        likely_encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in raw else "latin1"
        raise FormatError(
            f"{path}:{number}: not UTF-8: byte {error.start + 1} of the line is 0x{raw[error.start]:02x}. "
            f"Convert the file first, for instance with `iconv -f {likely_encoding} -t utf-8`."
        ) from None
    if "\x00" in text:
        raise FormatError(
            f"{path}:{number}: has a NUL byte, as binary files and UTF-16 do; expected plain text in UTF-8, with one "
            f"sentence per line"
        )
    text = text.removeprefix(BOM) if number == 1 else text
    require_sentences(text, number, path)
    return text
