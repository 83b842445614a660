"""regard tag: every line is tagged, in columns, JSON or XML that can be read again."""

import io
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import regard
from regard.cli import main
from regard.formats.labeled import read_tagged_sentences

LINES = ["Eve Stone sleeps in New York.", "", " <Bob>\tworks & “Ann” lives\u00a0in Rome , Oslo. \x01"]


@pytest.fixture
def tag(monkeypatch, capfd):
    def run_tag(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as stop:
            main(["tag", *map(str, arguments)])
        printed = capfd.readouterr()
        return stop.value.code, printed.out, printed.err

    return run_tag


def text_of(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def test_columns_are_what_training_reads(tag, tagger_run: Path, tmp_path: Path):
    code, out, _ = tag(tagger_run, stdin=text_of(LINES))
    assert code == 0 and out.startswith("Eve\tB-PER\nStone\tI-PER\nsleeps\tO\nin\tO\nNew\tB-LOC\nYork\tI-LOC\n.\tO\n\n")
    (tmp_path / "out.conll").write_text(out, encoding="utf-8")
    sentences = list(read_tagged_sentences([tmp_path / "out.conll"]))
    expected = [one for one in regard.tag_stream(tagger_run, LINES) if one.words]
    assert [(one.words, one.tags) for one in sentences] == [(one.words, one.tags) for one in expected]


def test_offsets_of_json_are_those_of_the_text(tag, tagger_run: Path, tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(text_of(LINES[:2]))
    (tmp_path / "b.txt").write_bytes(text_of(LINES[2:]))
    code, out, _ = tag(tagger_run, tmp_path / "a.txt", tmp_path / "b.txt", "--json")
    rows = [json.loads(line) for line in out.rstrip("\n").split("\n")]
    assert code == 0 and [row["text"] for row in rows] == LINES
    entities = [entity for row in rows for entity in row["entities"]]
    assert [(one["type"], one["text"]) for one in entities[:2]] == [("PER", "Eve Stone"), ("LOC", "New York")]
    for row in rows:
        for one in row["entities"]:
            assert list(one) == ["type", "start", "end", "text", "probability"]
            assert row["text"][one["start"] : one["end"]] == one["text"] and 0 < one["probability"] <= 1


def test_every_line_of_xml_is_a_document_with_the_same_text(tag, tagger_run: Path, tmp_path: Path):
    code, out, _ = tag(tagger_run, "--xml", "--out", tmp_path / "out.xml", stdin=text_of(LINES))
    assert code == 0 and out == ""
    documents = [ElementTree.fromstring(line) for line in (tmp_path / "out.xml").read_text().rstrip("\n").split("\n")]
    assert ["".join(one.itertext()) for one in documents] == [line.replace("\x01", "\ufffd") for line in LINES]
    for document, result in zip(documents, regard.tag_stream(tagger_run, LINES), strict=True):
        assert [(one.get("type"), one.text) for one in document] == [
            (one.type, one.text.replace("\x01", "\ufffd")) for one in result.entities
        ]


def test_words_between_blanks_stay_whole(tag, tagger_run: Path):
    _, out, _ = tag(tagger_run, "--words", stdin=b"Ann's in U.S. .\n")
    assert [line.split("\t")[0] for line in out.split("\n")] == ["Ann's", "in", "U.S.", ".", "", ""]


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("--json", "--xml"), b"", "choose one of them"),
        (("nowhere.txt",), b"", "nowhere.txt: no such file"),
        ((), b"Ann\nd\xe9j\xe0\n", "standard input:2: not UTF-8"),
        (("--device", "toaster"), b"", "toaster"),
    ],
)
def test_mistakes_are_one_sentence(tag, tagger_run: Path, arguments: tuple, stdin: bytes, message: str):
    code, out, err = tag(tagger_run, *arguments, stdin=stdin)
    assert code == 2 and message in err and err.startswith("error: ") and "Traceback" not in err
    assert "\t" not in out or stdin
