"""The format of each of several files of labeled text, and the examples of all of them in order."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES
from regard.formats import files
from regard.formats.labeled import classes, conll, spans
from regard.formats.labeled.examples import ColumnNames, LabeledText, TaggedSentence
from regard.formats.labeled.recognition import recognize
from regard.formats.unsupported import require_text_suffix

TABLE_SUFFIXES = (".csv", ".tsv")
JSON_SUFFIX = ".jsonl"


def read_labeled_texts(
    paths: Sequence[str | Path], names: ColumnNames | None = None, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[LabeledText]:
    """The texts and labels of files and folders."""
    for path in list_existing(paths):
        yield from _read_texts(path, names or ColumnNames(), max_line_bytes)


def _read_texts(path: Path, names: ColumnNames, max_line_bytes: int) -> Iterator[LabeledText]:
    suffix = files.format_suffix(path)
    if path.is_dir():
        return classes.read_folder(path, max_line_bytes)
    if suffix in TABLE_SUFFIXES:
        return classes.read_table(path, names, max_line_bytes)
    if suffix == JSON_SUFFIX:
        return classes.read_objects_with_labels(path, names, max_line_bytes)
    require_text_suffix(path, (*TABLE_SUFFIXES, JSON_SUFFIX))
    if classes.is_fasttext(path, max_line_bytes):
        return classes.read_fasttext(path, max_line_bytes)
    raise FormatError(f"{path}: has no labels; {classes.EXPECTED}")


def read_tagged_sentences(
    paths: Sequence[str | Path], max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[TaggedSentence]:
    """The sentences of tagged words of files: .jsonl, or columns in any other text file."""
    for path in list_existing(paths):
        if path.is_dir():
            raise FormatError(f"{path}: is a folder; expected files of words and tags (CoNLL columns, or .jsonl)")
        if files.format_suffix(path) == JSON_SUFFIX:
            yield from spans.read_objects_with_tags(path, max_line_bytes)
        else:
            if recognize([path]) == "labels":
                raise FormatError(f"{path}: has texts with labels; expected words with tags (CoNLL columns, or .jsonl)")
            if files.format_suffix(path) != ".tsv":
                require_text_suffix(path, (".conll", ".tsv", JSON_SUFFIX))
            yield from conll.read_columns(path, max_line_bytes)


def list_existing(paths: Sequence[str | Path]) -> Iterator[Path]:
    """The paths; one that does not exist is refused."""
    for path in map(Path, paths):
        if not path.exists():
            raise FormatError(f"{path}: no such file")
        yield path
