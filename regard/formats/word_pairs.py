"""JSON lines of a word in two sentences, and whether it has the same sense in both: the format of MCL-WiC.

    {"sentence1": "…", "start1": 4, "end1": 8, "sentence2": "…", "start2": 9, "end2": 13, "label": true}

Offsets count characters from 0; the end is behind the word. Numbers and labels may be strings ("78", "False", "T").
Other keys, such as lemma and pos, are ignored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES
from regard.formats.labeled.table import read_objects

LABELS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


@dataclass(frozen=True, slots=True)
class WordInSentence:
    """A word in its sentence."""

    sentence: str
    begin: int
    end: int

    @property
    def word(self) -> str:
        return self.sentence[self.begin : self.end]


@dataclass(frozen=True, slots=True)
class WordPair:
    """A word in two sentences."""

    first: WordInSentence
    second: WordInSentence
    same_sense: bool
    location: str = ""
    """file:line"""


def read_word_pairs(path: Path, max_line_bytes: int = MAX_LINE_BYTES) -> list[WordPair]:
    """The pairs of a file, of which there is at least one."""
    pairs = list(_read(path, max_line_bytes))
    if not pairs:
        raise FormatError(f"{path}: is empty; expected a word in two sentences on each line (.jsonl)")
    return pairs


def _read(path: Path, max_line_bytes: int) -> Iterator[WordPair]:
    for row, where in read_objects(path, max_line_bytes):
        label = LABELS.get(str(row.get("label")).strip().lower())
        if label is None:
            raise FormatError(f"{where}: the label is {str(row.get('label'))[:40]!r}; expected true or false")
        yield WordPair(_read_word(row, 1, where), _read_word(row, 2, where), label, where)


def _read_word(row: Mapping[str, Any], number: int, where: str) -> WordInSentence:
    sentence = row.get(f"sentence{number}")
    if not isinstance(sentence, str):
        raise FormatError(
            f"{where}: has no sentence{number}; expected sentence1, start1, end1, sentence2, start2, end2 and label"
        )
    begin, end = (_read_offset(row, f"{name}{number}", where) for name in ("start", "end"))
    if not 0 <= begin < end <= len(sentence) or not sentence[begin:end].strip():
        raise FormatError(
            f"{where}: start{number}={begin} and end{number}={end} hold no word of sentence{number}, which has "
            f"{len(sentence)} characters; expected offsets from 0, the end behind the word"
        )
    return WordInSentence(sentence, begin, end)


def _read_offset(row: Mapping[str, Any], key: str, where: str) -> int:
    text = str(row.get(key)).strip()
    if not text.isdecimal() or len(text) > 9:
        raise FormatError(f"{where}: {key} is {text[:40]!r}; expected a number of characters")
    return int(text)
