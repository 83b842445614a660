"""One word in many sentences, layer by layer: static and contextual embeddings."""

import math
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
from regard.inspection.word_states import POSITION, STATIC, WordReader
from regard.progress import stage, track
from regard.report import Chart, Figure, Table, TableView, Value, category_curves, layer_scatter, render_fragment

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
    is_causal: bool = False
    """Whether the model read each sentence up to the word only."""

    def as_table(self) -> Table:
        """One row per layer: every number raw and standardized."""
        return Table.from_rows(
            {
                "layer": layer.layer,
                **_similarity_columns("raw", layer.raw),
                **_similarity_columns("standardized", layer.standardized),
            }
            | {"sense_auc": layer.sense_auc, "nearest_sense_accuracy": layer.nearest_sense_accuracy}
            | {"same_sense_cosine": layer.same_sense_cosine, "other_sense_cosine": layer.other_sense_cosine}
            for layer in self.layers
        )

    @property
    def contextual_layers(self) -> list[Contextuality]:
        """Those whose vectors know other words of the sentence: all but the embeddings."""
        return [one for one in self.layers if one.layer not in (STATIC, POSITION)]

    @property
    def best_layer(self) -> Contextuality | None:
        """The layer with the highest AUC, of all that the p-value is about; None without senses."""
        scored = [one for one in self.layers if one.sense_auc is not None and not math.isnan(one.sense_auc)]
        return max(scored, key=lambda one: one.sense_auc or 0.0, default=None)

    def chart(self) -> Chart:
        """The occurrences of the word in every layer, projected to two dimensions."""
        title = f"'{self.word}' in {len(self.occurrences)} sentences, layer by layer"
        return layer_scatter(self.points, title=title)

    def layer_chart(self) -> Chart | None:
        """How near occurrences of the same sense and of different senses are in each layer; None without senses."""
        rows: list[dict[str, Value]] = [
            {"layer": layer.layer, "cosine": cosine, "occurrences": name}
            for layer in self.layers
            for name, cosine in (("same sense", layer.same_sense_cosine), ("other sense", layer.other_sense_cosine))
            if cosine is not None and math.isfinite(cosine)
        ]
        if not rows:
            return None
        title = f"'{self.word}': mean cosine of two occurrences, by layer"
        lowest = min(float(row["cosine"] or 0.0) for row in rows)
        return category_curves(
            Table.from_rows(rows),
            "layer",
            "cosine",
            "occurrences",
            title=title,
            x_title="layer",
            y_title="mean cosine",
            limits=(0.0 if lowest >= 0 else -1.0, 1.0),
        ).with_name("layers")

    def __str__(self) -> str:
        return str(self.as_table())

    def __repr__(self) -> str:
        return f"<SenseAnalysis of '{self.word}' in {len(self.occurrences)} sentences, {len(self.layers)} layers>"

    def _repr_html_(self) -> str:
        charts = [chart for chart in (self.layer_chart(), self.chart()) if chart]
        return render_fragment([*map(Figure, charts), TableView(self.as_table())])


def _similarity_columns(kind: str, similarity: SimilarityScores) -> dict[str, Value]:
    return {f"{name} {kind}": value for name, value in vars(similarity).items()}


def read_sentences(path: Path, word: str) -> tuple[list[str], list[str]]:
    """Sentences with the word, and their senses if the lines are sense, tab, sentence."""
    if word.split() != [word]:
        raise DataError(f"the word is {word!r}; expected one word, without blanks")
    sentences, senses = [], []
    for line in read_lines(path):
        sense, tab, rest = line.partition("\t")
        text = rest if tab else line
        if word.casefold() in text.casefold():
            sentences.append(text)
            senses.append(sense if tab else "")
    return sentences, senses


def analyze_senses(reader: WordReader, word: str, sentences: Sequence[str], senses: Sequence[str]) -> SenseAnalysis:
    """Analyze one word in these sentences by the stack that reads them."""
    candidates = [(reader.make_example(s), s, sense) for s, sense in zip(sentences, senses, strict=True)]
    matching = [row for row in candidates if _has_word(row[0], word)]
    if len(matching) < 2:
        raise DataError(
            f"the word '{word}' occurs in {len(matching)} of {len(sentences)} sentences, as far as the model reads "
            f"them ({reader.max_length:,} tokens); at least two are needed"
        )
    examples, texts, matching_senses = (
        [row[0] for row in matching],
        [row[1] for row in matching],
        [row[2] for row in matching],
    )
    layers = embeddings.collect_word_vectors(reader.model, examples, word)
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
        _nearest_tokens(reader, layers[0].vectors[0], examples[0], word),
        [
            Occurrence(s, sense, int(similarities[i].argmax()))
            for i, (s, sense) in enumerate(zip(texts, matching_senses, strict=True))
        ],
        Table.from_rows(rows),
        embeddings.permutation_p_value(layers, sense_labels) if sense_labels else None,
        reader.is_causal,
    )


def _has_word(example: Example, word: str) -> bool:
    """Whether a sentence has the word, and the model reads it."""
    is_there = word.casefold() in map(str.casefold, example.source.words)
    return is_there and bool(token_positions(example.source, word))


def _nearest_tokens(
    reader: WordReader, vector: embeddings.Vectors, example: Example, word: str
) -> list[tuple[str, float]]:
    word_token_ids = [example.source.ids[i] for i in token_positions(example.source, word)]
    table = get_reading_stack(reader.model)[1].embedding.tokens.weight
    neighbors = embeddings.nearest_neighbors(table, vector, NUM_NEIGHBORS, word_token_ids)
    tokens = reader.tokenizer.convert_ids_to_tokens([i for i, _ in neighbors])
    return list(zip(tokens, (cosine for _, cosine in neighbors), strict=True))
