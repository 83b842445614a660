"""The scores of an embedding model as files, and what each pair counts, from these files."""

from collections.abc import Sequence

import numpy as np

from regard.jobs.tasks.embedding.evaluation import EmbeddingEvaluation
from regard.jobs.tasks.example_rows import read_rows
from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.metrics.labels.statistics import CountedScore, TableCounts
from regard.metrics.vectors import correlate_sums, correlation_sums, mean_of_sums, rank, reciprocal
from regard.run import Run

SIMILARITY_COLUMNS = ("text", "text_pair", "similarity", "cosine")
RETRIEVAL_COLUMNS = ("text", "positive", "nearest", "rank")


def write_embedding_scores(run: Run, name: str, evaluation: EmbeddingEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a set, with a row for each pair."""
    if evaluation.has_similarities:
        columns = SIMILARITY_COLUMNS
        rows = [
            [one.example.text, str(one.example.positive), f"{one.example.similarity:g}", f"{one.value:.6f}"]
            for one in evaluation.pairs
        ]
    else:
        columns = RETRIEVAL_COLUMNS
        rows = [
            [one.example.text, str(one.example.positive), one.nearest, f"{one.value:g}"] for one in evaluation.pairs
        ]
    write_label_scores(run, name, evaluation, rows, columns, files)


def count_stored_ranks(run: Run, name: str) -> CountedScore | None:
    """The reciprocal rank of the positive of each pair of a set; None where it was not written."""
    if not run.example_scores(name).exists():
        return None
    rows = read_rows(run.example_scores(name), RETRIEVAL_COLUMNS, num_numbers=1)
    ranks = [int(float(row[3])) for row in rows]
    values = 100 * reciprocal(np.array(ranks))
    counts = TableCounts(np.stack([values, np.ones(len(rows))], axis=1), np.ones(len(rows)))
    return CountedScore("MRR", counts, mean_of_sums, [" / ".join(row[:2]) for row in rows], ranks, "pairs")


def count_stored_cosines(run: Run, name: str) -> CountedScore | None:
    """The ranks of the cosine and of the similarity of each pair of a set; None where they were not written.

    They are those among all pairs, also where some of them are drawn.
    """
    if not run.example_scores(name).exists():
        return None
    rows = read_rows(run.example_scores(name), SIMILARITY_COLUMNS, num_numbers=2)
    gold, cosines = (np.array([float(row[column]) for row in rows]) for column in (2, 3))
    counts = TableCounts(correlation_sums(rank(cosines), rank(gold)), np.ones(len(rows)))
    texts = [" / ".join(row[:2]) for row in rows]
    return CountedScore("Spearman", counts, correlate_sums, texts, cosines.tolist(), "pairs")
