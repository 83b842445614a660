"""gettext PO: reading translated entries, and filling in untranslated ones.

- Read: entries with a translation, except the header, fuzzy and obsolete ones. Of a plural entry, `msgid` is paired
  with the form for one, `msgid_plural` with the form for five, by the header's formula (without one: forms 0 and 1).
  Two is not a safe example: some languages have a dual that drops the number. A language of one form gives one pair.
- Written: only the lines of filled entries change, and these become `fuzzy`: a person has yet to review them. The form
  for one gets the translation of `msgid`, every other form that of `msgid_plural`; where one of the two is missing,
  the entry stays empty.

The parser is Regard's own, since other libraries do not report the lines of an entry's parts.
"""

import gettext
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.errors import FormatError
from regard.formats import files, languages
from regard.formats.binary import require_text
from regard.formats.pair import Pair, Segment

BOM = b"\xef\xbb\xbf"
# The header is the entry of the empty msgid; a charset further down is part of a text.
CHARSET = re.compile(
    rb'^msgid[ \t]+""\s*\n(?:(?!msgid|msgctxt)[^\n]*\n)*?[^\n]*charset=([A-Za-z0-9._:-]+)', re.MULTILINE
)
KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{1,3})\])?[ \t]*(?=")')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"[ \t]*')
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
PLURAL_FORMS = re.compile(r"nplurals\s*=\s*(\d{1,3})\s*;\s*plural\s*=\s*([^;\n]+)")
UNESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}
ESCAPE_TABLE = {ord(char): f"\\{letter}" for letter, char in UNESCAPED.items()}
CHECK_HINT = "`msgfmt --check` shows the line too."


@dataclass(slots=True)
class PoEntry:
    """One message. Line numbers start at 0, except `line`, which is shown to people."""

    first_line: int
    """The first line that is not a comment; a previous msgid (#|) counts as one."""
    line: int = 0
    context: str | None = None
    source: str | None = None
    plural: str | None = None
    targets: dict[int, str] = field(default_factory=dict)
    msgstr_lines: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The lines of each msgstr: first, and one past the last."""
    flags: tuple[str, ...] = ()
    flags_line: int | None = None
    """The line of its first flags."""
    comments_line: int | None = None
    """The line of its first comment."""

    @property
    def is_header(self) -> bool:
        return self.source == "" and self.context is None

    @property
    def is_translated(self) -> bool:
        return any(self.targets.values())


@dataclass(frozen=True, slots=True)
class PluralForms:
    """The number of plural forms of a language, and which of them are used for one and for many."""

    count: int
    one: int
    many: int


class PoCatalog:
    """A PO file: its unchanged lines, and their entries."""

    def __init__(self, path: Path):
        raw = files.read_document(path)
        require_text(raw, path, "a catalog of gettext, which is text")
        self.bom = BOM if raw.startswith(BOM) else b""
        self.charset, text = _decode(raw[len(self.bom) :], path)
        self.lines = text.split("\n")
        self.entries = list(_PoParser(path).parse(self.lines))
        header = next((entry for entry in self.entries if entry.is_header), None)
        self.header_line = header.line if header is not None else 1
        self._header = header.targets.get(0, "") if header is not None else ""

    def header_field(self, name: str) -> str:
        """A field of the header; empty if it is missing."""
        for line in self._header.split("\n"):
            key, _, value = line.partition(":")
            if key.strip().lower() == name.lower():
                return value.strip()
        return ""

    def plural_forms(self, entry: PoEntry) -> PluralForms:
        """The forms that the header declares, or those that the entry has."""
        match = PLURAL_FORMS.search(self.header_field("Plural-Forms"))
        if match is None or not 0 < int(match[1]) < 100:
            count = len(entry.targets)
            return PluralForms(count, 0, min(1, count - 1))
        count = int(match[1])
        one, many = (min(max(_plural_form(match[2], number), 0), count - 1) for number in (1, 5))
        return PluralForms(count, one, many)


def read(path: Path, source: str = "", target: str = "") -> Iterator[Pair]:
    """The pairs of every translated entry; swapped if the header's language is the requested source."""
    catalog = PoCatalog(path)
    where = f"{path}:{catalog.header_line}"
    swapped = languages.is_reversed(where, (source, target), ("", catalog.header_field("Language")))
    for entry in catalog.entries:
        if entry.is_header or "fuzzy" in entry.flags:
            continue
        for left, right in _pairs(entry, catalog):
            if right:
                location = f"{path}:{entry.line}"
                yield Pair(right, left, location) if swapped else Pair(left, right, location)


def _pairs(entry: PoEntry, catalog: PoCatalog) -> list[tuple[str, str]]:
    if entry.plural is None:
        return [(entry.source or "", entry.targets.get(0, ""))]
    forms = catalog.plural_forms(entry)
    many = (entry.plural, entry.targets.get(forms.many, ""))
    return [many] if forms.one == forms.many else [(entry.source or "", entry.targets.get(forms.one, "")), many]


class PoDocument:
    """A PO file to be translated: untranslated entries are its segments, two for a plural entry."""

    def __init__(self, path: Path, source: str = "", target: str = ""):
        self.path = path
        self._catalog = PoCatalog(path)
        where = f"{path}:{self._catalog.header_line}"
        language = self._catalog.header_field("Language")
        if languages.is_reversed(where, (source, target), ("", language), languages.MODEL_REMEDY):
            raise FormatError(f"{where}: is to be translated to {language}, not from it. {languages.MODEL_REMEDY}")
        self._untranslated = [e for e in self._catalog.entries if e.source and not e.is_translated]
        self.segments = [
            Segment(text, f"{path}:{entry.line}", entry.context or "", entry.flags)
            for entry in self._untranslated
            for text in self._source_texts(entry)
        ]
        self._translations: Sequence[str | None] = [None] * len(self.segments)
        self._notes: Sequence[str] = [""] * len(self.segments)

    def _source_texts(self, entry: PoEntry) -> list[str]:
        if entry.plural is None:
            return [entry.source or ""]
        forms = self._catalog.plural_forms(entry)
        return [entry.plural] if forms.one == forms.many else [entry.source or "", entry.plural]

    def fill(self, translations: Sequence[str | None]) -> None:
        """Set the translation of each segment, or None."""
        for number, (segment, text) in enumerate(zip(self.segments, translations, strict=True)):
            if reason := self.check_segment(number, text or ""):
                raise FormatError(f"{segment.location}: its translation has {reason}")
        self._translations = translations

    def annotate(self, notes: Sequence[str]) -> None:
        """Set the note of each segment, which becomes a comment of the translator, or ""."""
        self._notes = notes

    def check_segment(self, number: int, text: str) -> str:
        """Why a text cannot be written here."""
        charset = self._catalog.charset
        try:
            text.encode(charset)
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            return f"{character!r}, which {charset} lacks; convert the file first, with `msgconv -t UTF-8`"
        return ""

    def write(self, out: Path) -> None:
        """Write the document with its translations."""
        lines = list(self._catalog.lines)
        translations, notes = iter(self._translations), iter(self._notes)
        edits: list[tuple[int, int, list[str]]] = []
        for entry in self._untranslated:
            texts = [next(translations) for _ in self._source_texts(entry)]
            entry_notes = dict.fromkeys(note for _ in texts if (note := next(notes)))
            complete = [text for text in texts if text]
            if len(complete) == len(texts):
                edits += self._edits(entry, complete)
                edits += self._note_edits(entry, "; ".join(entry_notes))
        for first, stop, new in sorted(edits, key=lambda edit: edit[0], reverse=True):
            line_end = "\r" if lines[first].endswith("\r") else ""
            lines[first:stop] = [line + line_end for line in new]
        files.write(out, self._catalog.bom + "\n".join(lines).encode(self._catalog.charset))

    def _edits(self, entry: PoEntry, texts: list[str]) -> Iterator[tuple[int, int, list[str]]]:
        if entry.flags_line is None:
            yield entry.first_line, entry.first_line, ["#, fuzzy"]
        elif "fuzzy" not in entry.flags:
            flags = self._catalog.lines[entry.flags_line].strip()[2:].strip()
            yield entry.flags_line, entry.flags_line + 1, [f"#, fuzzy, {flags}" if flags else "#, fuzzy"]
        if entry.plural is None:
            new = _format_string("msgstr", texts[0])
        else:
            forms = self._catalog.plural_forms(entry)
            form_texts = [texts[0] if form == forms.one else texts[-1] for form in range(forms.count)]
            new = [line for form, text in enumerate(form_texts) for line in _format_string(f"msgstr[{form}]", text)]
        for first, stop in sorted(entry.msgstr_lines.values()):
            yield first, stop, new
            new = []

    def _note_edits(self, entry: PoEntry, note: str) -> Iterator[tuple[int, int, list[str]]]:
        """A comment before all others of the entry, as those of translators are."""
        if note:
            line = entry.first_line if entry.comments_line is None else entry.comments_line
            charset = self._catalog.charset
            yield line, line, [f"# regard: {note}".encode(charset, "replace").decode(charset)]


def _format_string(keyword: str, text: str) -> list[str]:
    """The lines of one string, broken at the text's own line feeds."""
    lines = [line for line in re.split(r"(?<=\n)", text) if line]
    quoted_lines = [f'"{_escape(line)}"' for line in lines] or ['""']
    return [f"{keyword} {quoted_lines[0]}"] if len(quoted_lines) == 1 else [f'{keyword} ""', *quoted_lines]


def _escape(text: str) -> str:
    text = text.translate(ESCAPE_TABLE)
    # Three digits, so that a following digit is not read as part of the escape.
    return re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\{ord(match[0]):03o}", text)


def _plural_form(formula: str, number: int) -> int:
    try:
        return int(gettext.c2py(formula.strip())(number))
    except (ValueError, ArithmeticError, RecursionError):
        return int(number != 1)  # an invalid formula: two forms, as in English


def _decode(raw: bytes, path: Path) -> tuple[str, str]:
    match = CHARSET.search(raw)
    charset = match[1].decode("ascii") if match else "utf-8"
    if charset == "CHARSET":  # a template whose header was not filled in yet
        charset = "utf-8"
    try:
        if bytes(range(32, 127)).decode(charset) != "".join(map(chr, range(32, 127))):
            raise LookupError
    except (LookupError, UnicodeError):
        raise FormatError(
            f"{path}: its charset is {charset!r}, which no PO file can have. Correct the header; UTF-8 is usual."
        ) from None
    try:
        return charset, raw.decode(charset)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{path}:{line}: not {charset}, the header's charset: byte 0x{raw[error.start]:02x}. "
            f"Correct the header's charset, or convert the file with `msgconv -t UTF-8`."
        ) from None


class _PoParser:
    """Lines to entries: a comment or a keyword ends the entry before it."""

    def __init__(self, path: Path):
        self.path = path
        self.number = 0
        self._reset()

    def _reset(self) -> None:
        self.entry: PoEntry | None = None
        self.key = ""
        self.form = 0
        self.flags: list[str] = []
        self.flags_line: int | None = None
        self.comments_line: int | None = None
        self.previous_msgid_line: int | None = None

    def parse(self, lines: Sequence[str]) -> Iterator[PoEntry]:
        for self.number, line in enumerate(lines):
            body = line.strip(" \t\r\f\v")
            if not body:
                self.comments_line = None if self.entry is None else self.comments_line
                continue
            done = body[0] != '"' and self.entry is not None and self.entry.targets
            if done and not body.startswith("msgstr"):
                yield self._finish()
            if body[0] == "#":
                self._parse_comment(body)
            elif body[0] == '"':
                self._parse_string(body)
            else:
                self._parse_keyword(body)
        if self.entry is not None:
            yield self._finish()

    def _finish(self) -> PoEntry:
        entry = self.entry
        assert entry is not None
        if not entry.targets:
            raise self._error(f"the entry of line {entry.line or entry.first_line + 1} has no msgstr")
        entry.flags = tuple(self.flags)
        entry.flags_line, entry.comments_line = self.flags_line, self.comments_line
        self._reset()
        return entry

    def _parse_comment(self, body: str) -> None:
        if body.startswith("#~"):
            # The comments above belong to the obsolete entry.
            self.flags, self.flags_line, self.previous_msgid_line = [], None, None
            self.comments_line = None
            return
        if self.comments_line is None:
            self.comments_line = self.number
        if body.startswith(("#,", "#=")):
            self.flags += [flag.strip() for flag in body[2:].split(",") if flag.strip()]
            if body[1] == "," and self.flags_line is None:
                self.flags_line = self.number
        elif body.startswith("#|") and self.previous_msgid_line is None:
            self.previous_msgid_line = self.number

    def _parse_keyword(self, body: str) -> None:
        match = KEYWORD.match(body)
        if match is None or (match[2] and match[1] != "msgstr"):
            raise self._error(f"not PO: {body[:60]!r}; expected a comment, msgid, msgstr or a string in quotes")
        self.key, self.form = match[1], int(match[2] or 0)
        if self.entry is None:
            self.entry = PoEntry(self.number if self.previous_msgid_line is None else self.previous_msgid_line)
        entry = self.entry
        values = {"msgctxt": entry.context, "msgid": entry.source, "msgid_plural": entry.plural}
        if self.key == "msgctxt" and entry.source is not None:
            raise self._error(f"msgctxt, but the entry of line {entry.line} has no msgstr yet")
        if values.get(self.key, entry.targets.get(self.form) if self.key == "msgstr" else None) is not None:
            raise self._error(f"a second {body[: match.end()].strip()} in one entry; the one before lacks its msgstr")
        if self.key in ("msgid_plural", "msgstr") and entry.source is None:
            raise self._error(f"{self.key} without a msgid before it")
        if self.key == "msgid":
            entry.line = self.number + 1
        if self.key == "msgstr":
            entry.msgstr_lines[self.form] = (self.number, self.number)
        self._parse_string(body[match.end() :])

    def _parse_string(self, body: str) -> None:
        text, position = "", 0
        while position < len(body):
            match = STRING.match(body, position)
            if match is None:
                raise self._error(f'a quote is missing or not written \\": {body[:60]!r}')
            text, position = text + self._unescape(match[1]), match.end()
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
            entry.msgstr_lines[self.form] = (entry.msgstr_lines[self.form][0], self.number + 1)

    def _unescape(self, text: str) -> str:
        return ESCAPE.sub(lambda match: self._unescape_character(match[1]), text) if "\\" in text else text

    def _unescape_character(self, escape: str) -> str:
        if escape in UNESCAPED:
            return UNESCAPED[escape]
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
        return FormatError(f"{self.path}:{self.number + 1}: {problem}. {CHECK_HINT}")
