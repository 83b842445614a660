"""The scores of a summarizer as files, and what each summary counts, from these files."""

from collections.abc import Sequence

import numpy as np

from regard.jobs.tasks.example_rows import read_rows
from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.jobs.tasks.summarization.evaluation import SummaryEvaluation
from regard.metrics.labels.statistics import CountedScore, TableCounts
from regard.metrics.summaries import NAMES
from regard.metrics.vectors import mean_of_sums
from regard.run import Run

COLUMNS = ("document", "reference", "summary", *NAMES)


def write_summary_scores(run: Run, name: str, evaluation: SummaryEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a set, with a row for each document."""
    rows = [
        [one.document.text, one.reference, one.summary, *(f"{100 * one.values[measure]:.4f}" for measure in NAMES)]
        for one in evaluation.summaries
    ]
    oracle = {measure: {"name": score.name, **score.as_dict()} for measure, score in evaluation.oracle.items()}
    write_label_scores(run, name, evaluation, rows, COLUMNS, files, {"oracle": oracle})


def count_stored_summaries(run: Run, name: str, measure: str) -> CountedScore | None:
    """ROUGE of each summary of a set; None where it was not written."""
    if measure not in NAMES or not run.example_scores(name).exists():
        return None
    rows = read_rows(run.example_scores(name), COLUMNS, num_numbers=len(NAMES))
    values = [float(row[COLUMNS.index(measure)]) for row in rows]
    documents, summaries = ([row[column] for row in rows] for column in (0, 2))
    return count_values(measure, values, documents, summaries)


def count_values(
    measure: str, values: Sequence[float], documents: Sequence[str], summaries: Sequence[str]
) -> CountedScore:
    """A mean over documents as a score that can be paired with another."""
    counts = TableCounts(np.stack([np.asarray(values), np.ones(len(values))], axis=1), np.ones(len(values)))
    return CountedScore(NAMES[measure], counts, mean_of_sums, documents, summaries, "documents")
