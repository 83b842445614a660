"""The report of a classifier, report.html: the verdict, scores beside opponents, classes, mistakes and curves."""

import numpy as np

from regard.formats.labeled import LabeledText
from regard.jobs.tasks.classification.evaluation import ClassificationEvaluation
from regard.jobs.tasks.reporting.headline import ScoredSet
from regard.jobs.tasks.reporting.part_scores import describe_parts, describe_unknown, tabulate_parts
from regard.jobs.tasks.reporting.task_report import TaskReport, write_task_report
from regard.metrics.labels import Confusion
from regard.report import (
    Chart,
    Figure,
    PagePart,
    Paragraph,
    Section,
    Table,
    TableView,
    Value,
    heatmap_chart,
    line_chart,
)
from regard.run import Run

MAX_MISTAKES = 20
NO_LABEL = "no label"
MAX_CONFUSIONS, MIN_LISTED_CLASSES = 10, 8
MAX_MATRIX_CLASSES = 40  # of a picture that can still be read; the CSV file has all


def write_report(run: Run, evaluation: ClassificationEvaluation, set_name: str, epochs: float) -> None:
    """Draw every chart into charts/, and all of them into one offline page."""
    figures = [*draw_confusion(evaluation), *draw_reliability(evaluation)]
    has_one_label = evaluation.confusion is not None
    title, noun = ("Classes", "class") if has_one_label else ("Labels", "label")
    parts = evaluation.score_labels()
    notes = filter(None, [describe_parts(parts, title.lower()), describe_unknown(parts)])
    tables: list[PagePart] = [*map(Paragraph, notes), TableView(tabulate_parts(parts, noun, "texts"))] if parts else []
    confused = tabulate_confusions(evaluation.confusion) if evaluation.confusion is not None else None
    confusions: list[PagePart] = [TableView(confused, _CONFUSIONS)] if confused is not None and len(confused) else []
    mistakes = tabulate_mistakes(evaluation)
    shown: list[PagePart] = (
        [Paragraph(_MISTAKES), TableView(mistakes)] if len(mistakes) else [Paragraph("No prediction was wrong.")]
    )
    sections = [
        Section(title, [*tables, *confusions, *map(Figure, figures)]),
        Section("Most confident mistakes", shown),
    ]
    are_pairs = any(one.example.text_pair is not None for one in evaluation.texts)
    scored_set = ScoredSet(set_name, len(evaluation.texts), "pairs of texts" if are_pairs else "texts")
    measures = ("accuracy", "macro_f1") if has_one_label else ("f1", "precision", "recall")
    write_task_report(run, evaluation, TaskReport(scored_set, measures, sections, figures), epochs)


_CONFUSIONS = "The most frequent confusions: texts of a class that are predicted as another."
_MISTAKES = "Wrong predictions, the most probable first: label errors are likely among them."


def tabulate_mistakes(evaluation: ClassificationEvaluation) -> Table:
    """The wrong predictions, the most probable first; of a pair, both texts."""
    wrong = sorted((t for t in evaluation.texts if not t.is_correct), key=lambda t: -t.prediction.probability)
    return Table.from_rows(
        {
            **_name_texts(text.example),
            "label": ", ".join(text.example.labels) or NO_LABEL,
            "prediction": text.prediction.label or NO_LABEL,
            "probability": text.prediction.probability,
        }
        for text in wrong[:MAX_MISTAKES]
    )


def _name_texts(example: LabeledText) -> dict[str, Value]:
    return (
        {"text": example.text}
        if example.text_pair is None
        else {"first text": example.text, "second text": example.text_pair}
    )


def tabulate_confusions(confusion: Confusion) -> Table:
    """The cells beside the diagonal with most texts, where a picture of all classes would hide them."""
    if len(confusion.classes) < MIN_LISTED_CLASSES:
        return Table({})
    errors = confusion.matrix - np.diag(np.diagonal(confusion.matrix))
    order = np.argsort(-errors, axis=None, kind="stable")[:MAX_CONFUSIONS]
    cells = [(int(n), *divmod(int(cell), len(errors))) for cell in order if (n := errors.flat[cell])]
    return Table.from_rows(
        {
            "class": confusion.classes[row],
            "prediction": confusion.classes[column],
            "texts": count,
            "of the class": f"{count / confusion.matrix[row].sum():.0%}",
        }
        for count, row, column in cells
    )


def draw_confusion(evaluation: ClassificationEvaluation) -> list[Chart]:
    """How the texts of each class are classified, as shares of the class; of many classes, those with most errors."""
    confusion = evaluation.confusion
    if confusion is None:
        return []
    matrix, num_classes = confusion.matrix, len(confusion.classes)
    errors = matrix.sum(axis=0) + matrix.sum(axis=1) - 2 * np.diagonal(matrix)
    shown = np.sort(np.argsort(-errors, kind="stable")[:MAX_MATRIX_CLASSES])
    counts = matrix.sum(axis=1)[shown, None]
    # Of a class without texts no share is known.
    shares = np.where(counts > 0, matrix[np.ix_(shown, shown)] / np.maximum(counts, 1), np.nan).tolist()
    names = [confusion.classes[number] for number in shown]
    part = f" ({len(shown)} of {num_classes} classes, those with most errors)" if len(shown) < num_classes else ""
    chart = heatmap_chart(
        shares,
        names,
        names,
        title=f"Confusion matrix: shares of the texts of each class{part}",
        row_title="class",
        column_title="prediction",
        value_title="share",
    )
    rest = "the rest of a row is predicted as classes that are not shown" if part else ""
    return [chart.with_note(rest).with_name("confusion")]


def draw_reliability(evaluation: ClassificationEvaluation) -> list[Chart]:
    """How often predictions of a confidence are right; a calibrated classifier is on the diagonal."""
    bins = evaluation.reliability
    points = [("classifier", one.confidence, one.accuracy) for one in bins]
    points += [("calibrated", x, x) for x in (0.0, 1.0)]
    rows: list[dict[str, Value]] = [{"confidence": 100 * x, "accuracy": 100 * y, "line": line} for line, x, y in points]
    chart = line_chart(
        Table.from_rows(rows),
        "confidence",
        "accuracy",
        "line",
        title="Calibration",
        x_title="mean probability of the prediction, %",
        y_title="right predictions, %",
    )
    return [chart.with_name("calibration")]
