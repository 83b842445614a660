"""XLIFF 1.2 and 2.0: what counts as translated, and that filling keeps every other byte."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from regard.errors import FormatError
from regard.formats import Pair, check_translation, markup, open_document, read_pairs, xliff

WORDS = st.text(
    st.characters(exclude_categories=["Cs"]).filter(lambda char: not markup.FORBIDDEN_CHARACTERS.match(char)),
    min_size=1,
)
NS12, NS20 = "urn:oasis:names:tc:xliff:document:1.2", "urn:oasis:names:tc:xliff:document:2.0"


def old(*units, languages='source-language="en" target-language="fr"'):
    body = "\n".join(f"      {unit}" for unit in units)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<xliff xmlns="{NS12}" version=\'1.2\'>\n'
        f'  <file {languages} original="x"  datatype="plaintext">\n    <body>\n{body}\n    </body>\n'
        f"  </file>\n</xliff>\n"
    )


def new(*segments, languages='srcLang="en" trgLang="fr"'):
    body = "\n".join(f'    <unit id="u{number}">\n      {one}\n    </unit>' for number, one in enumerate(segments))
    return f'<xliff xmlns="{NS20}" version="2.0" {languages}>\n  <file id="f">\n{body}\n  </file>\n</xliff>\n'


def unit(source, target="", attributes=""):
    return f'<trans-unit id="1"{attributes}><source>{source}</source>{target}</trans-unit>'


def segment(source, target="", attributes=""):
    return f"<segment{attributes}><source>{source}</source>{target}</segment>"


def put(tmp_path, content, name="x.xlf"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def sides(path, *codes):
    return [(pair.source, pair.target) for pair in read_pairs([path], *codes)]


def filled(tmp_path, content, translations, *codes):
    document = open_document(put(tmp_path, content), *codes)
    document.fill(translations)
    document.write(tmp_path / "out.xlf")
    return (tmp_path / "out.xlf").read_bytes().decode()


# reading


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("declared", [False, True])
def test_every_unicode_encoding_is_read_and_kept(tmp_path, codec, declared):
    name = codec.removesuffix("-sig").upper()
    declaration = f' encoding="{name}"' if declared else ""
    heading = f'<?xml version="1.0"{declaration}?>\n'
    body = old(unit("one é 😀", "<target>un</target>"), unit("two")).partition("\n")[2]
    path = put(tmp_path, (heading + body).encode(codec))
    assert sides(path) == [("one é 😀", "un")]
    document = open_document(path)
    document.fill(["deux ñ"])
    document.write(tmp_path / "out.xlf")
    assert "deux ñ" in (tmp_path / "out.xlf").read_bytes().decode(codec)
    assert sides(tmp_path / "out.xlf")[0] == ("one é 😀", "un")


@pytest.mark.parametrize("state", ["translated", "final", "signed-off", "x-mine", ""])
def test_what_is_translated_is_read(tmp_path, state):
    attribute = f' state="{state}"' if state else ""
    path = put(tmp_path, old(unit("a", f"<target{attribute}>b</target>")))
    assert list(read_pairs([path])) == [Pair("a", "b", f"{path}:5")]


@pytest.mark.parametrize(
    "bad",
    [
        unit("a"),
        unit("a", "<target/>"),
        unit("a", "<target>\n</target>"),
        *[
            unit("a", f'<target state="{state}">b</target>')
            for state in ("new", "needs-translation", "needs-review-translation", "needs-adaptation", "needs-l10n")
        ],
        unit("a", "<target>b</target>", ' translate="no"'),
        f'<group translate="no">{unit("a", "<target>b</target>")}</group>',
        unit("a", "<alt-trans><source>a</source><target>b</target></alt-trans>"),
    ],
)
def test_what_needs_work_is_passed_over(tmp_path, bad):
    good = unit("c", "<target>d</target><alt-trans><target>e</target></alt-trans>")
    assert sides(put(tmp_path, old(bad, good, f"<group><group>{good}</group></group>"))) == [("c", "d")] * 2


def test_segments_of_the_second_version(tmp_path):
    path = put(
        tmp_path,
        new(
            segment("a", "<target>b</target>", ' state="translated"') + segment("c", "<target>d</target>"),
            "<ignorable><source> </source><target> </target></ignorable>" + segment("e"),
            segment("f", "<target>g</target>", ' state="initial"'),
            segment("h", "<target>i</target>", ' state="translated" subState="regard:unreviewed"'),
            segment("j", "<target>k</target>", ' state="reviewed" subState="regard:unreviewed"'),
        ).replace('<unit id="u4">', '<unit id="u4" translate="yes">'),
    )
    assert sides(path) == [("a", "b"), ("c", "d"), ("j", "k")]
    assert sides(put(tmp_path, path.read_text().replace('<file id="f">', '<file id="f" translate="no">'))) == [
        ("j", "k")
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ('a<x id="1"/> <g id="2">b</g><bx id="3"/><ex id="4"/>', "a b"),
        ('a <ph id="1">%s</ph><bpt id="2">&lt;b></bpt>b<ept id="2">&lt;/b></ept><it id="3" pos="open">c</it>', "a b"),
        ('one<x id="1" ctype="lb"/>two <mrk mtype="seg" mid="0">three</mrk>', "one two three"),
        ('<pc id="1">a</pc><sc id="2"/><ec startRef="2"/><mrk id="m">b</mrk><sm id="3"/><em startRef="3"/>', "ab"),
        ('bell<cp hex="0007"/>, half a pair <cp hex="D800"/>', "bell\a, half a pair \ufffd"),
        ('<ph id="1" type="fmt" subType="xlf:lb"/>a', " a"),
    ],
)
def test_inline_codes_go_and_words_stay(tmp_path, words, text):
    assert sides(put(tmp_path, old(unit(words, f"<target>{words}</target>")))) == [(text, text)]
    assert sides(put(tmp_path, new(segment(words, f"<target>{words}</target>")))) == [(text, text)]


@pytest.mark.parametrize("content", [old(unit("a", "<target>b</target>")), new(segment("a", "<target>b</target>"))])
def test_languages_may_be_asked_for_either_way(tmp_path, content):
    path = put(tmp_path, content)
    assert sides(path, "en-US", "FR") == sides(path, "en") == sides(path, "", "fr") == [("a", "b")]
    assert sides(path, "fr", "en") == sides(path, "fr") == [("b", "a")]
    with pytest.raises(FormatError, match=r"x.xlf:[35]: holds en to fr, but en to de was requested\."):
        sides(path, "en", "de")
    unnamed = put(tmp_path, content.replace(' target-language="fr"', "").replace(' trgLang="fr"', ""))
    assert sides(unnamed, "en", "de") == [("a", "b")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (old("<trans-unit id='1'><target>b</target></trans-unit>"), r"x.xlf:5: <trans-unit> has no <source>"),
        (new("<segment/>"), r"x.xlf:4: <segment> has no <source>"),
        (new(segment('<cp hex="zz"/>', "<target>b</target>")), r'x.xlf:4: <cp hex="zz"> is not a character'),
        (new(segment('<cp hex="110000"/>', "<target>b</target>")), r"is not a character"),
        ("<tmx/>", r"x.xlf:1: its root is <tmx>; expected <xliff>"),
        (old(unit("a", "<target>b</target>"))[:-40], r"x.xlf:\d+: broken XML"),
        ('<!DOCTYPE xliff [\n<!ENTITY a "b">]>' + old()[39:], r"x.xlf:2: declares (or uses )?(an|the) entity"),
        (
            '<!DOCTYPE xliff SYSTEM "x">' + old(unit("&a;", "<target>b</target>"))[39:],
            r"x.xlf:4: .*&?a;?.*Entities are not",
        ),
    ],
)
def test_what_is_not_sound_is_refused(tmp_path, content, message):
    path = put(tmp_path, content)
    with pytest.raises(FormatError, match=message):
        sides(path)
    if "<cp" not in content:  # a document keeps it as it stands
        with pytest.raises(FormatError, match=message):
            open_document(path)


def test_groups_are_forgotten_too(tmp_path):
    group = f"<group>{unit('a', '<target>b</target>')}</group>"
    path = put(tmp_path, old(*[group] * 300))
    units = markup.iter_elements(path, "xliff", ("trans-unit",), ("group", "file"))
    standing = [len(list(element.getparent().itersiblings(preceding=True))) for element in units]
    assert len(standing) == 300 and max(standing) == 1


# writing


def test_the_first_version_is_filled_for_review(tmp_path):
    content = old(
        unit("done", "<target>fait</target>"),
        '<trans-unit id="2" resname="ok">\n        <source>a &amp; b</source>\n        <note/>\n      </trans-unit>',
        unit("c", "<target  xml:lang='fr' state = 'new' />"),
        unit("d", '<target state="needs-translation">d</target>'),
        unit("e", "<target>\n</target>"),
        unit("f", "", ' translate="no"'),
        unit("  "),
        '<trans-unit id="9"><source>g</source><seg-source><mrk mtype="seg" mid="0">g</mrk></seg-source></trans-unit>',
        unit("reviewed", '<target state="needs-review-translation">relu</target>'),
    )
    document = open_document(put(tmp_path, content), "en", "fr")
    assert [(s.source, s.context) for s in document.segments] == [
        ("a & b", "ok"),
        *[(letter, "1") for letter in "cde"],
        ("g", "9"),
    ]
    assert document.segments[0].location == f"{tmp_path / 'x.xlf'}:6"
    marked = '<target state="needs-review-translation">'
    expected = (
        content.replace("a &amp; b</source>", f"a &amp; b</source>\n        {marked}&lt;A&gt; &amp; B</target>")
        .replace("state = 'new' />", 'state="needs-review-translation">C</target>')
        .replace('<target state="needs-translation">d<', f"{marked}D<")
        .replace("<target>\n</target>", f"{marked}E</target>")
        .replace("</seg-source>", f"</seg-source>{marked}G</target>")
    )
    assert filled(tmp_path, content, ["<A> & B", "C", "D", "E", "G"], "en", "fr") == expected
    assert filled(tmp_path, content, [None, "", None, None, None]) == content
    assert sides(tmp_path / "out.xlf") == [("done", "fait")]
    crlf = content.replace("\n", "\r\n")
    assert f"b</source>\r\n        {marked}X</target>\r\n" in filled(tmp_path, crlf, ["X"] + [None] * 4)


def test_the_second_version_is_filled_and_marked(tmp_path):
    content = new(
        segment("a") + segment("b", "<target>B</target>"),
        segment("c", "<target/>", ' id="s" state="initial"'),
        segment("d", "<target>d</target>", " state='initial'"),
    )
    state = 'state="translated" subState="regard:unreviewed"'
    expected = (
        content.replace("<segment><source>a</source>", f"<segment {state}><source>a</source><target>A</target>")
        .replace('id="s" state="initial"', f'id="s" {state}')
        .replace("c</source><target/>", "c</source><target>C</target>")
        .replace("<segment state='initial'>", f"<segment {state}>")
        .replace("<target>d<", "<target>D<")
    )
    assert filled(tmp_path, content, ["A", "C", "D"]) == expected
    assert sides(tmp_path / "out.xlf") == [("b", "B")]
    assert open_document(tmp_path / "out.xlf").segments == []


def test_a_missing_target_language_is_named(tmp_path):
    content = new(segment("a"), languages='srcLang="en"')
    with pytest.raises(FormatError, match=r"x.xlf:1: has no trgLang\. Set data.target"):
        open_document(put(tmp_path, content))
    assert 'srcLang="en" trgLang="fr">' in filled(tmp_path, content, ["b"], "en", "fr")
    assert filled(tmp_path, content, [None], "en", "fr") == content
    content = old(unit("a"), languages='source-language="en"')
    assert 'datatype="plaintext" target-language="fr">' in filled(tmp_path, content, ["b"], "en", "fr")
    with pytest.raises(FormatError, match=r"x.xlf:3: is to be translated from en to fr, not from fr to en"):
        open_document(put(tmp_path, old(unit("a"))), "fr", "en")


INLINE = (
    'Press <g id="1">the <x id="2" ctype="image"/> key</g><ph id="3">&lt;br/></ph> <mrk mtype="protected">Enter</mrk>'
)


def test_inline_tags_travel_as_they_are(tmp_path):
    content = old(unit(INLINE))
    (one,) = open_document(put(tmp_path, content)).segments
    assert one.source == "Press <g1>the <x2/> key</g1><ph3/> <mrk4/>"
    translation = "<mrk4/><ph3/> : la <g1>touche <x2/></g1>"
    assert check_translation(one.source, translation) == ""
    result = filled(tmp_path, content, [translation])
    assert (
        '<mrk mtype="protected">Enter</mrk><ph id="3">&lt;br/></ph> : la '
        '<g id="1">touche <x id="2" ctype="image"/></g></target>'
    ) in result
    etree.fromstring(result.encode())


@pytest.mark.parametrize(
    ("translation", "message"),
    [
        ("sans rien", r"x.xlf:5: its translation has <g1> 0 times; expected once"),
        ("<g1><x2/></g1><ph3/><ph3/><mrk4/>", r"has <ph3/> 2 times"),
        ("</g1><x2/><g1><ph3/><mrk4/>", r"x.xlf:5: its translation closes </g1>, which is not open"),
        ("bell\a", r"x.xlf:5: its translation has U\+0007, which XML cannot hold"),
    ],
)
def test_a_translation_that_would_break_the_file_is_refused(tmp_path, translation, message):
    document = open_document(put(tmp_path, old(unit(INLINE))))
    assert check_translation(document.segments[0].source, translation)
    with pytest.raises(FormatError, match=message):
        document.fill([translation])


def test_tags_may_not_cross(tmp_path):
    document = open_document(put(tmp_path, old(unit('<g id="1">a</g> <g id="2">b</g>'))))
    assert document.segments[0].source == "<g1>a</g1> <g2>b</g2>"
    with pytest.raises(FormatError, match=r"its translation closes </g1>, which is not open"):
        document.fill(["<g1>a <g2>b</g1></g2>"])
    assert check_translation("<g1>a</g1> <g2>b</g2>", "<g1>a <g2>b</g1></g2>")


def test_words_that_look_like_our_tags_are_told_from_them(tmp_path):
    content = old(unit('&lt;g1&gt; <g id="1">x</g>'))
    (one,) = open_document(put(tmp_path, content)).segments
    assert one.source == "<g1> <g1x>x</g1x>"
    assert '>&lt;g1&gt; <g id="1">y</g></target>' in filled(tmp_path, content, ["<g1> <g1x>y</g1x>"])


def test_prefixed_files_get_prefixed_targets(tmp_path):
    inside = "<x:file><x:trans-unit><x:source>a</x:source></x:trans-unit></x:file>"
    content = f'<x:xliff xmlns:x="{NS12}" version="1.2">{inside}</x:xliff>'
    result = filled(tmp_path, content, ["b"])
    assert '<x:target state="needs-review-translation">b</x:target></x:trans-unit>' in result
    etree.fromstring(result)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(WORDS.filter(str.strip), WORDS.filter(str.strip)), min_size=1),
    st.sampled_from(["utf-8", "utf-16", "us-ascii", "iso-8859-1", "koi8-r"]),
    st.booleans(),
)
@example([("a\rb\r\n", "c\rd\r\n]]>")], "utf-8", False)
def test_any_text_goes_in_and_comes_back(tmp_path_factory, rows, encoding, modern):
    folder = tmp_path_factory.mktemp("x")
    root = etree.fromstring((new if modern else old)().encode())
    file = root[0] if modern else root[0][0]
    for source, _ in rows:
        holder = etree.SubElement(file, f"{{{NS20}}}unit" if modern else f"{{{NS12}}}trans-unit")
        holder = etree.SubElement(holder, f"{{{NS20}}}segment") if modern else holder
        etree.SubElement(holder, f"{{{NS20 if modern else NS12}}}source").text = source
    path = folder / "x.xlf"
    path.write_bytes(etree.tostring(root, encoding=encoding, xml_declaration=True))
    document = open_document(path)
    assert [one.source for one in document.segments] == [source for source, _ in rows]
    document.write(folder / "same.xlf")
    assert (folder / "same.xlf").read_bytes() == path.read_bytes()
    document.fill([target for _, target in rows])
    document.write(folder / "out.xlf")
    tree = etree.fromstring((folder / "out.xlf").read_bytes())
    assert ["".join(target.itertext()) for target in tree.iter("{*}target")] == [target for _, target in rows]
    for element in tree.iter("{*}target", "{*}segment"):
        element.attrib.pop("state", None)
    (folder / "y.xlf").write_bytes(etree.tostring(tree))
    assert sides(folder / "y.xlf") == rows


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            b'<?xml version="1.0" encoding="klingon"?><xliff/>',
            r"x.xlf:1: unknown encoding 'klingon'\. Convert the file",
        ),
        (b'<xliff version="1.2">\n\xe9</xliff>', r"x.xlf:2: not valid utf-8"),
        (b'<?xml version="1.0" encoding="utf-7"?><xliff a="+AOk-"/>', r"x.xlf:1: not valid utf-7|broken XML"),
        (b"<xliff>" + b"<a>" * 300, r"x.xlf:1: more than 256 elements deep"),
        (b"", r"x.xlf:1: broken XML: no element found"),
    ],
)
def test_documents_that_could_not_be_written_again_are_refused(tmp_path, raw, message):
    with pytest.raises(FormatError, match=message):
        open_document(put(tmp_path, raw))


# small parts


def plain_indent(raw: bytes, position: int) -> bytes:
    """By characters: back over blanks to a line end, which belongs to it, or else nothing."""
    start = position
    while start and raw[start - 1 : start] in b" \t":
        start -= 1
    if not start or raw[start - 1 : start] != b"\n":
        return b""
    start -= 2 if raw[start - 2 : start] == b"\r\n" else 1
    return raw[start:position]


@pytest.mark.parametrize(
    "raw", [b"\n<a>", b"<a>", b" <a>", b"<x>\n  <a>", b"<x>\r\n\t<a>", b"<x> <a>", b"\r\n<a>", b"x\ny\n\n <a>"]
)
def test_a_tag_that_begins_its_line_is_indented_as_it_is(raw: bytes):
    for position in range(raw.index(b"<a>") + 1):
        assert xliff._indent(raw, position) == plain_indent(raw, position)


NAMES = st.sampled_from(["state", "id", "xml:lang", "a"])


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(NAMES, st.sampled_from("\"'")), unique_by=lambda one: one[0]),
    st.dictionaries(NAMES, WORDS.filter(lambda text: text.isprintable()), max_size=3),
    st.sampled_from([">", " >", "/>", " />", "\n>"]),
)
def test_attributes_are_set_and_the_others_stay(existing, attributes, end):
    tag = "<t" + "".join(f" {name} = {quote}old{quote}" for name, quote in existing) + end
    found = xliff._set_attributes(tag.encode(), attributes).decode()
    element = etree.fromstring(found if end.endswith("/>") else f"{found}</t>")
    lang = "{http://www.w3.org/XML/1998/namespace}lang"
    expected = dict.fromkeys((name for name, _ in existing), "old") | attributes
    assert dict(element.attrib) == {lang if name == "xml:lang" else name: value for name, value in expected.items()}
    assert found.endswith(end)


def test_a_split_unit_is_filled_segment_by_segment(tmp_path):
    def split(*contents: str) -> str:
        sources = "".join(f'<mrk mtype="seg" mid="{n}">s{n}</mrk>' for n in range(len(contents)))
        return "<seg-source>" + sources + "</seg-source>"

    targets = '<target state="new"><mrk mid="0" mtype="seg"/><mrk mtype="seg" mid="1" ></mrk></target>'
    content = old(unit("s0 s1", split("", "") + targets))
    document = open_document(put(tmp_path, content), "en", "fr")
    assert [(s.source, s.location.rpartition(":")[2]) for s in document.segments] == [("s0", "5"), ("s1", "5")]
    found = filled(tmp_path, content, ["A", "B & C"], "en", "fr")
    assert found == content.replace(
        targets,
        '<target state="needs-review-translation"><mrk mid="0" mtype="seg">A</mrk>'
        '<mrk mtype="seg" mid="1" >B &amp; C</mrk></target>',
    )
    one = filled(tmp_path, content, [None, "B"], "en", "fr")
    assert '<mrk mid="0" mtype="seg"/><mrk mtype="seg" mid="1" >B</mrk></target>' in one
    other = old(unit("s0 s1", split("", "") + '<target><mrk mtype="seg" mid="0"/></target>'))
    assert [s.source for s in open_document(put(tmp_path, other)).segments] == ["s0 s1"]  # they do not match
    assert [s.source for s in open_document(put(tmp_path, old(unit("s0 s1", split("", ""))))).segments] == ["s0 s1"]


@pytest.mark.parametrize("make", [old, new])
def test_the_language_that_is_written_is_that_of_the_request_and_only_where_it_is_missing(tmp_path, make):
    one = unit("a") if make is old else segment("a")
    attributes = ('source-language="en"', "target-language") if make is old else ('srcLang="en"', "trgLang")
    content = make(one, one, languages=attributes[0])
    found = filled(tmp_path, content, ["A", None], "en", "fr-CA")
    element = etree.fromstring(found.encode())
    node = element[0] if make is old else element
    assert node.get(attributes[1]) == "fr-CA" and found.count("fr-CA") == 1
    assert filled(tmp_path, content, [None, None], "en", "fr-CA") == content
    declared = make(one, languages=f'{attributes[0]} {attributes[1]}="fr"')
    assert "fr-CA" not in filled(tmp_path, declared, ["A"], "en", "fr-CA")


@pytest.mark.parametrize(
    ("attributes", "context"),
    [(' resname="r" name="n"', "r"), (' name="n"', "n"), ("", "1"), (' resname=""', "1")],
)
def test_a_unit_is_known_by_its_most_telling_name(tmp_path, attributes: str, context: str):
    (found,) = open_document(put(tmp_path, old(unit("a", "", attributes)))).segments
    assert (found.source, found.context, found.location.rpartition(":")[2]) == ("a", context, "5")


def test_a_target_that_is_blank_or_said_to_be_new_is_filled(tmp_path):
    targets = {
        "<target/>": True,
        "<target> </target>": True,
        "<target>x</target>": False,
        '<target state="new">x</target>': True,
        '<target state="needs-translation">x</target>': True,
        '<target state="final"></target>': True,
        '<target state="needs-review-translation">x</target>': False,
        '<target><mrk mtype="x"> </mrk></target>': True,
        "<target><g> </g></target>": False,
    }
    for target, is_open in targets.items():
        document = open_document(put(tmp_path, old(unit("a", target))))
        assert bool(document.segments) == is_open, target
    assert not open_document(put(tmp_path, old(unit(" ", "<target/>")))).segments
    initial = segment("a", "<target>x</target>", ' state="initial"')
    assert len(open_document(put(tmp_path, new(initial, segment("b", "<target>y</target>"))), "en", "fr").segments) == 1


def test_insertions_at_one_place_are_joined_in_order_and_each_edit_counts_once():
    edits = [(5, 5, b"x"), (2, 3, b"a"), (5, 5, b"y"), (5, 5, b"x"), (0, 0, b"")]
    assert xliff.merge_insertions(edits) == [(0, 0, b""), (2, 3, b"a"), (5, 5, b"xy")]
