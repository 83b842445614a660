"""One word in many sentences, layer by layer: static against contextual vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.data.tokenizer import Tokenizer
from regard.data.wordpiece import WordPiece
from regard.errors import DataError
from regard.formats import read_lines
from regard.inspection import embeddings
from regard.inspection.embeddings import Alike, Contextuality
from regard.inspection.example import Example, pieces_of
from regard.inspection.trace import encoder_of
from regard.jobs.look.inspected_run import Subject
from regard.report import Table, Value
from regard.tasks.embed import Embedder

NEIGHBOURS = 6


@dataclass(frozen=True)
class Occurrence:
    """A sentence with the word, the sense that the file gives it, and what is nearest to it in the last layer."""

    sentence: str
    sense: str
    nearest: int
    """Another occurrence."""


@dataclass(frozen=True)
class WordStory:
    """What becomes of a word."""

    word: str
    layers: list[Contextuality]
    """From the static table to the last layer."""
    neighbours: list[tuple[str, float]]
    """Pieces nearest to the word in the static table."""
    occurrences: list[Occurrence]
    points: Table
    """layer, x, y, sense, sentence: a projection of each layer on two axes."""

    def as_table(self) -> Table:
        """A row a layer: every number raw and standardised."""
        return Table.of(
            {"layer": one.layer, **_numbers("raw", one.raw), **_numbers("standardised", one.standard)}
            | {"senses": one.senses, "nearest": one.nearest}
            for one in self.layers
        )


def _numbers(kind: str, alike: Alike) -> dict[str, Value]:
    return {f"{name} {kind}": value for name, value in vars(alike).items()}


def read_sentences(path: Path, word: str) -> tuple[list[str], list[str]]:
    """Sentences with the word, and their senses where the file is a table of sense, tab, sentence."""
    sentences, senses = [], []
    for line in read_lines(path):
        sense, tab, rest = line.partition("\t")
        text = rest if tab else line
        if word.casefold() in text.casefold():
            sentences.append(text)
            senses.append(sense if tab else "")
    return sentences, senses


def tell_word(subject: Subject, word: str, sentences: Sequence[str], senses: Sequence[str]) -> WordStory:
    """The story of one word in these sentences; the encoder's side."""
    encoder_of(subject.model)  # or a word about why not
    found = [
        (subject.example(s, "" if subject.translates else None), s, sense)
        for s, sense in zip(sentences, senses, strict=True)
    ]
    kept = [row for row in found if word.casefold() in map(str.casefold, row[0].source.words)]
    if len(kept) < 2:
        raise DataError(
            f"the word '{word}' stands in {len(kept)} of {len(sentences)} sentences; two at least are needed to compare"
        )
    examples, texts, told = [row[0] for row in kept], [row[1] for row in kept], [row[2] for row in kept]
    layers = embeddings.layers_of(subject.model, examples, word)
    flat = embeddings.projection(layers)
    named = told if len(set(told)) > 1 else None
    rows: list[dict[str, Value]] = [
        {"layer": layer.name, "x": float(x), "y": float(y), "sense": sense or word, "sentence": text}
        for layer, points in zip(layers, flat, strict=True)
        for (x, y), sense, text in zip(points, told, texts, strict=True)
    ]
    close = embeddings.cosines(layers[-1].vectors)
    np.fill_diagonal(close, -np.inf)
    return WordStory(
        word,
        [embeddings.contextuality(layer, named) for layer in layers],
        _neighbours(subject, layers[0].vectors[0], examples[0], word),
        [Occurrence(s, sense, int(close[i].argmax())) for i, (s, sense) in enumerate(zip(texts, told, strict=True))],
        Table.of(rows),
    )


def _neighbours(subject: Subject, vector: embeddings.Vectors, example: Example, word: str) -> list[tuple[str, float]]:
    own = [example.source.ids[i] for i in pieces_of(example.source, word)]
    table = encoder_of(subject.model).embedding.tokens.weight
    tokenizer: Tokenizer | WordPiece
    tokenizer = subject.reader.tokenizer if isinstance(subject.reader, Embedder) else subject.reader.tokenizers.source
    near = embeddings.neighbours(table, vector, NEIGHBOURS, own)
    return list(zip(tokenizer.convert_ids_to_tokens([i for i, _ in near]), (cosine for _, cosine in near), strict=True))
