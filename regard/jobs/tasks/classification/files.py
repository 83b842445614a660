"""The scores of a classifier as files: scores/<set>.json, a table of every text, and the confusion matrix."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from regard.baselines.scoring import Answer, label_scoring
from regard.jobs.tasks.classification.evaluation import ClassificationEvaluation, ClassifiedText
from regard.jobs.tasks.example_rows import read_rows
from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.metrics.labels.statistics import CountedScore
from regard.run import Run, write_text

LABEL_SEPARATOR = ", "
COLUMNS = ("text", "label", "prediction", "probability", "correct")


def write_classification(run: Run, name: str, evaluation: ClassificationEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a set, a row for each text and, where texts have one label, the confusion matrix."""
    rows = [*map(_list_cells, evaluation.texts)]
    labels = {one.name: one.as_dict() for one in evaluation.score_labels()}
    write_label_scores(run, name, evaluation, rows, COLUMNS, files, {"labels": labels})
    if evaluation.confusion is not None:
        write_text(run.confusion(name), format_confusion(evaluation))


@dataclass(frozen=True)
class StoredLabels:
    """The texts of a set with their labels and predictions, as `write_classification` wrote them."""

    texts: list[str]
    gold: list[Answer]
    predicted: list[Answer]

    def count(self, metric: str) -> CountedScore | None:
        """What each text counts for a score; None for one that is no sum over texts."""
        scoring = label_scoring(self.gold, [self.predicted])
        return scoring.count(scoring.score(self.predicted), self.texts, self.predicted, "texts").get(metric)


def read_classification(run: Run, name: str, several: bool) -> StoredLabels | None:
    """The stored predictions of a set, whose texts may have several labels; None where there are none."""
    if not run.example_scores(name).exists():
        return None
    rows = read_rows(run.example_scores(name), COLUMNS, num_numbers=2)
    texts, gold, predicted = (list(column) for column in zip(*(row[:3] for row in rows), strict=True))
    return StoredLabels(texts, *([_split_labels(cell, several) for cell in cells] for cells in (gold, predicted)))


def _split_labels(cell: str, several: bool) -> Answer:
    return tuple(filter(None, cell.split(LABEL_SEPARATOR))) if several else (cell,)


def _list_cells(text: ClassifiedText) -> list[str]:
    example, prediction = text.example, text.prediction
    source = example.text if example.text_pair is None else f"{example.text} | {example.text_pair}"
    cells = [source, LABEL_SEPARATOR.join(example.labels), prediction.label, f"{prediction.probability:.4f}"]
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
