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


def filled(tmp_path, content: str, translations, notes=None) -> str:
    document = open_document(written(tmp_path, content))
    document.fill(translations)
    if notes is not None:
        document.annotate(notes)
    document.write(tmp_path / "out.po")
    return (tmp_path / "out.po").read_bytes().decode()


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("#, c-format", "#, fuzzy, c-format"),
        ("#,c-format,  no-wrap", "#, fuzzy, c-format,  no-wrap"),
        ("  #, c-format  ", "#, fuzzy, c-format"),
        ("#,", "#, fuzzy"),
        ("#, fuzzy, c-format", "#, fuzzy, c-format"),
        ("#,fuzzy", "#,fuzzy"),
        ("#, c-format\n#, no-wrap", "#, fuzzy, c-format\n#, no-wrap"),
        ("#= c-format", "#= c-format\n#, fuzzy"),
        ("# said", "# said\n#, fuzzy"),
        ('#| msgid "old"', '#, fuzzy\n#| msgid "old"'),
    ],
)
def test_what_is_filled_is_fuzzy_beside_its_other_flags(tmp_path, flags: str, expected: str):
    entry = '\nmsgid "a"\nmsgstr "{}"\n'
    assert filled(tmp_path, HEADER + "\n" + flags + entry.format(""), ["A"]) == (
        HEADER + "\n" + expected + entry.format("A")
    )


def test_flags_are_read_without_blanks_and_empty_ones_are_none(tmp_path):
    path = written(tmp_path, '#,fuzzy ,, c-format , \n#= python-format\nmsgid "a"\nmsgstr "b"\n')
    (entry,) = PoCatalog(path).entries
    assert entry.flags == ("fuzzy", "c-format", "python-format") and entry.flags_line == 0
    assert (entry.first_line, entry.line, entry.comments_line, entry.msgstr_lines) == (2, 3, 0, {0: (3, 4)})


@pytest.mark.parametrize("forms", [1, 2, 3])
def test_without_a_formula_the_forms_are_those_that_the_entry_has(tmp_path, forms: int):
    lines = "".join(f'msgstr[{n}] ""\n' for n in range(forms))
    content = f'msgid "a"\nmsgid_plural "b"\n{lines}'
    document = open_document(written(tmp_path, content))
    assert [s.source for s in document.segments] == (["b"] if forms == 1 else ["a", "b"])
    found = filled(tmp_path, content, ["B"] if forms == 1 else ["A", "B"])
    expected = ["B"] if forms == 1 else ["A", *["B"] * (forms - 1)]
    assert found == '#, fuzzy\nmsgid "a"\nmsgid_plural "b"\n' + "".join(
        f'msgstr[{n}] "{text}"\n' for n, text in enumerate(expected)
    )


@pytest.mark.parametrize("formula", ["nplurals=0; plural=0;", "nplurals=100; plural=0;", "nplurals=x; plural=0;"])
def test_a_number_of_forms_that_no_language_has_is_not_believed(tmp_path, formula: str):
    header = f'msgid ""\nmsgstr "Plural-Forms: {formula}\\n"\n\n'
    content = header + 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "A"\nmsgstr[1] "B"\n'
    assert pairs(written(tmp_path, content)) == [("a", "A"), ("b", "B")]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [("nplurals=99; plural=98;", [("b", "")]), ("nplurals=2; plural=7;", [("b", "B")]),
     ("nplurals=2; plural=0-3;", [("b", "A")]), ("nplurals=2; plural=n+;", [("a", "A"), ("b", "B")]),
     ("nplurals=2; plural=1/0;", [("a", "A"), ("b", "B")]), ("nplurals=2; plural=n==5;", [("a", "A"), ("b", "B")])],
)  # fmt: skip
def test_a_form_that_is_not_there_is_the_nearest_and_a_broken_formula_is_that_of_english(tmp_path, formula, expected):
    header = f'msgid ""\nmsgstr "Plural-Forms: {formula}\\n"\n\n'
    content = header + 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "A"\nmsgstr[1] "B"\nmsgid "c"\nmsgstr "C"\n'
    assert pairs(written(tmp_path, content)) == [pair for pair in expected if pair[1]] + [("c", "C")]


def test_a_note_comes_before_all_comments_and_once(tmp_path):
    content = (
        '# said\n#, c-format\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n\nmsgid "c"\nmsgstr ""\n'
        'msgid "d"\nmsgstr ""\n'
    )
    found = filled(tmp_path, content, ["A", "B", "C", None], ["x", "x", "y", "z"])
    assert found == (
        '# regard: x\n# said\n#, fuzzy, c-format\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] "A"\nmsgstr[1] "B"\n\n'
        '# regard: y\n#, fuzzy\nmsgid "c"\nmsgstr "C"\nmsgid "d"\nmsgstr ""\n'
    )
    assert "# regard: x; y\n" in filled(tmp_path, content, ["A", "B", None, None], ["x", "y", "", ""])


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a", 'msgstr "a"'),
        ("a\n", 'msgstr "a\\n"'),
        ("a\nb", 'msgstr ""\n"a\\n"\n"b"'),
        ("\x01" + "1", 'msgstr "\\0011"'),
        ('\x7f\t"', 'msgstr "\\177\\t\\""'),
        ("\x1f ", 'msgstr "\\037 "'),
    ],
)
def test_a_text_is_broken_after_its_line_feeds_and_escaped(tmp_path, text: str, lines: str):
    assert filled(tmp_path, 'msgid "a"\nmsgstr ""\n', [text]) == f'#, fuzzy\nmsgid "a"\n{lines}\n'


@pytest.mark.parametrize(("escape", "char"), [("x7F", "\x7f"), ("177", "\x7f"), ("x4", "\x04"), ("0", "\0")])
def test_an_escape_is_a_character_of_ascii(tmp_path, escape: str, char: str):
    assert pairs(written(tmp_path, f'msgid "a"\nmsgstr "\\{escape}"\n')) == [("a", char)]
    for bad in ("x80", "200", "x", "8", "q"):
        with pytest.raises(FormatError, match=rf"x\.po:2: \\{bad} is not an escape of a character"):
            pairs(written(tmp_path, f'msgid "a"\nmsgstr "\\{bad}"\n'))


def test_the_fields_of_a_header_are_found_by_name(tmp_path):
    catalog = PoCatalog(written(tmp_path, 'msgid ""\nmsgstr "A: b: c \\nLANGUAGE : fr\\nX\\n"\n'))
    assert [catalog.header_field(name) for name in ("a", "Language", "x", "y")] == ["b: c", "fr", "", ""]
    assert catalog.header_line == 1
    lone = PoCatalog(written(tmp_path, '\n\nmsgctxt "c"\nmsgid ""\nmsgstr "Language: fr\\n"\n'))
    assert lone.header_field("Language") == "" and not lone.entries[0].is_header


def test_an_entry_without_its_translation_is_named_by_its_line(tmp_path):
    for content, line, of_line in (
        ('msgid "a"\nmsgstr "b"\n\nmsgid "c"\n', 5, 4),
        ('#, fuzzy\nmsgctxt "c"\n', 3, 2),
    ):
        with pytest.raises(FormatError) as error:
            pairs(written(tmp_path, content))
        assert str(error.value).endswith(
            f"x.po:{line}: the entry of line {of_line} has no msgstr. `msgfmt --check` shows the line too."
        )


def test_comments_of_an_obsolete_entry_are_not_those_of_the_next(tmp_path):
    content = '# gone\n#, fuzzy\n#| msgid "z"\n#~ msgid "x"\n#~ msgstr "y"\nmsgid "a"\nmsgstr ""\n'
    found = filled(tmp_path, content, ["A"], ["n"])
    assert found.endswith('#~ msgstr "y"\n# regard: n\n#, fuzzy\nmsgid "a"\nmsgstr "A"\n')
    assert filled(tmp_path, '# alone\n\nmsgid "a"\nmsgstr ""\n', ["A"], ["n"]) == (
        '# alone\n\n# regard: n\n#, fuzzy\nmsgid "a"\nmsgstr "A"\n'
    )
