"""The scores of language models as files."""

from collections.abc import Sequence

from regard.jobs.tasks.language.evaluation import LanguageEvaluation
from regard.jobs.tasks.language.masked_evaluation import MaskedEvaluation
from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.run import Run

MAX_CHARACTERS = 200
"""Of a text in a table: enough to recognize it."""


def write_language_scores(run: Run, name: str, evaluation: LanguageEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a causal language model, with a row for each document or segment."""
    rows = (
        [one.text[:MAX_CHARACTERS], str(one.num_bytes), f"{one.bits:.2f}", f"{one.bits / one.num_bytes:.4f}"]
        for one in evaluation.segments
    )
    write_label_scores(run, name, evaluation, list(rows), ("text", "bytes", "bits", "bits per byte"), files)


def write_masked_scores(run: Run, name: str, evaluation: MaskedEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a masked language model, with a row for each passage."""
    rows = (
        [one.text[:MAX_CHARACTERS], str(one.num_masks), f"{one.nats / one.num_masks:.4f}", str(one.num_correct)]
        for one in evaluation.passages
    )
    write_label_scores(
        run, name, evaluation, list(rows), ("text", "masked tokens", "nats per masked token", "correct"), files
    )
