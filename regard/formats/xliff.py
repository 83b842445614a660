"""XLIFF 1.2 and 2.0: what a bilingual file says is translated, and a way to translate the rest.

Reading takes units whose target has words and needs no work:

- 1.2: a target without `state`, or `final`, `signed-off`, `translated`, or one of a tool's own (`x-…`); never `new` or
  `needs-…`. `approved` is not looked at: it tells of a review, not of a translation. `alt-trans` is not read.
- 2.0: a segment in any state but a written `initial` (tools that write targets without a state mean them).
- Units under `translate="no"` are passed over.

Writing fills targets that are empty, or that 1.2 calls `new` or `needs-translation` and 2.0 `initial`, and marks them
as not yet reviewed: `state="needs-review-translation"` in 1.2; in 2.0, which has no such state, `state="translated"`
with `subState="regard:unreviewed"`. So what a machine wrote is not read as a translation until a person moved it on.

A unit that is cut into segments (`<mrk mtype="seg">` in seg-source and in an empty target) is translated segment by
segment, each in its own place.

A segment shows inline elements as numbered tags, `<g1>…</g1>` and `<ph2/>`, which a translation must keep, each once.
They are put back as they stand in the source, byte for byte.
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
from regard.formats.markup import Node
from regard.formats.pair import Pair, Segment

ENDINGS = (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff")
"""Of files that are XLIFF, under the names of some tools too."""
UNREVIEWED_12 = "needs-review-translation"
UNREVIEWED_20 = "regard:unreviewed"
ATTRIBUTE = re.compile(rb"""\s([^\s=/>]+)\s*=\s*(?:"[^"]*"|'[^']*')""")
UNTRANSLATED = ("new", "needs-translation", "initial")


def read(path: Path, source: str = "", target: str = "") -> Iterator[Pair]:
    """The pairs of every translated unit; backwards if the languages are asked for that way round."""
    for unit in markup.units(path, "xliff", ("trans-unit", "unit"), ("group", "file")):
        if _inherited(unit, ("translate",)) == "no":
            continue
        found = _inherited(unit, ("source-language", "srcLang")), _inherited(unit, ("target-language", "trgLang"))
        turned = languages.is_reversed(f"{path}:{unit.sourceline}", (source, target), found)
        for holder in [unit] if markup.local(unit) == "trans-unit" else markup.children(unit, "segment"):
            sides = _sides(holder, path)
            if sides is not None:
                left, right = sides[::-1] if turned else sides
                yield Pair(left, right, f"{path}:{holder.sourceline}")


def _sides(holder: Any, path: Path) -> tuple[str, str] | None:
    """Source and target of a unit (1.2) or segment (2.0), if it is translated."""
    sides = [markup.children(holder, name) for name in ("source", "target")]
    if not sides[0]:
        raise FormatError(f"{path}:{holder.sourceline}: <{markup.local(holder)}> has no <source>. {markup.MEND}")
    if not sides[1]:
        return None
    state = sides[1][0].get("state") or holder.get("state") or ""
    unreviewed = state == "translated" and holder.get("subState") == UNREVIEWED_20
    if unreviewed or state in UNTRANSLATED or state.startswith("needs-"):
        return None
    left, right = (markup.text_of(side[0], path) for side in sides)
    return (left, right) if right.strip() else None


def _inherited(element: Any, names: Sequence[str]) -> str:
    while element is not None:
        for name in names:
            if element.get(name):
                return str(element.get(name))
        element = element.getparent()
    return ""


@dataclass(slots=True)
class Slot:
    """Where the translation of one segment goes."""

    holder: Node
    """The trans-unit (1.2) or segment (2.0)."""
    source: Node
    target: Node | None
    """A <target>, or the <mrk> inside one."""
    tags: dict[str, bytes]
    """What a segment shows for each inline tag, and the bytes that it stands for."""


class XliffDocument:
    """An XLIFF file to be filled: bytes change only where a translation goes."""

    def __init__(self, path: Path, source: str = "", target: str = ""):
        self.path = path
        with files.opened(path) as file:
            text, self._codec, self._mark = markup.decoded(file.read(), path)
        self._raw = text.encode()
        self._root = markup.tree(self._raw, path)
        if self._root.name != "xliff":
            raise FormatError(f"{path}:{self._root.line}: begins with <{self._root.name}>; expected <xliff>")
        self._modern = not self._root.attributes.get("version", "1.2").startswith("1")
        self._target = target
        self._check_languages(source, target)
        self._slots: list[Slot] = []
        self.segments: list[Segment] = []
        for node in self._root.walk():
            if node.name in ("segment", "trans-unit") and node.inherited("translate", "yes") != "no":
                self._add(node)
        self._filled: Sequence[str | None] = [None] * len(self.segments)

    def _check_languages(self, source: str, target: str) -> None:
        keys = ("srcLang", "trgLang") if self._modern else ("source-language", "target-language")
        for node in [self._root] if self._modern else self._root.all("file"):
            found = node.attributes.get(keys[0], ""), node.attributes.get(keys[1], "")
            if languages.is_reversed(f"{self.path}:{node.line}", (source, target), found, languages.MODEL):
                raise FormatError(
                    f"{self.path}:{node.line}: is to be translated from {found[0]} to {found[1]}, not from {source} "
                    f"to {target}. {languages.MODEL}"
                )
            if self._modern and not (found[1] or target):
                raise FormatError(f"{self.path}:{node.line}: names no trgLang. Set data.target, so that it can.")

    def _add(self, holder: Node) -> None:
        source = next(iter(holder.all("source")), None)
        if source is None:
            raise FormatError(f"{self.path}:{holder.line}: <{holder.name}> has no <source>. {markup.MEND}")
        target = next(iter(holder.all("target")), None)
        state = (target.attributes.get("state") if target else "") or holder.attributes.get("state", "")
        if state not in UNTRANSLATED and target is not None and not _is_blank(target):
            return
        for piece, place in _cut(holder, target) or [(source, target)]:
            self._add_piece(holder, piece, place)

    def _add_piece(self, holder: Node, source: Node, target: Node | None) -> None:
        words = "".join(_words(source))
        if words.strip():
            shown, tags = _shown(source, self._raw, words)
            unit = holder if holder.name == "trans-unit" else holder.parent or holder
            context = unit.attributes.get("resname") or unit.attributes.get("name") or unit.attributes.get("id", "")
            self._slots.append(Slot(holder, source, target, tags))
            line = source.line if source.name == "mrk" else holder.line
            self.segments.append(Segment(shown, f"{self.path}:{line}", context))

    def fill(self, translations: Sequence[str | None]) -> None:
        """The translation of each segment, or None where there is none."""
        for segment, slot, text in zip(self.segments, self._slots, translations, strict=True):
            if text:
                _put(text, slot.tags, segment.note)
        self._filled = translations

    def objection(self, number: int, text: str) -> str:
        """Why a text cannot stand here."""
        try:
            _put(text, self._slots[number].tags, "")
        except FormatError as error:
            return str(error).removeprefix(": its translation ").removesuffix(" Leave it out.")
        return ""

    def write(self, out: Path) -> None:
        """The document with its translations."""
        edits: list[tuple[int, int, bytes]] = []
        for segment, slot, text in zip(self.segments, self._slots, self._filled, strict=True):
            if text:
                edits += self._edits(slot, _put(text, slot.tags, segment.note))
        if edits and self._target:
            edits += self._name_target()
        written, at = [], 0
        for start, end, new in sorted(set(edits), key=lambda edit: edit[:2]):
            written += [self._raw[at:start], new]
            at = end
        text = b"".join([*written, self._raw[at:]]).decode()
        # What the file's own encoding lacks is written as a number, which every reader of XML knows.
        files.write(out, self._mark + text.encode(self._codec, "xmlcharrefreplace"))

    def _edits(self, slot: Slot, content: bytes) -> Iterator[tuple[int, int, bytes]]:
        raw, source = self._raw, slot.source
        written = re.split(rb"[\s/>]", raw[source.start + 1 : source.inner], maxsplit=1)[0]
        name = written.removesuffix(b"source") + b"target"  # with the file's own prefix
        state = {} if self._modern else {"state": UNREVIEWED_12}
        if self._modern:
            opening = raw[slot.holder.start : slot.holder.inner]
            marks = {"state": "translated", "subState": UNREVIEWED_20}
            yield slot.holder.start, slot.holder.inner, _with(opening, marks)
        if slot.target is not None and slot.target.name == "mrk":
            parent = slot.target.parent
            assert parent is not None
            yield parent.start, parent.inner, _with(raw[parent.start : parent.inner], state)
            yield slot.target.start, slot.target.end, _around(raw[slot.target.start : slot.target.inner], content)
            return
        if slot.target is not None:
            opening = re.sub(rb"\s*/>$", b">", raw[slot.target.start : slot.target.inner])
            yield slot.target.start, slot.target.end, _with(opening, state) + content + b"</" + name + b">"
            return
        after = max([source, *slot.holder.all("seg-source")], key=lambda node: node.end).end
        new = _with(b"<" + name + b">", state) + content + b"</" + name + b">"
        yield after, after, _indent(raw, source.start) + new

    def _name_target(self) -> Iterator[tuple[int, int, bytes]]:
        key = "trgLang" if self._modern else "target-language"
        for node in [self._root] if self._modern else self._root.all("file"):
            if key not in node.attributes:
                yield node.start, node.inner, _with(self._raw[node.start : node.inner], {key: self._target})


def _is_blank(target: Node) -> bool:
    """Whether nothing stands in a target, or only the places where segments will."""
    return all(
        child.name == "mrk" and _is_blank(child) if isinstance(child, Node) else not child.strip()
        for child in target.children
    )


def _cut(unit: Node, target: Node | None) -> list[tuple[Node, Node | None]]:
    """The segments of a unit that was cut, and the place of each in its empty target; none if they do not match."""
    whole = next(iter(unit.all("seg-source")), None)
    if whole is None or target is None:
        return []
    sources, places = (
        {node.attributes.get("mid", ""): node for node in side.walk() if node.attributes.get("mtype") == "seg"}
        for side in (whole, target)
    )
    return [(node, places[mid]) for mid, node in sources.items()] if sources.keys() == places.keys() else []


def _around(opening: bytes, content: bytes) -> bytes:
    """An element of which the start tag is given, with other content."""
    name = re.split(rb"[\s/>]", opening[1:], maxsplit=1)[0]
    return re.sub(rb"\s*/>$", b">", opening) + content + b"</" + name + b">"


def _words(node: Node) -> Iterator[str]:
    for child in node.children:
        if isinstance(child, str):
            yield child
        elif not _is_whole(child):
            yield from _words(child)


def _is_whole(node: Node) -> bool:
    """Whether a tag travels with all that is inside: codes, what may not be translated, and what is empty."""
    protected = node.attributes.get("translate") == "no" or node.attributes.get("mtype") == "protected"
    return node.name in markup.CODES or protected or not node.children


def _shown(source: Node, raw: bytes, words: str) -> tuple[str, dict[str, bytes]]:
    """A source with numbered tags, and what each of them stands for."""
    tags: dict[str, bytes] = {}
    numbers, extra = count(1), ""
    names = {node.name for node in source.walk()}
    while any(re.search(rf"</?{re.escape(name)}\d+{extra}/?>", words) for name in names):
        extra += "x"  # words that look like our tags, so ours look otherwise

    def show(node: Node) -> Iterator[str]:
        for child in node.children:
            if isinstance(child, str):
                yield child
                continue
            label = f"{child.name}{next(numbers)}{extra}"
            if _is_whole(child):
                tags[f"<{label}/>"] = raw[child.start : child.end]
                yield f"<{label}/>"
            else:
                tags[f"<{label}>"] = raw[child.start : child.inner]
                yield f"<{label}>"
                yield from show(child)
                tags[f"</{label}>"] = raw[child.close : child.end]
                yield f"</{label}>"

    return "".join(show(source)), tags


def _put(text: str, tags: dict[str, bytes], note: str) -> bytes:
    """A translation as it stands in the file."""
    bad = markup.FORBIDDEN.search(text)
    if bad:
        raise FormatError(f"{note}: its translation has U+{ord(bad[0]):04X}, which XML cannot hold. Leave it out.")
    pieces = re.split("(" + "|".join(map(re.escape, tags)) + ")", text) if tags else [text]
    seen = Counter(pieces[1::2])
    still_open: list[str] = []
    for tag in pieces[1::2]:
        if tag.startswith("</"):
            if not still_open or still_open.pop() != tag.replace("</", "<"):
                raise FormatError(
                    f"{note}: its translation closes {tag} where nothing of the kind is open. Leave it out."
                )
        elif not tag.endswith("/>"):
            still_open.append(tag)
    for tag in tags:
        if seen[tag] != 1:
            raise FormatError(f"{note}: its translation has {tag} {seen[tag]} times; expected once. Leave it out.")
    return b"".join(tags[piece] if place % 2 else markup.escaped(piece).encode() for place, piece in enumerate(pieces))


def _indent(raw: bytes, at: int) -> bytes:
    """The line end and the white space that lead to a tag, if it is the first thing on its line."""
    line = raw.rfind(b"\n", 0, at)
    if line < 0 or raw[line:at].strip():
        return b""
    return raw[line - (raw[line - 1 : line] == b"\r") : at]


def _with(tag: bytes, attributes: dict[str, str]) -> bytes:
    """A start tag with some attributes set; the others stay as they are written."""
    for name, value in attributes.items():
        new = name.encode() + b'="' + markup.escaped(value).replace('"', "&quot;").encode() + b'"'
        found = next((match for match in ATTRIBUTE.finditer(tag) if match[1] == name.encode()), None)
        if found is not None:
            tag = tag[: found.start(1)] + new + tag[found.end() :]
        else:
            opening, end = re.split(rb"(?=\s*/?>\Z)", tag, maxsplit=1)
            tag = opening + b" " + new + end
    return tag
