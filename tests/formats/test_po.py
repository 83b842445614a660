"""gettext files: what is read, and that filling one changes nothing else."""

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FormatError, WriteError
from regard.formats import Pair, Segment, open_document, read_pairs
from regard.formats.po import PoCatalog

ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
TAME = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1)

HEADER = r"""# A header.
#, fuzzy
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Language: fr\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\n"
"""

EVERYTHING = (
    HEADER
    + r"""
# said by a translator
#. said by the author
#: main.c:7
msgid "Hello"
msgstr "Bonjour"

msgctxt "menu"
msgid ""
"Op"
"en\n"
msgstr   "Ouvrir\n"

#, python-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d fichier"
msgstr[1] "%d fichiers"

#: main.c:9
#, fuzzy, c-format
#| msgid "Old %s"
msgid "New %s"
msgstr "Ancien %s"

msgid "Not yet"
msgstr ""

#, fuzzy
#~ msgid "Gone"
#~ msgstr "Parti"

msgid "Tab\t \"quote\" \\ bell\a \101\x42"
msgstr "œ"
"""
)


def written(tmp_path, text, name="x.po"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def pairs(path, *codes):
    return [(pair.source, pair.target) for pair in read_pairs([path], *codes)]


def quoted(text):
    """As a file may have it: only what must be escaped is."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def test_what_is_translated_is_read(tmp_path):
    path = written(tmp_path, EVERYTHING)
    assert list(read_pairs([path], "en", "fr")) == [
        Pair("Hello", "Bonjour", f"{path}:12"),
        Pair("Open\n", "Ouvrir\n", f"{path}:16"),
        Pair("%d file", "%d fichier", f"{path}:22"),
        Pair("%d files", "%d fichiers", f"{path}:22"),
        Pair('Tab\t "quote" \\ bell\a AB', "œ", f"{path}:40"),
    ]
    assert pairs(path, "fr", "en")[0] == ("Bonjour", "Hello")
    assert pairs(written(tmp_path, EVERYTHING.replace("\n", "\r\n"))) == pairs(path)
    assert pairs(written(tmp_path, "\ufeff" + EVERYTHING)) == pairs(path)


def test_another_language_is_refused(tmp_path):
    path = written(tmp_path, EVERYTHING)
    with pytest.raises(FormatError, match=r"x.po:3: holds \(unknown\) to fr, but en to de was requested\. Set data"):
        list(read_pairs([path], "en", "de"))


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ("nplurals=1; plural=0;", [("many", "t0")]),
        ("nplurals=2; plural=n != 1;", [("one", "t0"), ("many", "t1")]),
        # Polish: one, few, many. Old Slovenian: the form for one is the second.
        (
            "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);",
            [("one", "t0"), ("many", "t2")],
        ),
        (
            "nplurals=4; plural=(n%100==1 ? 1 : n%100==2 ? 2 : n%100==3 || n%100==4 ? 3 : 0);",
            [("one", "t1"), ("many", "t0")],
        ),
        ("nplurals=2; plural=n/0;", [("one", "t0"), ("many", "t1")]),
        ("nplurals=2; plural=EXPRESSION;", [("one", "t0"), ("many", "t1")]),
        ("", [("one", "t0"), ("many", "t1")]),
    ],
)
def test_plural_forms_follow_the_formula(tmp_path, forms, expected):
    header = f'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: {forms}\\n"\n\n'
    entry = 'msgid "one"\nmsgid_plural "many"\n'
    full = written(tmp_path, header + entry + "".join(f'msgstr[{i}] "t{i}"\n' for i in range(4)))
    assert pairs(full) == expected
    document = open_document(written(tmp_path, header + entry + 'msgstr[0] ""\nmsgstr[1] ""\n'))
    assert [segment.source for segment in document.segments] == [source for source, _ in expected]
    document.fill([target for _, target in expected])
    document.write(tmp_path / "out.po")
    entry = PoCatalog(tmp_path / "out.po").entries[-1]
    count = int(forms[9]) if forms else 2
    many = expected[-1][1]
    ones = {int(target[1]): target for source, target in expected if source == "one"}
    assert entry.targets == {form: ones.get(form, many) for form in range(count)}


def test_other_encodings_are_read_and_kept(tmp_path):
    text = EVERYTHING.replace("UTF-8", "ISO-8859-1").replace("œ", "é")
    path = written(tmp_path, text.encode("latin1"))
    assert pairs(path)[-1][1] == "é"
    document = open_document(path)
    document.fill(["déjà"])
    document.write(path)
    assert text.replace('yet"\nmsgstr ""', 'yet"\nmsgstr "déjà"').encode("latin1") == path.read_bytes().replace(
        b'#, fuzzy\nmsgid "Not', b'msgid "Not'
    )
    document = open_document(written(tmp_path, text.encode("latin1")))
    with pytest.raises(
        FormatError, match=r"x.po:33: its translation has '’', which ISO-8859-1 lacks.*msgconv -t UTF-8"
    ):
        document.fill(["l’eau"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('msgid "a"\n', r"x.po:9: the entry of line 8 has no msgstr"),
        ('msgid "a"\nmsgid "b"\nmsgstr ""', r"x.po:9: a second msgid in one entry"),
        ('msgid "a"\nmsgctxt "b"\n', r"x.po:9: msgctxt, but the entry of line 8 has no msgstr yet"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"', r"x.po:10: a second msgstr in one entry"),
        ('#\nmsgstr "b"', r"x.po:9: msgstr without a msgid before it"),
        ('msgid_plural "b"', r"x.po:8: msgid_plural without a msgid before it"),
        ('#\n"b"', r"x.po:9: a string without msgid or msgstr before it: '\"b\"'"),
        ("msgid a", r"x.po:8: not PO: 'msgid a'; expected a comment, msgid, msgstr"),
        ('msgid[1] "a"', r"x.po:8: not PO"),
        ("<html>", r"x.po:8: not PO: '<html>'.*msgfmt --check"),
        ('msgid "a', r"x.po:8: a quote is missing or not written \\\": '\"a'"),
        ('msgid "a" b"', r"x.po:8: a quote is missing"),
        (r'msgid "a\q"', r"x.po:8: \\q is not an escape"),
        (r'msgid "a\xe9"', r"x.po:8: \\xe9 is not an escape of a character; write \\\\ for a backslash"),
        (r'msgid "a\777"', r"x.po:8: \\777 is not an escape"),
        (r'msgid "a\x"', r"x.po:8: \\x is not an escape"),
    ],
)
def test_broken_files_are_refused_with_their_line(tmp_path, body, message):
    for read in (lambda path: list(read_pairs([path])), open_document):
        with pytest.raises(FormatError, match=message):
            read(written(tmp_path, HEADER + body))


def test_a_charset_that_does_not_hold_is_refused(tmp_path):
    bad = HEADER.encode() + b'msgid "a"\nmsgstr "\xe9"'
    with pytest.raises(FormatError, match=r"x.po:9: not UTF-8, the header's charset: byte 0xe9\. Correct the header"):
        list(read_pairs([written(tmp_path, bad)]))
    for charset in ("klingon", "rot13", "utf-16", "cp037"):
        with pytest.raises(FormatError, match=rf"x.po: its charset is '{charset}', which no PO file can have"):
            list(read_pairs([written(tmp_path, HEADER.replace("UTF-8", charset))]))
    template = HEADER.replace("UTF-8", "CHARSET") + 'msgid "a"\nmsgstr "é"'
    assert pairs(written(tmp_path, template)) == [("a", "é")]
    further_down = 'msgid "a"\nmsgstr "b"\n\nmsgid ""\n"charset=klingon"\nmsgstr "é"\n'
    assert pairs(written(tmp_path, HEADER + further_down))[1] == ("charset=klingon", "é")


def test_nothing_translated_is_an_error_of_the_whole_set(tmp_path):
    with pytest.raises(FormatError, match=r"x.po: no translated pairs"):
        list(read_pairs([written(tmp_path, HEADER)]))
    written(tmp_path, EVERYTHING, "y.po")
    assert len(list(read_pairs([tmp_path / "x.po", tmp_path / "y.po"]))) == 5


# writing


def test_filling_changes_the_filled_entries_alone(tmp_path):
    path = written(tmp_path, EVERYTHING)
    document = open_document(path, "en", "fr")
    assert document.segments == [Segment("Not yet", f"{path}:33")]
    document.write(tmp_path / "same.po")
    assert (tmp_path / "same.po").read_bytes() == path.read_bytes()
    document.fill(["Pas\nencore"])
    document.write(path)
    new = '#, fuzzy\nmsgid "Not yet"\nmsgstr ""\n"Pas\\n"\n"encore"\n'
    assert path.read_text() == EVERYTHING.replace('msgid "Not yet"\nmsgstr ""\n', new)
    assert open_document(path).segments == []
    assert len(list(read_pairs([path]))) == 5  # what a machine wrote is fuzzy, so it is not read


EMPTY = (
    HEADER
    + r'''
#: x.py
#, python-format
#| msgid "old"
msgctxt "menu"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#  a comment
#| msgid "old"
msgid "b"
msgstr ""
""
# last, without a line end
#, fuzzy
msgid "c"
msgstr ""'''
)

FILLED = (
    HEADER
    + r'''
#: x.py
#, fuzzy, python-format
#| msgid "old"
msgctxt "menu"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "UN"
msgstr[1] "DEUX"

#  a comment
#, fuzzy
#| msgid "old"
msgid "b"
msgstr "B"
# last, without a line end
#, fuzzy
msgid "c"
msgstr "C"'''
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_flags_comments_and_line_ends_stay(tmp_path, end, mark):
    path = written(tmp_path, mark + EMPTY.replace("\n", end))
    document = open_document(path, "en", "fr-CA")
    assert [(s.source, s.context, s.flags) for s in document.segments] == [
        ("%d file", "menu", ("python-format",)),
        ("%d files", "menu", ("python-format",)),
        ("b", "", ()),
        ("c", "", ("fuzzy",)),
    ]
    document.fill(["UN", "DEUX", "B", "C"])
    document.write(tmp_path / "deep" / "out.po")
    assert (tmp_path / "deep" / "out.po").read_bytes().decode() == mark + FILLED.replace("\n", end)
    document.fill([None, "DEUX", None, ""])  # half a plural is none
    document.write(tmp_path / "out.po")
    assert (tmp_path / "out.po").read_bytes() == path.read_bytes()


def test_a_document_is_filled_whole_and_in_its_direction(tmp_path):
    path = written(tmp_path, EMPTY)
    with pytest.raises(ValueError, match="zip"):
        open_document(path).fill(["just one"])
    with pytest.raises(FormatError, match=r"x.po:3: is to be translated to fr, not from it"):
        open_document(path, "fr", "en")


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    document = open_document(written(tmp_path, EMPTY))
    (tmp_path / "taken").write_text("")
    with pytest.raises(WriteError, match=r"taken/x.po: could not be written \(.*taken is not a folder\)"):
        document.write(tmp_path / "taken" / "x.po")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WriteError, match=r"folder: is a folder; give the name of a file"):
        document.write(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "taken", "x.po"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(ANY, ANY, st.none() | ANY), min_size=1, unique_by=lambda row: row[0]))
def test_any_text_goes_in_and_comes_back(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("x")
    entries = [
        f"msgctxt {quoted(context or '')}\n" * (context is not None) + f'msgid {quoted(source)}\nmsgstr ""\n'
        for source, _, context in rows
    ]
    path = written(folder, HEADER + "\n".join(entries))
    document = open_document(path)
    assert [(s.source, s.context) for s in document.segments] == [
        (source, context or "") for source, _, context in rows
    ]
    document.fill([target for _, target, _ in rows])
    document.write(folder / "out.po")
    found = PoCatalog(folder / "out.po").entries[1:]
    assert [(e.source, e.targets[0], e.context) for e in found] == rows
    (folder / "y.po").write_bytes((folder / "out.po").read_bytes().replace(b"#, fuzzy\n", b""))
    assert pairs(folder / "y.po") == [row[:2] for row in rows]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(TAME, TAME), min_size=1, unique_by=lambda row: row[0]))
def test_another_reader_reads_the_same(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("x")
    path = written(folder, HEADER + "\n".join(f'msgid {quoted(source)}\nmsgstr ""\n' for source, _ in rows))
    document = open_document(path)
    document.fill([target for _, target in rows])
    document.write(path)
    assert [(entry.msgid, entry.msgstr) for entry in polib.pofile(str(path))] == rows
