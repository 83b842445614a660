"""One word in many sentences, layer by layer: static and contextual embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.errors import DataError
from regard.formats import read_lines
from regard.inspection import embeddings
from regard.inspection.embeddings import Contextuality, SimilarityScores
from regard.inspection.example import Example, token_positions
from regard.inspection.trace import get_reading_stack
from regard.jobs.look.inspected_run import InspectedRun
from regard.progress import stage, track
from regard.report import Chart, Figure, Table, TableView, Value, layer_scatter, render_fragment

NUM_NEIGHBORS = 6


@dataclass(frozen=True)
class Occurrence:
    """A sentence with the word, its sense label, and its nearest neighbor in the last layer."""

    sentence: str
    sense: str
    nearest: int
    """The index of another occurrence."""


@dataclass(frozen=True, repr=False)
class SenseAnalysis:
    """How the embedding of a word changes with its context, layer by layer."""

    word: str
    layers: list[Contextuality]
    """From the static embedding to the last layer."""
    neighbors: list[tuple[str, float]]
    """Tokens nearest to the word in the embedding table, with their cosine."""
    occurrences: list[Occurrence]
    points: Table
    """layer, x, y, sense, sentence: a 2-D projection of each layer."""
    sense_p_value: float | None = None
    """How often the best layer separates permuted senses as well; None without senses."""

    def as_table(self) -> Table:
        """One row per layer: every number raw and standardized."""
        return Table.from_rows(
            {
                "layer": layer.layer,
                **_similarity_columns("raw", layer.raw),
                **_similarity_columns("standardized", layer.standardized),
            }
            | {"sense_auc": layer.sense_auc, "nearest_sense_accuracy": layer.nearest_sense_accuracy}
            for layer in self.layers
        )

    def chart(self) -> Chart:
        """The occurrences of the word in every layer, projected to two dimensions."""
        title = f"'{self.word}' in {len(self.occurrences)} sentences, layer by layer"
        return layer_scatter(self.points, title=title)

    def __str__(self) -> str:
        return str(self.as_table())

    def __repr__(self) -> str:
        return f"<SenseAnalysis of '{self.word}' in {len(self.occurrences)} sentences, {len(self.layers)} layers>"

    def _repr_html_(self) -> str:
        return render_fragment([Figure(self.chart()), TableView(self.as_table())])


def _similarity_columns(kind: str, similarity: SimilarityScores) -> dict[str, Value]:
    return {f"{name} {kind}": value for name, value in vars(similarity).items()}


def read_sentences(path: Path, word: str) -> tuple[list[str], list[str]]:
    """Sentences with the word, and their senses if the lines are sense, tab, sentence."""
    sentences, senses = [], []
    for line in read_lines(path):
        sense, tab, rest = line.partition("\t")
        text = rest if tab else line
        if word.casefold() in text.casefold():
            sentences.append(text)
            senses.append(sense if tab else "")
    return sentences, senses


def analyze_senses(
    inspected_run: InspectedRun, word: str, sentences: Sequence[str], senses: Sequence[str]
) -> SenseAnalysis:
    """Analyze one word in these sentences by the encoder; of a decoder-only model, by the decoder."""
    candidates = [
        (inspected_run.make_example(s, "" if inspected_run.translates else None), s, sense)
        for s, sense in zip(sentences, senses, strict=True)
    ]
    matching = [row for row in candidates if word.casefold() in map(str.casefold, row[0].source.words)]
    if len(matching) < 2:
        raise DataError(
            f"the word '{word}' occurs in {len(matching)} of {len(sentences)} sentences; at least two are needed"
        )
    examples, texts, matching_senses = (
        [row[0] for row in matching],
        [row[1] for row in matching],
        [row[2] for row in matching],
    )
    layers = embeddings.collect_word_vectors(inspected_run.model, examples, word)
    with stage("projecting vectors"):
        projections = embeddings.project_2d(layers)
    sense_labels = matching_senses if len(set(matching_senses)) > 1 else None
    rows: list[dict[str, Value]] = [
        {"layer": layer.name, "x": float(x), "y": float(y), "sense": sense or word, "sentence": text}
        for layer, points in zip(layers, projections, strict=True)
        for (x, y), sense, text in zip(points, matching_senses, texts, strict=True)
    ]
    similarities = embeddings.cosine_matrix(layers[-1].vectors)
    np.fill_diagonal(similarities, -np.inf)
    return SenseAnalysis(
        word,
        [embeddings.measure_contextuality(layer, sense_labels) for layer in track(layers, "measuring layers")],
        _nearest_tokens(inspected_run, layers[0].vectors[0], examples[0], word),
        [
            Occurrence(s, sense, int(similarities[i].argmax()))
            for i, (s, sense) in enumerate(zip(texts, matching_senses, strict=True))
        ],
        Table.from_rows(rows),
        embeddings.permutation_p_value(layers, sense_labels) if sense_labels else None,
    )


def _nearest_tokens(
    inspected_run: InspectedRun, vector: embeddings.Vectors, example: Example, word: str
) -> list[tuple[str, float]]:
    word_token_ids = [example.source.ids[i] for i in token_positions(example.source, word)]
    table = get_reading_stack(inspected_run.model)[1].embedding.tokens.weight
    neighbors = embeddings.nearest_neighbors(table, vector, NUM_NEIGHBORS, word_token_ids)
    return list(
        zip(
            inspected_run.tokenizer.convert_ids_to_tokens([i for i, _ in neighbors]),
            (cosine for _, cosine in neighbors),
            strict=True,
        )
    )
