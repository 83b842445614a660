"""Labeled text as files that the readers of this package read."""

import json
from collections.abc import Iterable
from pathlib import Path

from regard.formats import files
from regard.formats.labeled.examples import LabeledText, TaggedSentence


def write_labeled_texts(path: Path, examples: Iterable[LabeledText]) -> None:
    """JSON lines with the keys text and label, text_pair where there is one, and labels where there are several."""
    with files.create_binary(path) as file:
        for example in examples:
            row: dict[str, object] = {"text": example.text}
            if example.text_pair is not None:
                row["text_pair"] = example.text_pair
            row |= {"label": example.labels[0]} if len(example.labels) == 1 else {"labels": list(example.labels)}
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def write_tagged_sentences(path: Path, sentences: Iterable[TaggedSentence]) -> None:
    """Columns of words and tags, separated by tabs, with a blank line after each sentence."""
    with files.create_binary(path) as file:
        for sentence in sentences:
            rows = (f"{word}\t{tag}\n" for word, tag in zip(sentence.words, sentence.tags, strict=True))
            file.write(("".join(rows) + "\n").encode())
