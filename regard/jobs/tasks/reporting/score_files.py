"""scores/<set>.json and scores/<set>.examples.tsv of a task with labels."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from regard.baselines import OpponentResult
from regard.formats import tsv
from regard.jobs.tasks.task import TaskEvaluation
from regard.run import Run, write_text


class LabelEvaluation(TaskEvaluation, Protocol):
    """The scores of a model that predicts labels, beside those of opponents."""

    @property
    def opponents(self) -> tuple[OpponentResult, ...]: ...


def write_label_scores(
    run: Run,
    name: str,
    evaluation: LabelEvaluation,
    rows: Sequence[Sequence[str]],
    columns: Sequence[str],
    files: Sequence[str],
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write the scores of a set with what is `extra` to the task, and a row for each example."""
    table = {
        "scores": {key: {"name": score.name, **score.as_dict()} for key, score in evaluation.scores.items()},
        "loss": evaluation.loss,
        "opponents": {one.name: one.as_dict() for one in evaluation.opponents},
        "examples": len(rows),
        "files": list(files),
        **(extra or {}),
    }
    run.write_json(run.scores(name), table)
    write_text(run.example_scores(name), format_table(columns, rows))


def format_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells as TSV, with a header."""
    return "\n".join(map(tsv.format_row, (columns, *rows))) + "\n"
