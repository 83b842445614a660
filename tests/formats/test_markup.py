"""XML in every encoding, not without end, and errors at their line."""

import codecs
from pathlib import Path

import pytest

from regard.errors import FormatError
from regard.formats import markup


def put(tmp_path: Path, raw: bytes) -> Path:
    path = tmp_path / "x.xml"
    path.write_bytes(raw)
    return path


def test_only_so_much_is_read_without_an_element(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    limit = 1 << 17
    monkeypatch.setattr(markup, "MAX_BYTES_WITHOUT_ELEMENT", limit)
    element = b"<u>" + b"x" * 100 + b"</u>"
    many = put(tmp_path, b"<r>" + element * (4 * limit // len(element)) + b"</r>")
    assert sum(1 for _ in markup.iter_elements(many, "r", ["u"])) == 4 * limit // len(element)
    late = put(tmp_path, b"<r>" + b" " * 2 * limit + element + b"</r>")
    with pytest.raises(
        FormatError, match=rf"x\.xml: has more than {limit:,} bytes without a complete translation unit"
    ):
        list(markup.iter_elements(late, "r", ["u"]))


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "latin1"])
@pytest.mark.parametrize("mark", [False, True])
def test_a_document_is_decoded_and_its_bytes_are_restored(codec: str, mark: bool):
    bom = {"utf-8": codecs.BOM_UTF8, "latin1": b""}.get(codec) or (
        getattr(codecs, f"BOM_{codec.upper().replace('-', '_').replace('UTF_', 'UTF')}") if codec != "latin1" else b""
    )
    body = f"<?xml version='1.0' encoding='{codec}'?><r>é</r>"
    raw = (bom if mark else b"") + body.encode(codec)
    text, found, found_bom = markup.decode_document(raw, Path("x"))
    assert text == body and found_bom + text.encode(found) == raw and found_bom == (bom if mark else b"")


def test_bytes_that_cannot_be_decoded_or_restored_are_named_by_line():
    head = b"<?xml version='1.0' encoding='%s'?>\n"
    for raw, message in (
        (head % b"utf-8" + b"<r>\n\xe9</r>", "x:3: not valid utf-8. Convert the file to UTF-8 first."),
        (b"\n" + head % b"utf-7" + b"<r>+AGE-</r>", "x:1: not valid utf-7. Convert the file to UTF-8 first."),
        (head % b"klingon" + b"<r/>", "x:1: unknown encoding 'klingon'. Convert the file to UTF-8 first."),
    ):
        with pytest.raises(FormatError) as error:
            markup.decode_document(raw, Path("x"))
        assert str(error.value) == message


def test_an_entity_is_named_by_the_line_of_its_declaration(tmp_path: Path):
    content = "<!DOCTYPE r [\n<!-- <!ENTITY no 'x'> -->\n<!ENTITY a 'b'>]>\n<r><u/></r>"
    for raw in (content.encode(), content.encode("utf-16"), content.encode("utf-32")):
        with pytest.raises(FormatError, match=r"x\.xml:3: declares an entity"):
            list(markup.iter_elements(put(tmp_path, raw), "r", ["u"]))
    other = b"<?xml version='1.0' encoding='EBCDIC-CP-HE'?>\n<r/>"
    assert markup._line_of_entity(put(tmp_path, other)) == 1  # none is found


def test_elements_know_their_bytes_lines_and_parents():
    raw = b'<r a="1">\n <s b=">"/>t<x:u\n>v</x:u ></r>'
    root = markup.parse_tree(raw, Path("x"))
    s, u = (child for child in root.children if isinstance(child, markup.XmlNode))
    assert [raw[node.start : node.end] for node in (s, u)] == [b'<s b=">"/>', b"<x:u\n>v</x:u >"]
    assert raw[u.content_start : u.content_end] == b"v" and s.content_start == s.content_end == s.end
    assert (root.line, s.line, u.line, u.name, root.start, root.end) == (1, 2, 2, "u", 0, len(raw))
    assert raw[root.content_start : root.content_end] == raw[9:-4] and root.parent is None and u.parent is root
    assert list(root.walk()) == [root, s, u] and root.children_named("s") == [s]
    assert "".join(c for c in root.children if isinstance(c, str)) == "\n t"
    assert [u.inherited_attribute(name, "d") for name in "ab"] == ["1", "d"] and s.inherited_attribute("b", "d") == ">"


@pytest.mark.parametrize("depth", [markup.MAX_DEPTH, markup.MAX_DEPTH + 1])
def test_elements_are_so_deep_at_most(depth: int):
    raw = b"<a>" * depth + b"</a>" * depth
    if depth <= markup.MAX_DEPTH:
        assert len(list(markup.parse_tree(raw, Path("x")).walk())) == depth
    else:
        with pytest.raises(FormatError, match=f"x:1: more than {markup.MAX_DEPTH} elements deep"):
            markup.parse_tree(raw, Path("x"))


def test_text_is_escaped_so_that_it_is_read_again():
    text = "a & b < c > d \r e &amp; \" '"
    assert (
        "".join(map(str, markup.parse_tree(f"<r>{markup.escape_text(text)}</r>".encode(), Path("x")).children)) == text
    )


@pytest.mark.parametrize(
    ("value", "char"),
    [("1A", "\x1a"), ("0", "\0"), ("10FFFF", "\U0010ffff"), ("D7FF", "\ud7ff"), ("D800", "\ufffd"), ("DFFF", "\ufffd"),
     ("E000", "\ue000"), ("110000", None), ("", None), ("x", None), ("0000001", None)],
)  # fmt: skip
def test_a_code_point_is_a_character_of_unicode(tmp_path: Path, value: str, char: str | None):
    path = put(tmp_path, f'<r>\n<u>a<cp hex="{value}"/>b</u></r>'.encode())
    (element,) = (markup.text_of(e, path) for e in markup.iter_elements(path, "r", ["u"])) if char else (None,)
    if char is not None:
        assert element == f"a{char}b"
    else:
        with pytest.raises(FormatError, match=rf'x\.xml:2: <cp hex="{value}"> is not a character'):
            [markup.text_of(e, path) for e in markup.iter_elements(path, "r", ["u"])]
