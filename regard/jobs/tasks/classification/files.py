"""The scores of a classifier as files: scores/<set>.json, a table of every text, and the confusion matrix."""

import csv
import io
from collections.abc import Sequence

from regard.jobs.tasks.classification.evaluation import ClassificationEvaluation, ClassifiedText
from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.run import Run, write_text

COLUMNS = ("text", "label", "prediction", "probability", "correct")


def write_classification(run: Run, name: str, evaluation: ClassificationEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a set, a row for each text and, where texts have one label, the confusion matrix."""
    write_label_scores(run, name, evaluation, [*map(_list_cells, evaluation.texts)], COLUMNS, files)
    if evaluation.confusion is not None:
        write_text(run.confusion(name), format_confusion(evaluation))


def _list_cells(text: ClassifiedText) -> list[str]:
    example, prediction = text.example, text.prediction
    source = example.text if example.text_pair is None else f"{example.text} | {example.text_pair}"
    cells = [source, ", ".join(example.labels), prediction.label, f"{prediction.probability:.4f}"]
    return [*cells, "1" if text.is_correct else "0"]


def format_confusion(evaluation: ClassificationEvaluation) -> str:
    """The confusion matrix as CSV: gold classes in rows, predicted ones in columns."""
    assert evaluation.confusion is not None
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["gold \\ predicted", *evaluation.confusion.classes])
    for label, row in zip(evaluation.confusion.classes, evaluation.confusion.matrix.tolist(), strict=True):
        writer.writerow([label, *map(int, row)])
    return out.getvalue()
