"""gettext PO: reading what is translated, and filling in what is not.

- Read: entries with a translation, but for the header, fuzzy and obsolete ones. Of a plural entry, `msgid` goes with
  the form for one, `msgid_plural` with the form for five, as the header's formula has it (without one: forms 0 and
  1). Two is no safe example: some languages have a dual that drops the number. A language of one form gives one pair.
- Written: only the lines of filled entries change, and they become `fuzzy`: a person has yet to look at them. The form
  for one gets the translation of `msgid`, every other form that of `msgid_plural`; where one of the two is missing,
  the entry stays empty.

The parser is ours, since nothing that is at hand tells which lines an entry's parts stand on.
"""

import gettext
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.errors import FormatError
from regard.formats import files, languages
from regard.formats.pair import Pair, Segment

BOM = b"\xef\xbb\xbf"
# The header is the entry of the empty msgid; a charset further down is somebody's text.
CHARSET = re.compile(
    rb'^msgid[ \t]+""\s*\n(?:(?!msgid|msgctxt)[^\n]*\n)*?[^\n]*charset=([A-Za-z0-9._:-]+)', re.MULTILINE
)
KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{1,3})\])?[ \t]*(?=")')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"[ \t]*')
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
PLURALS = re.compile(r"nplurals\s*=\s*(\d{1,3})\s*;\s*plural\s*=\s*([^;\n]+)")
PLAIN = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}
ESCAPED = {ord(char): f"\\{letter}" for letter, char in PLAIN.items()}
MEND = "`msgfmt --check` shows the place too."


@dataclass(slots=True)
class Entry:
    """One message. Line numbers count from 0, but for `line`, which people see."""

    top: int
    """The first line that is not a comment; a previous msgid (#|) counts as one."""
    line: int = 0
    context: str | None = None
    source: str | None = None
    plural: str | None = None
    targets: dict[int, str] = field(default_factory=dict)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The lines of each msgstr: first, and one past the last."""
    flags: tuple[str, ...] = ()
    flagged: int | None = None
    """The line of its first flags."""

    @property
    def is_header(self) -> bool:
        return self.source == "" and self.context is None

    @property
    def is_translated(self) -> bool:
        return any(self.targets.values())


@dataclass(frozen=True, slots=True)
class Plurals:
    """How many forms a language has, and which of them stands for one and for many."""

    count: int = 2
    one: int = 0
    many: int = 1


class Catalog:
    """A PO file: its lines, as they are, and the entries found in them."""

    def __init__(self, path: Path):
        self.path = path
        with files.opened(path) as file:
            raw = file.read()
        self.mark = BOM if raw.startswith(BOM) else b""
        self.charset, text = _decode(raw[len(self.mark) :], path)
        self.lines = text.split("\n")
        self.entries = list(_Parser(path).parse(self.lines))
        header = next((entry for entry in self.entries if entry.is_header), None)
        self.header_line = header.line if header is not None else 1
        self._about = header.targets.get(0, "") if header is not None else ""

    def about(self, name: str) -> str:
        """A field of the header; empty if it is not there."""
        for line in self._about.split("\n"):
            key, _, value = line.partition(":")
            if key.strip().lower() == name.lower():
                return value.strip()
        return ""

    def plurals(self, entry: Entry) -> Plurals:
        """The forms that the header asks for, or those that the entry has."""
        found = PLURALS.search(self.about("Plural-Forms"))
        if found is None or not 0 < int(found[1]) < 100:
            count = max(len(entry.targets), 1)
            return Plurals(count, 0, min(1, count - 1))
        count = int(found[1])
        one, many = (min(max(_form(found[2], number), 0), count - 1) for number in (1, 5))
        return Plurals(count, one, many)


def read(path: Path, source: str = "", target: str = "") -> Iterator[Pair]:
    """The pairs of every translated entry; backwards if the header's language is the source that was asked for."""
    catalog = Catalog(path)
    where = f"{path}:{catalog.header_line}"
    turned = languages.is_reversed(where, (source, target), ("", catalog.about("Language")))
    for entry in catalog.entries:
        if entry.is_header or "fuzzy" in entry.flags:
            continue
        for left, right in _pairs(entry, catalog):
            if right:
                note = f"{path}:{entry.line}"
                yield Pair(right, left, note) if turned else Pair(left, right, note)


def _pairs(entry: Entry, catalog: Catalog) -> list[tuple[str, str]]:
    if entry.plural is None:
        return [(entry.source or "", entry.targets.get(0, ""))]
    forms = catalog.plurals(entry)
    many = (entry.plural, entry.targets.get(forms.many, ""))
    return [many] if forms.one == forms.many else [(entry.source or "", entry.targets.get(forms.one, "")), many]


class PoDocument:
    """A PO file to be filled: entries without a translation are its segments, a plural one makes two."""

    def __init__(self, path: Path, source: str = "", target: str = ""):
        self.path = path
        self._catalog = Catalog(path)
        where = f"{path}:{self._catalog.header_line}"
        language = self._catalog.about("Language")
        if languages.is_reversed(where, (source, target), ("", language), languages.MODEL):
            raise FormatError(f"{where}: is to be translated to {language}, not from it. {languages.MODEL}")
        self._empty = [e for e in self._catalog.entries if e.source and not e.is_translated]
        self.segments = [
            Segment(text, f"{path}:{entry.line}", entry.context or "", entry.flags)
            for entry in self._empty
            for text in self._texts(entry)
        ]
        self._filled: Sequence[str | None] = [None] * len(self.segments)

    def _texts(self, entry: Entry) -> list[str]:
        if entry.plural is None:
            return [entry.source or ""]
        forms = self._catalog.plurals(entry)
        return [entry.plural] if forms.one == forms.many else [entry.source or "", entry.plural]

    def fill(self, translations: Sequence[str | None]) -> None:
        """The translation of each segment, or None where there is none."""
        for number, (segment, text) in enumerate(zip(self.segments, translations, strict=True)):
            if reason := self.objection(number, text or ""):
                raise FormatError(f"{segment.note}: its translation has {reason}")
        self._filled = translations

    def objection(self, number: int, text: str) -> str:
        """Why a text cannot stand here."""
        charset = self._catalog.charset
        try:
            text.encode(charset)
        except UnicodeEncodeError as error:
            lacking = error.object[error.start]
            return f"{lacking!r}, which {charset} lacks; convert the file first, with `msgconv -t UTF-8`"
        return ""

    def write(self, out: Path) -> None:
        """The document with its translations."""
        lines = list(self._catalog.lines)
        filled = iter(self._filled)
        edits: list[tuple[int, int, list[str]]] = []
        for entry in self._empty:
            texts = [next(filled) for _ in self._texts(entry)]
            complete = [text for text in texts if text]
            if len(complete) == len(texts):
                edits += self._edits(entry, complete)
        for first, past, new in sorted(edits, key=lambda edit: edit[0], reverse=True):
            end = "\r" if lines[min(first, len(lines) - 1)].endswith("\r") else ""
            lines[first:past] = [line + end for line in new]
        files.write(out, self._catalog.mark + "\n".join(lines).encode(self._catalog.charset))

    def _edits(self, entry: Entry, texts: list[str]) -> Iterator[tuple[int, int, list[str]]]:
        if entry.flagged is None:
            yield entry.top, entry.top, ["#, fuzzy"]
        elif "fuzzy" not in entry.flags:
            flags = self._catalog.lines[entry.flagged].strip()[2:].strip()
            yield entry.flagged, entry.flagged + 1, [f"#, fuzzy, {flags}" if flags else "#, fuzzy"]
        if entry.plural is None:
            new = _written("msgstr", texts[0])
        else:
            forms = self._catalog.plurals(entry)
            chosen = [texts[0] if form == forms.one else texts[-1] for form in range(forms.count)]
            new = [line for form, text in enumerate(chosen) for line in _written(f"msgstr[{form}]", text)]
        for first, past in sorted(entry.places.values()):
            yield first, past, new
            new = []


def _written(keyword: str, text: str) -> list[str]:
    """The lines of one string, each ending where the text's own lines end."""
    pieces = [piece for piece in re.split(r"(?<=\n)", text) if piece]
    quoted = [f'"{_escape(piece)}"' for piece in pieces] or ['""']
    return [f"{keyword} {quoted[0]}"] if len(quoted) == 1 else [f'{keyword} ""', *quoted]


def _escape(text: str) -> str:
    text = text.translate(ESCAPED)
    # Three digits, so that a digit that follows is not read as one more.
    return re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\{ord(match[0]):03o}", text)


def _form(formula: str, number: int) -> int:
    try:
        return int(gettext.c2py(formula.strip())(number))
    except (ValueError, ArithmeticError, RecursionError):
        return int(number != 1)  # a formula that does not compute: two forms, as in English


def _decode(raw: bytes, path: Path) -> tuple[str, str]:
    found = CHARSET.search(raw)
    charset = found[1].decode("ascii") if found else "utf-8"
    if charset == "CHARSET":  # a template that nobody has filled in yet
        charset = "utf-8"
    try:
        if bytes(range(32, 127)).decode(charset) != "".join(map(chr, range(32, 127))):
            raise LookupError
    except (LookupError, UnicodeError):
        raise FormatError(
            f"{path}: its charset is {charset!r}, which no PO file can have. Expected UTF-8, say; mend the header."
        ) from None
    try:
        return charset, raw.decode(charset)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{path}:{line}: not {charset}, as the header has it: byte 0x{raw[error.start]:02x}. "
            f"Mend the header's charset, or convert the file with `msgconv -t UTF-8`."
        ) from None


class _Parser:
    """Lines to entries: a comment or a keyword says whether the entry before it is over."""

    def __init__(self, path: Path):
        self.path = path
        self.number = 0
        self._fresh()

    def _fresh(self) -> None:
        self.entry: Entry | None = None
        self.key = ""
        self.form = 0
        self.flags: list[str] = []
        self.flagged: int | None = None
        self.previous: int | None = None

    def parse(self, lines: Sequence[str]) -> Iterator[Entry]:
        for self.number, line in enumerate(lines):
            body = line.strip(" \t\r\f\v")
            if not body:
                continue
            done = body[0] != '"' and self.entry is not None and self.entry.targets
            if done and not body.startswith("msgstr"):
                yield self._finish()
            if body[0] == "#":
                self._comment(body)
            elif body[0] == '"':
                self._string(body)
            else:
                self._keyword(body)
        if self.entry is not None:
            yield self._finish()

    def _finish(self) -> Entry:
        entry = self.entry
        assert entry is not None
        if not entry.targets:
            raise self._error(f"the entry of line {entry.line or entry.top + 1} has no msgstr")
        entry.flags = tuple(self.flags)
        entry.flagged = self.flagged
        self._fresh()
        return entry

    def _comment(self, body: str) -> None:
        if body.startswith("#~"):
            self.flags, self.flagged, self.previous = [], None, None  # what stood above was said of the obsolete entry
        elif body.startswith(("#,", "#=")):
            self.flags += [flag.strip() for flag in body[2:].split(",") if flag.strip()]
            if body[1] == "," and self.flagged is None:
                self.flagged = self.number
        elif body.startswith("#|") and self.previous is None:
            self.previous = self.number

    def _keyword(self, body: str) -> None:
        found = KEYWORD.match(body)
        if found is None or (found[2] and found[1] != "msgstr"):
            raise self._error(f"not PO: {body[:60]!r}; expected a comment, msgid, msgstr or a string in quotes")
        self.key, self.form = found[1], int(found[2] or 0)
        if self.entry is None:
            self.entry = Entry(self.number if self.previous is None else self.previous)
        entry = self.entry
        first = {"msgctxt": entry.context, "msgid": entry.source, "msgid_plural": entry.plural}
        if self.key == "msgctxt" and entry.source is not None:
            raise self._error(f"msgctxt, but the entry of line {entry.line} has no msgstr yet")
        if first.get(self.key, entry.targets.get(self.form) if self.key == "msgstr" else None) is not None:
            raise self._error(f"a second {body[: found.end()].strip()} in one entry; the one before lacks its msgstr")
        if self.key in ("msgid_plural", "msgstr") and entry.source is None:
            raise self._error(f"{self.key} without a msgid before it")
        if self.key == "msgid":
            entry.line = self.number + 1
        if self.key == "msgstr":
            entry.places[self.form] = (self.number, self.number)
        self._string(body[found.end() :])

    def _string(self, body: str) -> None:
        text, at = "", 0
        while at < len(body):
            match = STRING.match(body, at)
            if match is None:
                raise self._error(f'a quote is missing or not written \\": {body[:60]!r}')
            text, at = text + self._plain(match[1]), match.end()
        entry = self.entry
        if entry is None or not self.key:
            raise self._error(f"a string without msgid or msgstr before it: {body[:60]!r}")
        if self.key == "msgctxt":
            entry.context = (entry.context or "") + text
        elif self.key == "msgid":
            entry.source = (entry.source or "") + text
        elif self.key == "msgid_plural":
            entry.plural = (entry.plural or "") + text
        else:
            entry.targets[self.form] = entry.targets.get(self.form, "") + text
            entry.places[self.form] = (entry.places[self.form][0], self.number + 1)

    def _plain(self, text: str) -> str:
        return ESCAPE.sub(lambda match: self._character(match[1]), text) if "\\" in text else text

    def _character(self, escape: str) -> str:
        if escape in PLAIN:
            return PLAIN[escape]
        value = (
            int(escape[1:], 16)
            if escape[0] == "x" and escape[1:]
            else int(escape, 8)
            if escape[0] in "01234567"
            else 128
        )
        if value > 127:
            raise self._error(
                f"\\{escape} is not an escape of a character; write \\\\ for a backslash, or the character"
            )
        return chr(value)

    def _error(self, problem: str) -> FormatError:
        return FormatError(f"{self.path}:{self.number + 1}: {problem}. {MEND}")
