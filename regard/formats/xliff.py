"""XLIFF 1.2 and 2.0: reading translated units, and filling in untranslated ones.

Reading takes units whose target has text and needs no work:

- 1.2: a target without `state`, or `final`, `signed-off`, `translated`, or one of a tool's own (`x-…`); never `new` or
  `needs-…`. `approved` is ignored: it marks a review, not a translation. `alt-trans` is not read.
- 2.0: a segment in any state but a written `initial` (tools that write targets without a state mean them as final).
- Units under `translate="no"` are skipped.

Writing fills targets that are empty, or that 1.2 calls `new` or `needs-translation` and 2.0 `initial`, and marks them
as not yet reviewed: `state="needs-review-translation"` in 1.2; in 2.0, which has no such state, `state="translated"`
with `subState="regard:unreviewed"`. So a machine translation is not read as a translation until it has been reviewed.
A note to the reviewer becomes a `<note>`.

A unit that is split into segments (`<mrk mtype="seg">` in seg-source and in an empty target) is translated segment by
segment, each in its own `<mrk>`.

A segment shows inline elements as numbered tags, `<g1>…</g1>` and `<ph2/>`, which a translation must keep, each once.
They are restored as they are in the source, byte for byte.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from regard.errors import FormatError
from regard.formats import files, languages, markup
from regard.formats.markup import XmlNode
from regard.formats.pair import Pair, Segment

SUFFIXES = (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff")
"""Suffixes of XLIFF files, those of some tools included."""
UNREVIEWED_12 = "needs-review-translation"
UNREVIEWED_20 = "regard:unreviewed"
ATTRIBUTE = re.compile(rb"""\s([^\s=/>]+)\s*=\s*(?:"[^"]*"|'[^']*')""")
UNTRANSLATED_STATES = ("new", "needs-translation", "initial")


def read(path: Path, source: str = "", target: str = "") -> Iterator[Pair]:
    """The pairs of every translated unit; swapped if the languages are requested in the other direction."""
    for unit in markup.iter_elements(path, "xliff", ("trans-unit", "unit"), ("group", "file")):
        if _inherited_attribute(unit, ("translate",)) == "no":
            continue
        declared = (
            _inherited_attribute(unit, ("source-language", "srcLang")),
            _inherited_attribute(unit, ("target-language", "trgLang")),
        )
        swapped = languages.is_reversed(f"{path}:{unit.sourceline}", (source, target), declared)
        for holder in [unit] if markup.local_name(unit) == "trans-unit" else markup.children(unit, "segment"):
            sides = _source_and_target(holder, path)
            if sides is not None:
                left, right = sides[::-1] if swapped else sides
                yield Pair(left, right, f"{path}:{holder.sourceline}")


def _source_and_target(holder: Any, path: Path) -> tuple[str, str] | None:
    """Source and target of a unit (1.2) or segment (2.0), if it is translated."""
    sides = [markup.children(holder, name) for name in ("source", "target")]
    if not sides[0]:
        raise FormatError(
            f"{path}:{holder.sourceline}: <{markup.local_name(holder)}> has no <source>. {markup.REPAIR_HINT}"
        )
    if not sides[1]:
        return None
    state = sides[1][0].get("state") or holder.get("state") or ""
    unreviewed = state == "translated" and holder.get("subState") == UNREVIEWED_20
    if unreviewed or state in UNTRANSLATED_STATES or state.startswith("needs-"):
        return None
    left, right = (markup.text_of(side[0], path) for side in sides)
    return (left, right) if right.strip() else None


def _inherited_attribute(element: Any, names: Sequence[str]) -> str:
    while element is not None:
        for name in names:
            if element.get(name):
                return str(element.get(name))
        element = element.getparent()
    return ""


@dataclass(slots=True)
class TranslationSlot:
    """Where the translation of one segment is written."""

    holder: XmlNode
    """The trans-unit (1.2) or segment (2.0)."""
    source: XmlNode
    target: XmlNode | None
    """A <target>, or the <mrk> inside one."""
    tags: dict[str, bytes]
    """The numbered tags of a segment, and the bytes of their inline elements."""


class XliffDocument:
    """An XLIFF file to be translated: bytes change only where a translation is written."""

    def __init__(self, path: Path, source: str = "", target: str = ""):
        self.path = path
        text, self._codec, self._bom = markup.decode_document(files.read_document(path), path)
        self._raw = text.encode()
        self._root = markup.parse_tree(self._raw, path)
        if self._root.name != "xliff":
            raise FormatError(f"{path}:{self._root.line}: its root is <{self._root.name}>; expected <xliff>")
        self._is_version_2 = not self._root.attributes.get("version", "1.2").startswith("1")
        self._target = target
        self._check_languages(source, target)
        self._slots: list[TranslationSlot] = []
        self.segments: list[Segment] = []
        for node in self._root.walk():
            if node.name in ("segment", "trans-unit") and node.inherited_attribute("translate", "yes") != "no":
                self._add_unit(node)
        self._translations: Sequence[str | None] = [None] * len(self.segments)
        self._notes: Sequence[str] = [""] * len(self.segments)

    def _check_languages(self, source: str, target: str) -> None:
        keys = ("srcLang", "trgLang") if self._is_version_2 else ("source-language", "target-language")
        for node in [self._root] if self._is_version_2 else self._root.children_named("file"):
            declared = node.attributes.get(keys[0], ""), node.attributes.get(keys[1], "")
            if languages.is_reversed(f"{self.path}:{node.line}", (source, target), declared, languages.MODEL_REMEDY):
                raise FormatError(
                    f"{self.path}:{node.line}: is to be translated from {declared[0]} to {declared[1]}, not from "
                    f"{source} to {target}. {languages.MODEL_REMEDY}"
                )
            if self._is_version_2 and not (declared[1] or target):
                raise FormatError(f"{self.path}:{node.line}: has no trgLang. Set data.target, which is written there.")

    def _add_unit(self, holder: XmlNode) -> None:
        source = next(iter(holder.children_named("source")), None)
        if source is None:
            raise FormatError(f"{self.path}:{holder.line}: <{holder.name}> has no <source>. {markup.REPAIR_HINT}")
        target = next(iter(holder.children_named("target")), None)
        state = (target.attributes.get("state") if target else "") or holder.attributes.get("state", "")
        if state not in UNTRANSLATED_STATES and target is not None and not _is_blank(target):
            return
        for segment_source, segment_target in _split_segments(holder, target) or [(source, target)]:
            self._add_segment(holder, segment_source, segment_target)

    def _add_segment(self, holder: XmlNode, source: XmlNode, target: XmlNode | None) -> None:
        source_text = "".join(_iter_text(source))
        if source_text.strip():
            tagged_text, tags = _tag_source(source, self._raw, source_text)
            unit = holder if holder.name == "trans-unit" else holder.parent or holder
            context = unit.attributes.get("resname") or unit.attributes.get("name") or unit.attributes.get("id", "")
            self._slots.append(TranslationSlot(holder, source, target, tags))
            line = source.line if source.name == "mrk" else holder.line
            self.segments.append(Segment(tagged_text, f"{self.path}:{line}", context))

    def fill(self, translations: Sequence[str | None]) -> None:
        """Set the translation of each segment, or None."""
        for segment, slot, text in zip(self.segments, self._slots, translations, strict=True):
            if text:
                _render_translation(text, slot.tags, segment.location)
        self._translations = translations

    def annotate(self, notes: Sequence[str]) -> None:
        """Set the note of each segment, which becomes a <note> of its unit, or ""."""
        self._notes = notes

    def check_segment(self, number: int, text: str) -> str:
        """Why a text cannot be written here."""
        try:
            _render_translation(text, self._slots[number].tags, "")
        except FormatError as error:
            return str(error).removeprefix(": its translation ").removesuffix(" Leave it out.")
        return ""

    def write(self, out: Path) -> None:
        """Write the document with its translations."""
        edits: list[tuple[int, int, bytes]] = []
        for segment, slot, text in zip(self.segments, self._slots, self._translations, strict=True):
            if text:
                edits += self._edits(slot, _render_translation(text, slot.tags, segment.location))
        if edits and self._target:
            edits += self._target_language_edits()
        edits = merge_insertions([*edits, *self._note_edits()])
        chunks, position = [], 0
        for start, end, new in edits:
            chunks += [self._raw[position:start], new]
            position = end
        text = b"".join([*chunks, self._raw[position:]]).decode()
        # Characters that the file's own encoding lacks become numeric references, which every XML parser reads.
        files.write(out, self._bom + text.encode(self._codec, "xmlcharrefreplace"))

    def _edits(self, slot: TranslationSlot, content: bytes) -> Iterator[tuple[int, int, bytes]]:
        raw, source = self._raw, slot.source
        source_tag = re.split(rb"[\s/>]", raw[source.start + 1 : source.content_start], maxsplit=1)[0]
        name = source_tag.removesuffix(b"source") + b"target"  # with the file's own prefix
        state = {} if self._is_version_2 else {"state": UNREVIEWED_12}
        if self._is_version_2:
            opening = raw[slot.holder.start : slot.holder.content_start]
            attributes = {"state": "translated", "subState": UNREVIEWED_20}
            yield slot.holder.start, slot.holder.content_start, _set_attributes(opening, attributes)
        if slot.target is not None and slot.target.name == "mrk":
            parent = slot.target.parent
            assert parent is not None
            yield parent.start, parent.content_start, _set_attributes(raw[parent.start : parent.content_start], state)
            yield (
                slot.target.start,
                slot.target.end,
                _replace_content(raw[slot.target.start : slot.target.content_start], content),
            )
            return
        if slot.target is not None:
            opening = re.sub(rb"\s*/>$", b">", raw[slot.target.start : slot.target.content_start])
            yield slot.target.start, slot.target.end, _set_attributes(opening, state) + content + b"</" + name + b">"
            return
        insert_at = max([source, *slot.holder.children_named("seg-source")], key=lambda node: node.end).end
        new = _set_attributes(b"<" + name + b">", state) + content + b"</" + name + b">"
        yield insert_at, insert_at, _indent(raw, source.start) + new

    def _note_edits(self) -> Iterator[tuple[int, int, bytes]]:
        """The notes of units whose translations have one: after the target (1.2), or in <notes> (2.0)."""
        notes: dict[int, list[bytes]] = {}
        units: dict[int, tuple[XmlNode, bytes]] = {}
        for slot, text, note in zip(self._slots, self._translations, self._notes, strict=True):
            if text and note:
                opening = self._raw[slot.holder.start + 1 : slot.holder.content_start]
                prefix = re.split(rb"[\s/>]", opening, maxsplit=1)[0].removesuffix(slot.holder.name.encode())
                unit = slot.holder if slot.holder.name == "trans-unit" else slot.holder.parent or slot.holder
                attribute = b'category="regard"' if self._is_version_2 else b'from="regard"'
                content = markup.escape_text(note).encode()
                element = b"<" + prefix + b"note " + attribute + b">" + content + b"</" + prefix + b"note>"
                units[unit.start] = (unit, prefix)
                notes.setdefault(unit.start, []).append(element)
        for start, (unit, prefix) in units.items():
            elements = b"".join(dict.fromkeys(notes[start]))
            yield (
                self._insert_notes_20(unit, prefix, elements)
                if self._is_version_2
                else _insert_notes_12(unit, elements)
            )

    def _insert_notes_20(self, unit: XmlNode, prefix: bytes, elements: bytes) -> tuple[int, int, bytes]:
        """At the end of <notes>, or of a new one where the schema has its place: before the data and the segments."""
        existing = next(iter(unit.children_named("notes")), None)
        if existing is not None and existing.content_end > existing.content_start:
            return existing.content_end, existing.content_end, elements
        new = b"<" + prefix + b"notes>" + elements + b"</" + prefix + b"notes>"
        if existing is not None:
            return existing.start, existing.end, new
        following = [node for name in ("originalData", "segment", "ignorable") for node in unit.children_named(name)]
        first = min(following, key=lambda node: node.start).start
        return first, first, new + _indent(self._raw, first)

    def _target_language_edits(self) -> Iterator[tuple[int, int, bytes]]:
        key = "trgLang" if self._is_version_2 else "target-language"
        for node in [self._root] if self._is_version_2 else self._root.children_named("file"):
            if key not in node.attributes:
                yield (
                    node.start,
                    node.content_start,
                    _set_attributes(self._raw[node.start : node.content_start], {key: self._target}),
                )


def _insert_notes_12(unit: XmlNode, elements: bytes) -> tuple[int, int, bytes]:
    """After the target, or where a new one is inserted."""
    before = [node for name in ("source", "seg-source", "target") for node in unit.children_named(name)]
    end = max(node.end for node in before)
    return end, end, elements


def merge_insertions(edits: Sequence[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """Edits in order, each once. What is inserted at one position is joined in the order of the edits."""
    merged: dict[tuple[int, int], bytes] = {}
    for start, end, new in dict.fromkeys(edits):
        merged[start, end] = merged.get((start, end), b"") + new
    return [(start, end, new) for (start, end), new in sorted(merged.items())]


def _is_blank(target: XmlNode) -> bool:
    """Whether a target is empty, or holds only empty segments."""
    return all(
        child.name == "mrk" and _is_blank(child) if isinstance(child, XmlNode) else not child.strip()
        for child in target.children
    )


def _split_segments(unit: XmlNode, target: XmlNode | None) -> list[tuple[XmlNode, XmlNode | None]]:
    """The segments of a split unit, each with its <mrk> in the empty target; none if they do not match."""
    seg_source = next(iter(unit.children_named("seg-source")), None)
    if seg_source is None or target is None:
        return []
    sources, targets = (
        {node.attributes.get("mid", ""): node for node in side.walk() if node.attributes.get("mtype") == "seg"}
        for side in (seg_source, target)
    )
    return [(node, targets[mid]) for mid, node in sources.items()] if sources.keys() == targets.keys() else []


def _replace_content(opening: bytes, content: bytes) -> bytes:
    """An element with this start tag and new content."""
    name = re.split(rb"[\s/>]", opening[1:], maxsplit=1)[0]
    return re.sub(rb"\s*/>$", b">", opening) + content + b"</" + name + b">"


def _iter_text(node: XmlNode) -> Iterator[str]:
    for child in node.children:
        if isinstance(child, str):
            yield child
        elif not _is_opaque(child):
            yield from _iter_text(child)


def _is_opaque(node: XmlNode) -> bool:
    """Whether an element is one tag with all its content: codes, protected text, and empty elements."""
    protected = node.attributes.get("translate") == "no" or node.attributes.get("mtype") == "protected"
    return node.name in markup.CODE_ELEMENTS or protected or not node.children


def _tag_source(source: XmlNode, raw: bytes, source_text: str) -> tuple[str, dict[str, bytes]]:
    """A source with numbered tags, and the bytes of each tag."""
    tags: dict[str, bytes] = {}
    numbers, suffix = count(1), ""
    names = {node.name for node in source.walk()}
    while any(re.search(rf"</?{re.escape(name)}\d+{suffix}/?>", source_text) for name in names):
        suffix += "x"  # the text contains such tags, so Regard's get a suffix

    def render(node: XmlNode) -> Iterator[str]:
        for child in node.children:
            if isinstance(child, str):
                yield child
                continue
            label = f"{child.name}{next(numbers)}{suffix}"
            if _is_opaque(child):
                tags[f"<{label}/>"] = raw[child.start : child.end]
                yield f"<{label}/>"
            else:
                tags[f"<{label}>"] = raw[child.start : child.content_start]
                yield f"<{label}>"
                yield from render(child)
                tags[f"</{label}>"] = raw[child.content_end : child.end]
                yield f"</{label}>"

    return "".join(render(source)), tags


def _render_translation(text: str, tags: dict[str, bytes], location: str) -> bytes:
    """A translation as bytes of the file."""
    forbidden = markup.FORBIDDEN_CHARACTERS.search(text)
    if forbidden:
        raise FormatError(
            f"{location}: its translation has U+{ord(forbidden[0]):04X}, which XML cannot hold. Leave it out."
        )
    parts = re.split("(" + "|".join(map(re.escape, tags)) + ")", text) if tags else [text]
    tag_counts = Counter(parts[1::2])
    open_tags: list[str] = []
    for tag in parts[1::2]:
        if tag.startswith("</"):
            if not open_tags or open_tags.pop() != tag.replace("</", "<"):
                raise FormatError(f"{location}: its translation closes {tag}, which is not open. Leave it out.")
        elif not tag.endswith("/>"):
            open_tags.append(tag)
    for tag in tags:
        if tag_counts[tag] != 1:
            raise FormatError(
                f"{location}: its translation has {tag} {tag_counts[tag]} times; expected once. Leave it out."
            )
    return b"".join(tags[part] if index % 2 else markup.escape_text(part).encode() for index, part in enumerate(parts))


def _indent(raw: bytes, position: int) -> bytes:
    """The line end and the white space before a tag, if it is the first on its line."""
    line = raw.rfind(b"\n", 0, position)
    if line < 0 or raw[line:position].strip():
        return b""
    return raw[line - (raw[line - 1 : line] == b"\r") : position]


def _set_attributes(tag: bytes, attributes: dict[str, str]) -> bytes:
    """A start tag with some attributes set; the others are preserved."""
    for name, value in attributes.items():
        new = name.encode() + b'="' + markup.escape_text(value).replace('"', "&quot;").encode() + b'"'
        existing = next((match for match in ATTRIBUTE.finditer(tag) if match[1] == name.encode()), None)
        if existing is not None:
            tag = tag[: existing.start(1)] + new + tag[existing.end() :]
        else:
            opening, end = re.split(rb"(?=\s*/?>\Z)", tag, maxsplit=1)
            tag = opening + b" " + new + end
    return tag
