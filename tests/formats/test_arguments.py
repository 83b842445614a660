"""Arguments of messages: which one each placeholder takes, and what the branches of a typed one hold."""

import gzip
from pathlib import Path

import pytest

from regard.errors import FormatError
from regard.formats import files, open_document, read_pairs
from regard.formats.message_format import MAX_DEPTH, iter_arguments
from regard.formats.placeholders import iter_placeholders
from regard.formats.reader import are_two_texts
from tests.formats.test_xliff import new, put, segment


def keys(text: str, *flags: str) -> list[str]:
    return [placeholder.key for placeholder in iter_placeholders(text, flags)]


def test_a_star_takes_an_argument_of_its_own():
    assert keys("%s %*d %s") == ["%1$s", "%3$d", "%4$s"]
    assert keys("%.*f %d") == ["%2$f", "%3$d"] and keys("%*.*f %d") == ["%3$f", "%4$d"]
    assert keys("%s %d", "python-format") == ["%1s", "%2d"]
    assert keys("{} {:d} {!r} {x}") == ["{0}", "{1:d}", "{2!r}", "{x}"]
    assert keys("%Y-%m-%d %s") == ["%Y", "%m", "%d", "%s"]  # a date has no arguments


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("%5dx", ["%1$d"]),
        ("%-5dx", ["%1$d"]),
        ("%-dx", []),
        ("%dx", ["%1$d"]),
        ("5%dx", []),
        ("%fx", []),
        ("%-5fx", []),
        ("%f x", ["%1$f"]),
        ("%(n)fx", ["%(n)f"]),
        ("%1$fx", ["%1$f"]),
    ],
)
def test_a_letter_after_a_conversion_makes_it_prose_unless_it_can_be_nothing_else(text: str, found: list[str]):
    assert keys(text) == found


def test_branches_are_the_texts_between_their_braces():
    text = "a {n, plural, offset:1 =0 {none} one {# of {x}} other {}} b {w, select,other{o}} c {d, date} {e, number, #}"
    arguments = list(iter_arguments(text))
    assert [argument.branches for argument in arguments] == [
        {"=0": "none", "one": "# of {x}", "other": ""},
        {"other": "o"},
        {},
        {},
    ]
    for argument in arguments:
        whole = text[argument.start : argument.end]
        assert whole[0] == "{" and whole[-1] == "}" and whole.startswith(f"{{{argument.name}, {argument.type}")
    assert [argument.label for argument in arguments] == [
        "{n, plural, …}", "{w, select, …}", "{d, date}", "{e, number}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, one {x} other {y} z}",
        "{n, plural, one {x} other {y}z}",
        "{n, plural, }",
        "{n, plural, one {x}",
        "{n, plural, one {x {y}",
        "{n, plural, one x}",
    ],
)
def test_what_is_not_well_formed_is_no_argument(text: str):
    assert list(iter_arguments(text)) == []


def test_an_argument_inside_of_a_broken_one_is_found():
    assert [argument.name for argument in iter_arguments("{n, plural, one {x} z {m, plural, other {y}}")] == ["m"]
    for depth, found in ((MAX_DEPTH - 2, 1), (MAX_DEPTH, 0)):
        assert len(list(iter_arguments("{n, plural, other {" + "{" * depth + "}" * depth + "}}"))) == found


def test_addresses_are_the_same_without_what_translators_localize():
    assert keys("see <https://www.a.org/x/> now") == keys("see http://a.org/x now") == ["//a.org/x"]
    assert keys("<a href='https://a.org/en/x'>y</a>") == keys("<a href='http://www.a.org/fr/x'>z</a>")
    assert keys("https://en.wikipedia.org/wiki/Cat") == keys("https://fr.wikipedia.org/wiki/Chat") == ["wikipedia"]
    assert keys("https://a.org/x") != keys("https://a.org/y")


@pytest.mark.parametrize(("declared", "forms"), [(1, 1), (2, 2), (99, 99), (100, 3), (0, 3)])
def test_so_many_plural_forms_as_a_header_may_declare(tmp_path: Path, declared: int, forms: int):
    fields = ("Content-Type: text/plain; charset=UTF-8", f"Plural-Forms: nplurals={declared}; plural=n>1;")
    header = 'msgid ""\nmsgstr ""\n' + "".join(f'"{field}\\n"\n' for field in fields)
    entry = 'msgid "a"\nmsgid_plural "b"\n' + "".join(f'msgstr[{n}] ""\n' for n in range(3))
    path = tmp_path / "x.po"
    path.write_text(f"{header}\n{entry}", encoding="utf-8")
    document = open_document(path, "en", "fr")
    document.fill(["A", "B"][-len(document.segments) :])
    document.write(tmp_path / "out.po")
    lines = (tmp_path / "out.po").read_text(encoding="utf-8").split("\n")
    assert len([line for line in lines if line.startswith("msgstr[")]) == forms


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1F600", "😀"),
        ("001a", "\x1a"),
        ("D800", "\ufffd"),
        ("DFFF", "\ufffd"),
        ("E000", "\ue000"),
        ("10FFFF", "\U0010ffff"),
    ],
)
def test_a_character_that_xml_cannot_hold_is_read_by_its_number(tmp_path: Path, value: str, text: str):
    content = new(segment(f'a<cp hex="{value}"/>', "<target>b</target>", ' state="final"'))
    (pair,) = read_pairs([put(tmp_path, content)])
    assert pair.source == f"a{text}"
    for wrong in ("110000", "x", ""):
        with pytest.raises(FormatError, match="is not a character"):
            list(read_pairs([put(tmp_path, content.replace(value, wrong))]))


def test_two_texts_are_two_files_of_no_format(tmp_path: Path):
    text, other, table = tmp_path / "a.en", tmp_path / "a.fr", tmp_path / "a.tsv"
    assert are_two_texts([text, other]) and are_two_texts([str(text), str(other)])
    for paths in ([text], [text, other, other], [text, table], [table, other], [text, tmp_path], [tmp_path, text]):
        assert not are_two_texts(paths)


def test_a_file_that_expands_beyond_all_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "MIN_BOMB_BYTES", 98_000)
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress(b"a\n" * 49_000))
    assert len(files.read_document(path)) == 98_000  # up to the limit anything may be
    path.write_bytes(gzip.compress(b"a\n" * 1_000_000))
    with pytest.raises(FormatError, match="expands to more than 250 times its size"):
        files.read_document(path)
    words = "".join(f"{n * 7919 % 10007} " for n in range(40_000)).encode()
    path.write_bytes(gzip.compress(words))
    assert len(words) > 100_000 and files.read_document(path) == words


def test_a_document_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "MAX_DOCUMENT_BYTES", 7)
    (tmp_path / "x").write_bytes(b"1234567")
    assert files.read_document(tmp_path / "x") == b"1234567"
    (tmp_path / "x").write_bytes(b"12345678")
    with pytest.raises(FormatError, match="more than 7 bytes"):
        files.read_document(tmp_path / "x")


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe\n"])
def test_the_line_of_an_entity_is_counted_through_damage(tmp_path: Path, damage: bytes):
    head = b'<?xml version="1.0" encoding="utf-8"?>\n<!-- <!ENTITY no "x"> -->\n<!DOCTYPE tmx [\n<!ENTITY a "b">]>\n'
    path = tmp_path / "a.tmx"
    body = b'<tmx version="1.4"><header srclang="en"/><body/></tmx>\n'
    path.write_bytes(head + body + damage)
    with pytest.raises(FormatError, match=r"a\.tmx:4: declares an entity"):
        list(read_pairs([path], source="en", target="fr"))
