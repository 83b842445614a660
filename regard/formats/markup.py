"""XML, safely: TMX and XLIFF of any size in constant memory, and documents whose bytes are preserved.

Nothing outside the file is ever loaded: no DTD, no entity, no URL. A DOCTYPE line is ignored; a file that declares an
entity is refused, since libxml2 with unresolved entities would cut the text at each use of one.
"""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from lxml import etree

from regard.errors import FormatError
from regard.formats import files
from regard.formats.binary import require_text

# Elements whose content is the code of another format (TMX 1.4, XLIFF 1.2) or that have none (XLIFF). They are not
# text, and neither is a <sub> inside of them, which is a text of its own (a footnote, a tool tip), not of the sentence.
# Every other element (hi, g, pc, mrk, …) marks up words of the sentence, which are kept.
CODE_ELEMENTS = frozenset(["bpt", "ept", "it", "ph", "ut", "x", "bx", "ex", "sc", "ec", "sm", "em"])
MAX_DEPTH = 256
SAFE_PARSER_OPTIONS: Mapping[str, Any] = {
    "resolve_entities": False,
    "load_dtd": False,
    "no_network": True,
    "huge_tree": False,
}
TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")
ENCODING_DECLARATION = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before that of UTF-16, with which it begins
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
FIRST_BYTES = {
    b"<\0\0\0": "utf-32-le",
    b"\0\0\0<": "utf-32-be",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
"""Of a document without a byte order mark, which begins with <."""
HEAD_BYTES = 4096
MAX_BYTES_WITHOUT_ELEMENT = 1 << 24
# XML 1.0, section 2.2: characters that a document cannot hold, not even as &#1;.
FORBIDDEN_CHARACTERS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
REPAIR_HINT = "Correct it there, or export the file again from the tool that wrote it."
ENTITIES_HINT = "Entities are not read, for safety: write the characters themselves, or numbers such as &#160;."


def iter_elements(path: Path, root: str, tags: Sequence[str], containers: Sequence[str] = ()) -> Iterator[Any]:
    """Each element with one of the tags once it is complete; it is freed before the next one.

    `containers` are elements that hold such elements; they are freed too, as soon as they end.
    """
    for root_element in _iterparse(path, ("start",)):
        _check_root(root_element, root, path)
        break
    for element in _iterparse(path, ("end",), [f"{{*}}{name}" for name in (*tags, *containers)]):
        if local_name(element) in tags:
            yield element
        _free_element(element)


def _iterparse(path: Path, events: Sequence[str], tags: Sequence[str] | None = None) -> Iterator[Any]:
    with files.open_binary(path) as file:
        reader = _PatientReader(file, path)
        parser: Any = etree.iterparse(
            reader,
            events,
            tag=tags,
            remove_comments=True,
            remove_pis=True,
            encoding=reader.encoding,
            **SAFE_PARSER_OPTIONS,
        )
        try:
            for _, element in parser:
                yield element
                reader.restart()
        except etree.XMLSyntaxError as error:
            raise FormatError(_syntax_error_message(parser.error_log, error, path)) from None


class _PatientReader:
    """Hands a file to libxml2, as UTF-8 if it is UTF-32, which libxml2 takes for UTF-16; and not without end.

    The parser keeps what is outside of the elements that are wanted, so it may read only so much without finding one.
    """

    def __init__(self, file: IO[bytes], path: Path):
        self._file, self._path = file, path
        self._head = file.read(HEAD_BYTES)
        require_text(self._head, path, "XML")
        codec, bom = _detect_codec(self._head[:4])
        self._decoder = codecs.getincrementaldecoder(codec)() if codec.startswith("utf-32") else None
        self._head = self._head[len(bom) :] if self._decoder else self._head
        self.encoding = "utf-8" if self._decoder else None
        self._patience = MAX_BYTES_WITHOUT_ELEMENT

    def restart(self) -> None:
        """An element was found."""
        self._patience = MAX_BYTES_WITHOUT_ELEMENT

    def read(self, size: int) -> bytes:
        raw, self._head = self._head + self._file.read(size), b""
        self._patience -= len(raw)
        if self._patience < 0:
            raise FormatError(
                f"{self._path}: has more than {MAX_BYTES_WITHOUT_ELEMENT:,} bytes without a complete translation unit. "
                f"{REPAIR_HINT}"
            )
        if self._decoder is None:
            return raw
        try:
            text = self._decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            raise FormatError(f"{self._path}: not valid UTF-32 ({error.reason}). {REPAIR_HINT}") from None
        return text.encode()


def local_name(element: Any) -> str:
    """The name of an element without its namespace; empty for an entity."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def children(element: Any, name: str) -> list[Any]:
    """The children of one name."""
    return [child for child in element if local_name(child) == name]


def text_of(element: Any, path: Path) -> str:
    """The text of an element without inline codes; the code of a line break becomes a space."""
    parts = [element.text or ""]
    for child in element:
        name = local_name(child)
        if child.tag is etree.Entity:
            raise FormatError(f"{path}:{element.sourceline}: uses {child.text}, which is not defined. {ENTITIES_HINT}")
        if name == "cp":
            parts.append(_code_point(child, path))
        elif name not in CODE_ELEMENTS:
            parts.append(text_of(child, path))
        elif any((child.get(key) or "").rpartition(":")[2] == "lb" for key in ("type", "ctype", "subType")):
            parts.append(" ")
        parts.append(child.tail or "")
    return "".join(parts)


def _code_point(element: Any, path: Path) -> str:
    """XLIFF 2.0's <cp hex="001A"/>: a character that XML cannot hold."""
    value = element.get("hex") or ""
    if not re.fullmatch(r"[0-9A-Fa-f]{1,6}", value) or not 0 <= int(value, 16) < 0x110000:
        raise FormatError(
            f'{path}:{element.sourceline}: <cp hex="{value}"> is not a character; expected for example hex="001A"'
        )
    # A surrogate is not a character either, and cannot be encoded as UTF-8.
    return "\ufffd" if 0xD800 <= int(value, 16) < 0xE000 else chr(int(value, 16))


def _free_element(element: Any) -> None:
    parent = element.getparent()
    element.clear(keep_tail=False)
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _check_root(root_element: Any, root: str, path: Path) -> None:
    if local_name(root_element) != root:
        raise FormatError(
            f"{path}:{root_element.sourceline}: its root is <{local_name(root_element)}>; expected <{root}>"
        )
    dtd = root_element.getroottree().docinfo.internalDTD
    if dtd is not None and dtd.entities():
        raise FormatError(f"{path}:{_line_of_entity(path)}: declares an entity. {ENTITIES_HINT}")


def _line_of_entity(path: Path) -> int:
    with files.open_binary(path) as file:
        raw = file.read(1 << 20)
    codec, _ = _detect_codec(raw)
    try:
        head = raw.decode(codec, errors="replace")
    except (
        LookupError
    ):  # libxml2 supports encodings that Python does not; line feeds are the same in nearly all of them
        head = raw.decode("latin1")
    for match in re.finditer(r"<!--.*?-->|<!ENTITY", head, re.DOTALL):
        if match[0] == "<!ENTITY":
            return head.count("\n", 0, match.start()) + 1
    return 1


def _syntax_error_message(log: Any, error: etree.XMLSyntaxError, path: Path) -> str:
    # iterparse raises the last error ("no element found"); its log holds the first.
    first = next((entry for entry in log if entry.level_name in ("ERROR", "FATAL")), None)
    line, message = (first.line, first.message) if first is not None else (error.lineno or 1, str(error.msg))
    message = message.strip().partition("\n")[0]  # some messages continue with text of the file
    if first is None and "no element found" in message:
        return f"{path}: is empty or truncated; expected XML. {REPAIR_HINT}"
    if "not defined" in message:
        return f"{path}:{line}: {message}. {ENTITIES_HINT}"
    return f"{path}:{line}: broken XML: {message}. {REPAIR_HINT}"


@dataclass(slots=True)
class XmlNode:
    """An element and its bytes: <name …>children</name> is raw[start:end]."""

    name: str
    attributes: dict[str, str]
    line: int
    start: int
    content_start: int
    """Where the start tag ends."""
    content_end: int = 0
    """Where the end tag starts."""
    end: int = 0
    parent: "XmlNode | None" = None
    children: "list[XmlNode | str]" = field(default_factory=list)

    def children_named(self, name: str) -> "list[XmlNode]":
        """The children of one name."""
        return [child for child in self.children if isinstance(child, XmlNode) and child.name == name]

    def walk(self) -> "Iterator[XmlNode]":
        """This element and its descendants, in document order."""
        yield self
        for child in self.children:
            if isinstance(child, XmlNode):
                yield from child.walk()

    def inherited_attribute(self, attribute: str, default: str) -> str:
        """The value of an attribute on this element or its nearest ancestor that has it."""
        node: XmlNode | None = self
        while node is not None:
            if attribute in node.attributes:
                return node.attributes[attribute]
            node = node.parent
        return default


def parse_tree(raw: bytes, path: Path) -> XmlNode:
    """The elements of a UTF-8 document with their byte offsets, which expat reports and libxml2 does not."""
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    document = XmlNode("", {}, 1, 0, 0)
    stack = [document]

    def on_start(name: str, attributes: dict[str, str]) -> None:
        if len(stack) > MAX_DEPTH:
            raise FormatError(f"{path}:{parser.CurrentLineNumber}: more than {MAX_DEPTH} elements deep. {REPAIR_HINT}")
        offset = parser.CurrentByteIndex
        tag = TAG.match(raw, offset)
        assert tag is not None  # expat has parsed it
        node = XmlNode(
            name.rpartition(":")[2], attributes, parser.CurrentLineNumber, offset, tag.end(), parent=stack[-1]
        )
        stack[-1].children.append(node)
        stack.append(node)

    def on_end(_: str) -> None:
        node = stack.pop()
        self_closing = raw[node.content_start - 2 : node.content_start] == b"/>"
        node.content_end = node.content_start if self_closing else parser.CurrentByteIndex
        node.end = node.content_start if self_closing else raw.index(b">", node.content_end) + 1

    def reject_entity(name: str, *_: object) -> None:
        raise FormatError(f"{path}:{parser.CurrentLineNumber}: declares or uses the entity {name}. {ENTITIES_HINT}")

    parser.StartElementHandler, parser.EndElementHandler = on_start, on_end
    parser.CharacterDataHandler = lambda text: stack[-1].children.append(text)
    parser.EntityDeclHandler = parser.SkippedEntityHandler = reject_entity
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        problem = expat.ErrorString(error.code)
        raise FormatError(f"{path}:{error.lineno}: broken XML: {problem}. {REPAIR_HINT}") from None
    root = next((child for child in document.children if isinstance(child, XmlNode)), None)
    assert root is not None  # expat refuses a document without a root
    root.parent = None
    return root


def decode_document(raw: bytes, path: Path) -> tuple[str, str, bytes]:
    """The text of a document, the codec that restores its bytes, and its byte order mark."""
    require_text(raw, path, "XML")
    codec, bom = _detect_codec(raw)
    body = raw[len(bom) :]
    try:
        text = body.decode(codec)
        if text.encode(codec) != body:
            raise UnicodeError
    except LookupError:
        raise FormatError(f"{path}:1: unknown encoding {codec!r}. Convert the file to UTF-8 first.") from None
    except UnicodeError as error:
        line = body[: getattr(error, "start", 0)].count(b"\n") + 1
        raise FormatError(f"{path}:{line}: not valid {codec}. Convert the file to UTF-8 first.") from None
    return text, codec, bom


def _detect_codec(raw: bytes) -> tuple[str, bytes]:
    """The codec that a document's first bytes declare, and its byte order mark."""
    for bom, codec in BYTE_ORDER_MARKS:
        if raw.startswith(bom):
            return codec, bom
    wide_codec = next((codec for first, codec in FIRST_BYTES.items() if raw.startswith(first)), None)
    declaration = ENCODING_DECLARATION.match(raw)
    return wide_codec or (declaration[1].decode("ascii") if declaration else "utf-8"), b""


def escape_text(text: str) -> str:
    """Text escaped for element content. A bare carriage return would be read back as a line feed."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
