"""Which files are read together, by what, in which order; JSON lines and gzip in passing."""

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.errors import FormatError
from regard.formats import Pair, jsonl, read_lines, read_pairs, text, tsv

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def sides(*arguments):
    return [(pair.source, pair.target) for pair in read_pairs(*arguments)]


def refused(path, content, message, codes=("", "")):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError, match=message) as caught:
        list(read_pairs([path], *codes))
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


# JSON lines


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1), st.booleans())
def test_json_lines_hold_any_text(tmp_path_factory, rows, escaped):
    path = tmp_path_factory.mktemp("x") / "x.jsonl"
    lines = [json.dumps({"source": a, "target": b}, ensure_ascii=escaped) for a, b in rows]
    path.write_bytes("\n".join(lines).encode())
    pairs = list(read_pairs([path]))
    assert [(p.source, p.target) for p in pairs] == rows
    assert pairs[-1].location == f"{path}:{len(rows)}"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1), st.sampled_from(["x.jsonl", "x.jsonl.gz"]))
def test_json_lines_are_read_as_they_were_written(tmp_path_factory, rows, name):
    path = tmp_path_factory.mktemp("x") / name
    jsonl.write(path, [Pair(a, b) for a, b in rows])
    assert sides([path]) == rows
    assert [file.name for file in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_aligned_texts_are_read_as_they_were_written(tmp_path, suffix: str):
    rows = [("a", "b"), ("", "\u2028é\x85"), (" c ", "\ufeffd")]
    paths = [tmp_path / "new" / f"x.{side}{suffix}" for side in ("en", "fr")]
    text.write(*paths, [Pair(a, b) for a, b in rows])
    assert sides(paths) == rows
    assert (paths[0].read_bytes()[:2] == b"\x1f\x8b") == bool(suffix)


@given(st.lists(TEXT, min_size=1))
@example([r"C:\new", "a\\\tb", ""])
def test_rows_of_a_table_hold_any_text(cells):
    row = tsv.format_row(cells)
    assert tsv.parse_row(row) == cells and not {"\n", "\r"} & set(row) and row.count("\t") == len(cells) - 1


def test_json_lines_keep_their_texts_in_three_places(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"source": "a", "target": "b", "en": "not me"}\n'
        "\n"
        '{"en-US": "c", "FR": "d", "id": 7}\n'
        '{"translation": {"fr": "f", "en": "e"}, "id": 8}\n'
    )
    assert list(read_pairs([path], "en", "fr")) == [
        Pair("a", "b", f"{path}:1"),
        Pair("c", "d", f"{path}:3"),
        Pair("e", "f", f"{path}:4"),
    ]
    assert sides([path], "fr", "en")[1:] == [("d", "c"), ("f", "e")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"source": "a", "target": "b"}\n{"source": "a"',
            r"x.jsonl:2: not JSON \(.* at column \d+\); expected one flat object",
        ),
        ("[1, 2]", r"x.jsonl:1: a list; expected an object with the keys source and target"),
        ("[" * 100_000, r"x.jsonl:1: not JSON \(recursion limit exceeded at column \d+\)"),
        ('{"source": ' + "1" * 5000 + "}", r"x.jsonl:1: not JSON \(number out of range at column \d+\)"),
        ('{"source": "a"}', r"x.jsonl:1: expected the keys 'source' and 'target', got 'source'\. .*set data.source"),
        ("{}", r"got none"),
        ('{"source": "a", "target": null}', r"x.jsonl:1: 'target' is null; expected a string"),
        (
            '{"source": "a", "target": "\\ud800!"}',
            r"x.jsonl:1: not JSON \(unexpected end of hex escape at column 3\d\)",
        ),
        (b'{"source": "\xe9"}', r"x.jsonl:1: not UTF-8"),
        ("\n\n", r"x.jsonl: no translated pairs"),
    ],
)
def test_json_that_cannot_be_pairs_is_refused(tmp_path, content, message):
    refused(tmp_path / "x.jsonl", content, message)


def test_a_missing_language_names_those_that_are_there(tmp_path):
    content = '{"translation": {"en": "a", "fr": "b"}}'
    refused(tmp_path / "x.jsonl", content, r"or 'en' and 'de', got 'en', 'fr'\.", ("en", "de"))
    refused(tmp_path / "x.jsonl", content, r"'source' and 'target', got 'en', 'fr'\.")


# gzip


def test_packed_files_are_read_as_they_are(tmp_path):
    for name, content in (("a.en.gz", "one\ntwo\n"), ("a.fr.gz", "un\ndeux\n"), ("b.tsv.gz", "x\ty\n")):
        (tmp_path / name).write_bytes(gzip.compress(content.encode()))
    assert sides([tmp_path / "a.en.gz", tmp_path / "a.fr.gz"]) == [("one", "un"), ("two", "deux")]
    assert list(read_pairs([tmp_path / "b.tsv.gz"])) == [Pair("x", "y", f"{tmp_path / 'b.tsv.gz'}:1")]
    assert list(read_lines(tmp_path / "a.fr.gz")) == ["un", "deux"]


def test_what_is_not_whole_gzip_is_refused(tmp_path):
    whole = gzip.compress(b"x\ty\n" * 1000)
    refused(tmp_path / "a.tsv.gz", b"x\ty\n", r"a.tsv.gz: not a complete gzip file .* drop .gz from its name")
    refused(tmp_path / "b.tsv.gz", whole[:-9], r"b.tsv.gz: not a complete gzip file \(Compressed file ended")
    refused(tmp_path / "c.tsv.gz", whole[:12] + b"\xff\xff" + whole[14:], r"c.tsv.gz: not a complete gzip file")


def test_what_the_disk_refuses_is_a_sentence(tmp_path):
    with pytest.raises(FormatError, match=r"missing: no such file"):
        list(read_lines(tmp_path / "missing"))
    with pytest.raises(FormatError, match=r"cannot be read \(is a folder; expected a regular file\)"):
        list(read_lines(tmp_path))


# several files, folders


@pytest.fixture
def folder(tmp_path):
    for name, content in {
        "LICENSE": "free\n",
        "b/x.en": "one\n",
        "b/x.fr": "un\n",
        "a/y.EN.gz": gzip.compress(b"two\n"),
        "a/y.fr": "deux\n",
        "c.tsv": "three\ttrois\n",
        ".git/d.tsv": "hidden\tcaché\n",
        "e.JSONL": '{"en": "four", "fr": "quatre"}\n',
    }.items():
        path = tmp_path / "memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path / "memory"


def test_a_folder_is_read_whole_in_order_of_names(folder):
    expected = [("two", "deux"), ("one", "un"), ("three", "trois"), ("four", "quatre")]
    assert sides([folder], "en", "fr") == expected
    assert sides([folder], "fr", "en") == [("deux", "two"), ("un", "one"), ("three", "trois"), ("quatre", "four")]


def test_without_codes_a_folder_gives_no_text_files(folder):
    (folder / "e.JSONL").unlink()
    assert sides([folder]) == [("three", "trois")]
    (folder / "c.tsv").unlink()
    with pytest.raises(
        FormatError, match=r"expected two aligned .*memory is a folder: set data.source and data.target"
    ):
        read_pairs([folder])


def test_a_text_file_of_a_folder_needs_its_partner(folder):
    (folder / "b" / "x.fr").unlink()
    with pytest.raises(FormatError, match=r"b/x.en: has no partner; expected .*b/x.fr"):
        read_pairs([folder], "en", "fr")
    with pytest.raises(FormatError, match=r"expected two aligned"):
        read_pairs([folder / "b"], "de", "nl")


def test_files_of_several_kinds_follow_one_another(folder, tmp_path):
    for name, content in (("p", "a\n"), ("q", "b\n"), ("r", "c\n"), ("s", "d\n")):
        (tmp_path / name).write_text(content)
    p, q, r, s = (tmp_path / name for name in "pqrs")
    tsv = folder / "c.tsv"
    assert sides([p, tsv, q, folder / "b", r, s], "en", "fr") == [
        ("three", "trois"),
        ("a", "b"),
        ("one", "un"),
        ("c", "d"),
    ]
    with pytest.raises(FormatError, match=r"got .*p .*c.tsv .*q .*r: .*r has no partner$"):
        read_pairs([p, tsv, q, r])


def test_a_folder_is_paired_by_languages_and_their_regions(tmp_path: Path):
    (tmp_path / "x.en").write_text("one\n", encoding="utf-8")
    (tmp_path / "x.fr-CA").write_text("un\n", encoding="utf-8")
    (tmp_path / "y.jsonl").write_text('{"source": "two", "target": "deux"}\n', encoding="utf-8")
    for codes in (("en", "fr"), ("en-US", "fr-CA"), ("en-US", "fr")):
        assert [pair.source for pair in read_pairs([tmp_path], *codes)] == ["one", "two"]
    (tmp_path / "z.fr").write_text("trois\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"z.fr: has no partner; expected .*z.en"):
        list(read_pairs([tmp_path], "en", "fr"))


def test_columns_under_another_name_and_pipes_are_told(tmp_path: Path):
    (tmp_path / "fra.txt").write_text("one\tun\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"has no partner. It has columns: .* rename it to fra.tsv"):
        list(read_pairs([tmp_path / "fra.txt"]))
    os.mkfifo(tmp_path / "pipe.tsv")
    with pytest.raises(FormatError, match=r"pipe.tsv: a pipe or a device, which cannot be read twice"):
        list(read_pairs([tmp_path / "pipe.tsv"]))


def test_blank_lines_of_json_are_passed_over_and_counted(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_text('\n  \n{"source": "a", "target": "b"}\n\t\n')
    assert list(read_pairs([path])) == [Pair("a", "b", f"{path}:3")]


def test_both_languages_must_be_among_the_keys(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"en": "a", "fr": "b", "de": "c"}\n')
    assert [(p.source, p.target) for p in read_pairs([path], "fr", "de")] == [("b", "c")]
    for source, target in (("it", "de"), ("en", "it"), ("", "de"), ("en", "")):
        with pytest.raises(FormatError, match=r"x\.jsonl:1: .*'en', 'fr', 'de'"):
            list(read_pairs([path], source, target))


@pytest.mark.parametrize("codes", [("", ""), ("en", ""), ("", "fr"), ("en", "fr")])
def test_a_folder_of_texts_asks_for_both_languages(tmp_path: Path, codes: tuple[str, str]):
    (tmp_path / "notes.md").write_text("a\n")
    with pytest.raises(FormatError) as error:
        read_pairs([tmp_path], *codes)
    hint = f"{tmp_path} is a folder: set data.source and data.target to pair its text files by their suffixes"
    assert (hint in str(error.value)) == (not all(codes))
