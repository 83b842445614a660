"""The scores of a denoiser as files, and what each passage counts, from these files."""

from collections.abc import Sequence

import numpy as np

from regard.jobs.tasks.denoising.evaluation import DenoisingEvaluation
from regard.jobs.tasks.example_rows import read_rows
from regard.jobs.tasks.language.files import MAX_CHARACTERS, count_ratio
from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.metrics.labels.statistics import CountedScore
from regard.run import Run

COLUMNS = ("text", "target tokens", "nats", "hidden tokens", "predicted", "hidden tokens searched", "restored")
MEASURES = {
    "loss": ("nats per target token", 2, 1, 1),
    "accuracy": ("hidden tokens predicted", 4, 3, 100),
    "restored": ("hidden tokens restored", 6, 5, 100),
}
"""Name, columns of the amount and of the size, and the factor of a percentage."""


def write_denoising_scores(run: Run, name: str, evaluation: DenoisingEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a denoiser, with a row for each passage."""
    rows = [
        [
            one.text[:MAX_CHARACTERS],
            *map(str, (one.num_targets, f"{one.nats:.4f}", one.num_hidden, one.num_correct)),
            *map(str, (one.num_searched, one.num_restored)),
        ]
        for one in evaluation.passages
    ]
    write_label_scores(run, name, evaluation, rows, COLUMNS, files)


def count_stored_passages(run: Run, name: str, metric: str) -> CountedScore | None:
    """What each passage of a set counts for a score; None where it was not written."""
    if metric not in MEASURES or not run.example_scores(name).exists():
        return None
    title, amount, size, factor = MEASURES[metric]
    rows = read_rows(run.example_scores(name), COLUMNS, num_numbers=6)
    counted = [row for row in rows if float(row[size])]
    if not counted:
        return None
    amounts, sizes = (np.array([float(row[column]) for row in counted]) for column in (amount, size))
    return count_ratio(title, factor * amounts, sizes, [f"{row[size]} {row[0]}" for row in counted], "passages")
