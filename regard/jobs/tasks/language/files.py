"""The scores of language models as files, and what each document or passage counts, from these files."""

from collections.abc import Sequence

import numpy as np

from regard.baselines.language import bits_per_byte
from regard.jobs.tasks.example_rows import read_rows
from regard.jobs.tasks.language.evaluation import LanguageEvaluation
from regard.jobs.tasks.language.masked_evaluation import MaskedEvaluation
from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.metrics.intervals import FloatArray
from regard.metrics.labels.statistics import CountedScore, TableCounts
from regard.run import Run

MAX_CHARACTERS = 200
"""Of a text in a table: enough to recognize it."""
COLUMNS = ("text", "bytes", "bits", "bits per byte")
MASKED_COLUMNS = ("text", "masked tokens", "nats per masked token", "correct")


def write_language_scores(run: Run, name: str, evaluation: LanguageEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a causal language model, with a row for each document or segment."""
    rows = (
        [one.text[:MAX_CHARACTERS], str(one.num_bytes), f"{one.bits:.2f}", f"{one.bits / one.num_bytes:.4f}"]
        for one in evaluation.segments
    )
    write_label_scores(run, name, evaluation, list(rows), COLUMNS, files, {"units": evaluation.units})


def write_masked_scores(run: Run, name: str, evaluation: MaskedEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a masked language model, with a row for each passage."""
    rows = (
        [one.text[:MAX_CHARACTERS], str(one.num_masks), f"{one.nats / one.num_masks:.4f}", str(one.num_correct)]
        for one in evaluation.passages
    )
    write_label_scores(run, name, evaluation, list(rows), MASKED_COLUMNS, files)


def count_stored_bits(run: Run, name: str) -> CountedScore | None:
    """The bits of each document or segment of a set; None where they were not written."""
    if not run.example_scores(name).exists():
        return None
    rows = read_rows(run.example_scores(name), COLUMNS, num_numbers=3)
    sizes, bits = (np.array([float(row[column]) for row in rows]) for column in (1, 2))
    units = str(run.read_json(run.scores(name)).get("units", "documents"))
    return count_ratio("bits per byte", bits, sizes, _identify(rows), units)


def count_stored_masks(run: Run, name: str, metric: str) -> CountedScore | None:
    """The loss or the accuracy of the masked tokens of each passage of a set; None where they were not written."""
    if not run.example_scores(name).exists():
        return None
    rows = read_rows(run.example_scores(name), MASKED_COLUMNS, num_numbers=3)
    masks, nats, correct = (np.array([float(row[column]) for row in rows]) for column in (1, 2, 3))
    amounts = {"loss": ("nats per masked token", nats * masks), "accuracy": ("accuracy", 100 * correct)}
    if metric not in amounts:
        return None
    title, values = amounts[metric]
    return count_ratio(title, values, masks, _identify(rows), "passages")


def count_ratio(name: str, amounts: FloatArray, sizes: FloatArray, examples: Sequence[str], units: str) -> CountedScore:
    """Σ amounts / Σ sizes as a score of examples: bits per byte, nats per masked token."""
    table = np.stack([amounts, sizes], axis=1)
    return CountedScore(name, TableCounts(table, sizes), bits_per_byte, examples, amounts.tolist(), units)


def _identify(rows: Sequence[Sequence[str]]) -> list[str]:
    """The beginning of each text, and how much of it is predicted: what is equal where two runs read the same."""
    return [f"{row[1]} {row[0]}" for row in rows]
