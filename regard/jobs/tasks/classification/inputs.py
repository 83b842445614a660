"""Lines of text -> what a classifier reads: a text, or two texts in two columns."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from regard.data.store import Texts
from regard.errors import FormatError
from regard.jobs.translate.stream import read_chunks
from regard.run import Run
from regard.tasks.classify.classifier import Classification, Classifier
from regard.tasks.stored_parts import SEPARATOR
from regard.tasks.text_forward import InputText

CHUNK_LINES = 1024


class ClassifiedLine(NamedTuple):
    """A line, and what it was classified as; None for a blank line."""

    text: str
    classification: Classification | None


def classifies_pairs(run: Run) -> bool:
    """Whether a run was trained on pairs of texts."""
    if not run.texts_manifest.exists():  # its data was removed
        return bool(run.load_config().classify.text_pair)
    return SEPARATOR in Texts(run.store, "train.source")[0]


def split_pair(line: str, location: str) -> InputText:
    """The two texts of a line."""
    text, tab, text_pair = line.partition("\t")
    if not tab or "\t" in text_pair:
        raise FormatError(
            f"{location}: has {1 + line.count(chr(9))} columns; this run classifies pairs of texts: expected two, "
            f"separated by a tab"
        )
    return text, text_pair


def classify_lines(
    classifier: Classifier,
    lines: Iterable[str],
    pairs: bool,
    reject: float,
    locate: Callable[[int], str],
) -> Iterator[ClassifiedLine]:
    """Classify each line that is not blank; memory does not grow with their number."""
    begin = 1
    for chunk in read_chunks(lines, CHUNK_LINES):
        numbers = [number for number, line in enumerate(chunk) if line.strip()]
        inputs = [split_pair(chunk[n], locate(begin + n)) if pairs else chunk[n] for n in numbers]
        classifications = dict(zip(numbers, classifier.classify(inputs, reject), strict=True))
        yield from (ClassifiedLine(line, classifications.get(number)) for number, line in enumerate(chunk))
        begin += len(chunk)
