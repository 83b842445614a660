"""Translation memories: languages, inline tags, encodings, and what is refused."""

import gzip

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from regard.errors import FormatError
from regard.formats import Pair, markup, read_pairs

# What XML can hold; a bare carriage return would be read as a line feed, so writers turn it into &#13;.
XML = st.text(st.characters(exclude_categories=["Cs"]).filter(lambda char: not markup.FORBIDDEN_CHARACTERS.match(char)))
LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def memory(*units, srclang="en", prolog='<!DOCTYPE tmx SYSTEM "tmx14.dtd">'):
    body = "\n".join(f"<tu>{unit}</tu>" for unit in units)
    return f'{prolog}\n<tmx version="1.4"><header srclang="{srclang}"/>\n<body>\n{body}\n</body></tmx>'


def tuv(language, words, attribute="xml:lang"):
    return f'<tuv {attribute}="{language}"><seg>{words}</seg></tuv>'


def put(tmp_path, content, name="x.tmx"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(tmp_path, content, *codes):
    return [(pair.source, pair.target) for pair in read_pairs([put(tmp_path, content)], *codes)]


def refused(tmp_path, content, message, *codes):
    path = put(tmp_path, content)
    with pytest.raises(FormatError, match=message) as caught:
        list(read_pairs([path], *codes))
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(XML, XML), min_size=1), st.sampled_from(["utf-8", "utf-16", "us-ascii", "iso-8859-1"]))
@example([("a\rb\r\n", "c\rd\r\n]]>")], "utf-8")
def test_any_text_is_read_as_it_was_written(tmp_path_factory, rows, encoding):
    root = etree.Element("tmx", version="1.4")
    etree.SubElement(root, "header", srclang="en")
    body = etree.SubElement(root, "body")
    for row in rows:
        unit = etree.SubElement(body, "tu")
        for language, words in zip(("en", "fr"), row, strict=True):
            etree.SubElement(etree.SubElement(unit, "tuv", {LANG: language}), "seg").text = words
    path = tmp_path_factory.mktemp("x") / "x.tmx"
    path.write_bytes(etree.tostring(root, encoding=encoding, xml_declaration=True))
    assert [(pair.source, pair.target) for pair in read_pairs([path])] == rows


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ('a <bpt i="1">&lt;b></bpt>b<ept i="1">&lt;/b></ept> c', "a b c"),
        ('a<ph>{\\fn <sub>a footnote</sub>}</ph><it pos="begin">x</it><ut>y</ut>', "a"),
        ('one<ph type="lb">\\n</ph>two', "one two"),
        ("an <hi>important <hi>word</hi></hi>, <b>bold</b>", "an important word, bold"),
        ("&lt;&amp;&gt;&quot;&apos;&#233;&#x1F600;<![CDATA[<raw> & ]]>x<!-- no -->y<?pi no?>z", "<&>\"'é😀<raw> & xyz"),
        ("  two  spaces\n", "  two  spaces\n"),
        ("", ""),
    ],
)
def test_codes_go_and_words_stay(tmp_path, words, text):
    assert read(tmp_path, memory(tuv("en", words) + tuv("fr", "x"))) == [(text, "x")]


def test_languages_are_matched_by_their_stem(tmp_path):
    content = memory(
        tuv("EN-us", "colour") + tuv("fr-CA", "un") + tuv("fr_CA", "deux") + tuv("FR", "trois") + tuv("de", "vier"),
        tuv("fr-CA", "cinq") + tuv("fr-FR", "six") + tuv("en", "five"),
        tuv("de", "sieben") + tuv("fr", "sept"),
    )
    assert read(tmp_path, content, "en", "fr") == [("colour", "trois"), ("five", "cinq"), ("five", "six")]
    assert read(tmp_path, content, "en", "fr-CA") == [("colour", "un"), ("colour", "deux"), ("five", "cinq")]
    assert read(tmp_path, content, "fr", "en-US") == [("trois", "colour"), ("cinq", "five")]
    assert read(tmp_path, content, "de", "fr") == [("vier", "trois"), ("sieben", "sept")]
    held = "EN-us, fr-CA, FR, de, fr-FR, en"
    refused(tmp_path, content, rf"x.tmx: has no 'es', only {held}\. Set data.source", "en", "es")
    refused(tmp_path, content, r"x.tmx: has no 'es'", "es", "en")
    refused(tmp_path, content, r"x.tmx:4: a third language; the file holds EN-us, fr-CA, FR, de\. Set data.source")
    refused(tmp_path, content, r"x.tmx: no translated pairs", "de-AT", "en-GB")
    refused(tmp_path, content, r"x.tmx: no translated pairs", "en", "en-US")  # nobody is his own translation


def test_two_languages_need_no_codes(tmp_path):
    units = (tuv("en", "a") + tuv("fr", "b"), tuv("FR", "d") + tuv("EN", "c"), tuv("en", "alone"))
    assert read(tmp_path, memory(*units, srclang="EN-US")) == [("a", "b"), ("c", "d")]
    assert read(tmp_path, memory(*units, srclang="fr")) == [("b", "a"), ("d", "c")]
    assert read(tmp_path, memory(*units, srclang="*all*"), "fr") == [("b", "a"), ("d", "c")]
    assert read(tmp_path, memory(*units, srclang="*all*"), "", "en") == [("b", "a"), ("d", "c")]
    assert read(tmp_path, memory(*units).replace("<tu>", '<tu srclang="fr">')) == [("b", "a"), ("d", "c")]
    refused(
        tmp_path, memory(*units, srclang="*all*"), r"x.tmx:4: srclang='\*all\*' does not match exactly one of en and fr"
    )
    refused(tmp_path, memory(*units), r"x.tmx:4: 'de' does not match exactly one of en and fr\. Set data", "de")
    refused(tmp_path, memory(*units, tuv("en", "x") + tuv("de", "y")), r"x.tmx:7: a third language; .* en, fr, de")
    both = tuv("en-US", "a") + tuv("en-GB", "b")
    refused(tmp_path, memory(both, srclang="en"), r"not match exactly one of en-US and en-GB")
    assert read(tmp_path, memory(both, srclang="en-GB")) == [("b", "a")]


def test_old_files_say_lang(tmp_path):
    content = memory(tuv("en", "a", "lang") + tuv("fr", "b", "lang"), prolog="")
    assert read(tmp_path, content) == [("a", "b")]
    path = put(tmp_path, gzip.compress(content.encode()), "x.tmx.gz")
    assert list(read_pairs([path])) == [Pair("a", "b", f"{path}:4")]


GOOD = tuv("en", "a") + tuv("fr", "b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (memory(GOOD.replace('xml:lang="en"', "")), r"x.tmx:4: <tuv> has no xml:lang; TMX requires one"),
        (memory(GOOD.replace("seg", "sog")), r"x.tmx:4: <tuv> has no <seg>"),
        (memory(GOOD, GOOD + "</tuv>"), r"x.tmx:5: broken XML: .*mismatch.*Correct it there, or export"),
        (memory(GOOD)[:-20], r"x.tmx:\d+: broken XML: "),
        (memory(GOOD).replace("<seg>a", "<seg>\x01"), r"x.tmx:4: broken XML: .*"),
        (memory(GOOD).replace("<seg>a", "<seg>\xe9").encode("latin1"), r"x.tmx:4: broken XML: .*encoding"),
        (memory(GOOD, prolog='<?xml version="1.0" encoding="klingon"?>'), r"x.tmx:1: broken XML: .*encoding: klingon"),
        ("", r"x.tmx: is empty or truncated; expected XML"),
        ("  <!-- nothing -->", r"x.tmx: is empty or cut short|x.tmx:1: broken XML"),
        ("<html><body/></html>", r"x.tmx:1: its root is <html>; expected <tmx>"),
        (memory(), r"x.tmx: no translated pairs"),
        # entities: declared ones, and those of a DTD that nobody loads
        (
            memory(GOOD, prolog='<?xml version="1.0"?>\n<!-- <!ENTITY -->\n<!DOCTYPE tmx [\n<!ENTITY x "y">\n]>'),
            r"x.tmx:4: declares an entity\. Entities are not read, for safety: .*&#160;",
        ),
        (
            memory(GOOD, prolog='<!DOCTYPE tmx [\n<!ENTITY % x SYSTEM "file:///etc/passwd">\n%x;]>'),
            r"x.tmx:2: declares an",
        ),
        (memory(GOOD.replace("<seg>a", "<seg>a&nbsp;b")), r"x.tmx:4: uses &nbsp;, which is not defined\. Entities are"),
        (
            memory(GOOD.replace("<seg>a", "<seg>a&nbsp;b"), prolog=""),
            r"x.tmx:4: Entity 'nbsp' not defined\. Entities are",
        ),
        (memory("<tuv>" * 300), r"x.tmx:\d+: broken XML: Excessive depth"),
    ],
)
def test_what_is_not_sound_is_refused_with_its_line(tmp_path, content, message):
    refused(tmp_path, content, message)


def test_entities_are_found_in_any_encoding(tmp_path):
    content = memory(GOOD, prolog='<?xml version="1.0"?>\n<!DOCTYPE tmx [\n\n<!ENTITY x "y">\n]>')
    refused(tmp_path, content.encode("utf-16"), r"x.tmx:4: declares an entity")


def test_nothing_outside_the_file_is_loaded(tmp_path):
    (tmp_path / "tmx14.dtd").write_text('<!ENTITY nbsp "LOADED"><!ATTLIST tmx version CDATA "9">')
    refused(tmp_path, memory(GOOD.replace("<seg>a", "<seg>&nbsp;")), r"uses &nbsp;, which is not defined")
    laughs = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
    bomb = memory(GOOD.replace("<seg>a", "<seg>&l9;"), prolog=f'<!DOCTYPE tmx [<!ENTITY l0 "ha">{laughs}]>')
    refused(tmp_path, bomb, r"x.tmx:1: declares an entity")


def test_memory_stays_flat(tmp_path):
    """Of all the units before, a tree that only grows would hold each; here none but the last is left."""
    path = put(tmp_path, memory(*[GOOD] * 500))
    standing = [len(list(unit.itersiblings(preceding=True))) for unit in markup.iter_elements(path, "tmx", ("tu",))]
    assert len(standing) == 500 and max(standing) == 1


def test_lines_are_counted_past_sixteen_bits(tmp_path):
    content = memory(GOOD).replace("<body>", "<body>" + "\n" * 70_000)
    path = put(tmp_path, content)
    assert list(read_pairs([path])) == [Pair("a", "b", f"{path}:70004")]
