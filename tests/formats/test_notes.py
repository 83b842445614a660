"""Notes of a translation stand where its format has a place for them, each once, and only beside a translation."""

import pytest
from lxml import etree

from regard.formats import open_document, read_pairs
from tests.formats.test_xliff import NS12, new, old, put, segment, unit


def annotated(tmp_path, content, translations, notes, name="x.xlf"):
    document = open_document(put(tmp_path, content, name), "en", "fr")
    document.fill(translations)
    document.annotate(notes)
    document.write(tmp_path / f"out-{name}")
    return (tmp_path / f"out-{name}").read_text(encoding="utf-8")


def notes_of(text):
    """The name of each unit, the children of it in order, and the texts of its notes."""
    found = {}
    for node in etree.fromstring(text.encode()).iter("{*}trans-unit", "{*}unit"):
        children = [etree.QName(child).localname for child in node]
        found[node.get("id")] = (children, [note.text for note in node.iter("{*}note")])
    return found


def test_the_first_version_has_notes_after_the_target(tmp_path):
    units = [unit(text).replace('id="1"', f'id="{text}"') for text in "abc"]
    units[1] = units[1].replace("</trans-unit>", "<target/><note>old</note></trans-unit>")
    text = annotated(tmp_path, old(*units), ["A", "B", None], ["short & wrong", "numbers", "never said"])
    assert notes_of(text) == {
        "a": (["source", "target", "note"], ["short & wrong"]),
        "b": (["source", "target", "note", "note"], ["numbers", "old"]),
        "c": (["source"], []),
    }
    assert text.count('<note from="regard">') == 2


def test_notes_have_the_prefix_of_their_file(tmp_path):
    inside = "<x:file><x:trans-unit id='1'><x:source>a</x:source></x:trans-unit></x:file>"
    content = f'<x:xliff xmlns:x="{NS12}" version="1.2">{inside}</x:xliff>'
    text = annotated(tmp_path, content, ["b"], ["short"])
    assert '</x:target><x:note from="regard">short</x:note></x:trans-unit>' in text


def test_a_target_of_empty_segments_is_untranslated_and_one_with_a_code_is_not(tmp_path):
    for target, count in (
        ("<target/>", 1),
        ("<target> \n</target>", 1),
        ('<target><mrk mtype="seg" mid="0"/></target>', 1),
        ('<target><mrk mtype="seg" mid="0">x</mrk></target>', 0),
        ('<target><x id="1"/></target>', 0),
        ("<target>x</target>", 0),
    ):
        assert len(open_document(put(tmp_path, old(unit("a", target))), "en", "fr").segments) == count, target


@pytest.mark.parametrize("existing", ["", "<notes/>", "<notes><note>old</note></notes>"])
def test_the_second_version_has_notes_before_its_segments(tmp_path, existing: str):
    content = new(existing + segment("a") + segment("b"), segment("c"))
    text = annotated(tmp_path, content, ["A", "B", "C"], ["one", "two", ""])
    old_notes = ["old"] if "old" in existing else []
    assert notes_of(text) == {
        "u0": (["notes", "segment", "segment"], [*old_notes, "one", "two"]),
        "u1": (["segment"], []),
    }
    assert text.count('<note category="regard">') == 2
    same = annotated(tmp_path, content, ["A", "B", "C"], ["one", "one", ""])
    assert notes_of(same)["u0"][1] == [*old_notes, "one"]


PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: nplurals=2; plural=n>1;\\n"

# a comment
#: place
msgid "a"
msgstr ""

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid "c"
msgstr ""
"""


def test_po_has_notes_as_comments_before_the_entry(tmp_path):
    text = annotated(tmp_path, PO, ["A", "%d un", "%d deux", None], ["short", "one", "two", "never said"], "x.po")
    expected = (
        PO.replace("# a comment\n", "# regard: short\n# a comment\n")
        .replace('#: place\nmsgid "a"\nmsgstr ""', '#: place\n#, fuzzy\nmsgid "a"\nmsgstr "A"')
        .replace('msgid "%d file"', '# regard: one; two\n#, fuzzy\nmsgid "%d file"')
        .replace('msgstr[0] ""', 'msgstr[0] "%d un"')
        .replace('msgstr[1] ""', 'msgstr[1] "%d deux"')
    )
    assert text == expected
    same = annotated(tmp_path, PO, ["A", "%d un", "%d deux", None], ["", "one", "one", ""], "x.po")
    assert same.count("# regard:") == 1 and "# regard: one\n" in same


def test_what_cannot_be_written_is_known_before(tmp_path):
    document = open_document(put(tmp_path, old(unit('x <g id="1">y</g>'))), "en", "fr")
    assert document.segments[0].source == "x <g1>y</g1>"
    assert document.check_segment(0, "<g1>Y</g1> X") == ""
    for text in ("<g1>Y X", "Y X</g1>", "\x07"):
        assert document.check_segment(0, text)
    latin = PO.replace("UTF-8", "ISO-8859-1")
    catalog = open_document(put(tmp_path, latin, "x.po"), "en", "fr")
    assert catalog.check_segment(0, "é") == "" and "ISO-8859-1 lacks" in catalog.check_segment(0, "Ω")


def test_every_text_that_is_written_is_read(tmp_path):
    annotated(tmp_path, old(unit("a"), unit("b")), ["A", "B"], ["x", "y"])
    text = (tmp_path / "out-x.xlf").read_text().replace("needs-review-translation", "translated")
    pairs = list(read_pairs([put(tmp_path, text, "again.xlf")]))
    assert [(pair.source, pair.target) for pair in pairs] == [("a", "A"), ("b", "B")]
