"""A format from outside is read wherever files are; what its plug-in does wrong is a sentence."""

import gzip
from pathlib import Path

import pytest

from regard.data.doctor.examination import select_line_files
from regard.errors import ConfigError, FormatError
from regard.formats import Pair, Segment, are_two_texts, open_document, read_lines, read_pairs
from regard.formats.document import is_plain_text
from regard.formats.registry import register_format

ROWS = 'one,un\n"two, or 2",deux\n'
PAIRS = [("one", "un"), ("two, or 2", "deux")]


def read(*paths: Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(paths, "en", "fr")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text(ROWS)
    (tmp_path / "b.CSV.gz").write_bytes(gzip.compress(ROWS.encode()))
    (tmp_path / "c.en").write_text("three\n")
    (tmp_path / "c.fr").write_text("trois\n")
    return tmp_path


def test_files_compressed_files_and_folders_are_read(folder: Path, example_plugin):
    assert read(folder / "a.csv") == PAIRS
    assert read(folder) == [*PAIRS, *PAIRS, ("three", "trois")]
    assert next(read_pairs([folder / "a.csv"])).location == f"{folder / 'a.csv'}:1"
    assert not are_two_texts([folder / "a.csv", folder / "b.CSV.gz"])
    assert select_line_files([folder / "a.csv", folder / "c.en"]) == [folder / "c.en"]


def test_without_the_plugin_the_file_is_not_supported(folder: Path, registries):
    with pytest.raises(FormatError, match=r"a.csv: a spreadsheet \(\.csv\), which is not supported; .*\.tmx or \.xlf"):
        read(folder / "a.csv")


def test_the_suffix_is_listed_among_those_that_are_expected(folder: Path, example_plugin):
    with pytest.raises(FormatError, match=r"one \.tsv, \.jsonl, \.po, \.tmx, \.xlf or \.csv file"):
        read(folder / "c.en")


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        (
            lambda path, source, target: [("one", "un")],
            r"yielded \('one', 'un'\); expected regard.formats.Pair objects",
        ),
        (lambda path, source, target: [Pair("one", None)], r"yielded Pair\(source='one', target=None"),
        (lambda path, source, target: None, r"returned None; expected an iterator"),
        (lambda path, source, target: [1 / 0], r"failed: ZeroDivisionError: .*test_registry.py:\d+"),
        (lambda path: [], r"failed: TypeError"),
    ],
)
def test_a_reader_that_goes_wrong_is_named(tmp_path: Path, registries, reader, message: str):
    register_format(".mine")(reader)
    (tmp_path / "x.mine").write_text("")
    with pytest.raises(FormatError, match=rf"x.mine: the reader of .mine {message}"):
        read(tmp_path / "x.mine")


def test_a_readers_own_sentence_stays(tmp_path: Path, registries):
    @register_format(".mine")
    def read_mine(path, source, target):
        raise FormatError(f"{path}:7: no second column")

    (tmp_path / "x.mine").write_text("")
    with pytest.raises(FormatError, match=r"x.mine:7: no second column$"):
        read(tmp_path / "x.mine")


@pytest.mark.parametrize(
    ("suffix", "message"),
    [
        (".tsv", "file format '.tsv' is built in"),
        (".gz", "is built in"),
        (".toml", "is built in"),
        ("csv", "'csv' cannot be the name of a registered file format; expected one like '.csv', in lower case"),
        (".CSV", "cannot be the name"),
        (".a.b", "cannot be the name"),
        (read, "cannot be the name"),
    ],
)
def test_a_suffix_must_be_free_and_plain(registries, suffix, message):
    with pytest.raises(ConfigError, match=message):
        register_format(suffix)(lambda path, source, target: [])


class UpperDocument:
    """Text between tags of its own: untranslated lines begin with a star."""

    def __init__(self, path, source, target):
        self.path, self.lines = path, list(read_lines(path))
        if not self.lines:
            raise ValueError("nothing in it")
        self.segments = [Segment(line[1:]) for line in self.lines if line.startswith("*")]
        self.texts = []

    def fill(self, translations):
        self.texts = list(translations)

    def check_segment(self, number, text):
        return ""

    def write(self, out):
        texts = iter(self.texts)
        out.write_text("".join(f"{next(texts) if line.startswith('*') else line}\n" for line in self.lines))


def test_a_document_is_translated_in_place(tmp_path: Path, registries):
    register_format(".star", document=UpperDocument)(lambda path, source, target: [])
    path, out = tmp_path / "x.star", tmp_path / "out.star"
    path.write_text("*one\ndeux\n")
    document = open_document(path, "en", "fr")
    document.fill([segment.source.upper() for segment in document.segments])
    document.write(out)
    assert out.read_text() == "ONE\ndeux\n" and not is_plain_text(path)
    path.write_text("")
    with pytest.raises(FormatError, match=r"x.star: cannot be opened as .star: ValueError: nothing in it"):
        open_document(path)


def test_without_a_document_a_format_holds_pairs(folder: Path, example_plugin):
    for door in (open_document, is_plain_text):
        with pytest.raises(FormatError, match=r"a.csv: .csv holds translated pairs; expected"):
            door(folder / "a.csv")
    assert is_plain_text(folder / "c.en")


@pytest.mark.parametrize(
    ("reader", "document", "message"),
    [
        ("read", None, "file format '.mine': 'read' is not a function; expected read"),
        (UpperDocument, None, "is not a function"),
        (lambda path, source, target: [], Segment, "has no fill; expected a class with the interface"),
    ],
)
def test_what_is_no_reader_or_document_is_refused(registries, reader, document, message):
    with pytest.raises(ConfigError, match=message):
        register_format(".mine", document=document)(reader)
