"""The scores of a set as files, for tasks that do not translate: scores/<set>.json, and a table of the examples."""

from collections.abc import Iterable, Sequence
from typing import Any

from regard.formats import tsv
from regard.run import Run, write_text


def write_score_files(
    run: Run,
    name: str,
    evaluation: Any,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    files: Sequence[str] = (),
) -> None:
    """Write scores/<name>.json with the scores of the model and its opponents, and a row for each example."""
    cells = list(rows)
    table = {
        "scores": {key: {"name": score.name, **score.as_dict()} for key, score in evaluation.scores.items()},
        "loss": evaluation.loss,
        "opponents": {one.name: one.as_dict() for one in evaluation.opponents},
        "examples": len(cells),
        "files": list(files),
    }
    run.write_json(run.scores(name), table)
    write_text(run.example_scores(name), "\n".join(map(tsv.format_row, [columns, *cells])) + "\n")
