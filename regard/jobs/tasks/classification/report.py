"""The report of a classifier, report.html: the verdict, scores beside opponents, classes, mistakes and curves."""

from collections.abc import Mapping

import numpy as np

from regard.jobs.tasks.classification.evaluation import ClassificationEvaluation
from regard.jobs.tasks.reporting.example_section import ExampleSection
from regard.jobs.tasks.reporting.task_report import TaskReport, write_task_report
from regard.metrics.labels import Confusion, class_f1, class_precision, class_recall
from regard.report import Chart, Figure, Paragraph, Section, Table, TableView, Value, heatmap_chart, line_chart
from regard.run import Run

MAX_MISTAKES = 20
MAX_MATRIX_CLASSES = 40  # of a picture that can still be read; the CSV file has all


def write_report(run: Run, evaluation: ClassificationEvaluation, set_name: str, epochs: float) -> None:
    """Draw every chart into charts/, and all of them into one offline page."""
    figures = [*draw_confusion(evaluation), *draw_reliability(evaluation)]
    classes = [TableView(tabulate_classes(evaluation.confusion))] if evaluation.confusion is not None else []
    sections = [
        Section("Classes", [*classes, *map(Figure, figures)]),
        Section("Most confident mistakes", [Paragraph(_MISTAKES), TableView(tabulate_mistakes(evaluation))]),
    ]
    subtitle = f"{len(evaluation.texts):,} texts of {set_name}"
    write_task_report(run, evaluation, TaskReport(subtitle, ("accuracy", "macro_f1"), sections, figures), epochs)


_MISTAKES = "Texts whose prediction was wrong and sure of itself: label errors are likely among them."


def tabulate_classes(confusion: Confusion) -> Table:
    """Precision, recall, F1 of every class, and how often it occurs and is predicted."""
    matrix = confusion.matrix
    scores = (class_precision(matrix), class_recall(matrix), class_f1(matrix))
    counts = (matrix.sum(axis=1), matrix.sum(axis=0))
    columns = [*(np.round(100 * values, 1).tolist() for values in scores), *(values.tolist() for values in counts)]
    return Table.from_rows(
        {"class": label, "precision": p, "recall": r, "F1": f, "texts": int(gold), "predicted": int(predicted)}
        for label, p, r, f, gold, predicted in zip(confusion.classes, *columns, strict=True)
    )


def show_class_scores(confusions: Mapping[str, Confusion], set_name: str) -> ExampleSection:
    """F1 of every class by each of several classifiers."""
    classes = sorted({name for confusion in confusions.values() for name in confusion.classes})
    columns: dict[str, list[Value]] = {"class": list(classes)}
    for run, confusion in confusions.items():
        scores = dict(zip(confusion.classes, np.round(100 * class_f1(confusion.matrix), 1).tolist(), strict=True))
        columns[run] = [scores.get(name) for name in classes]
    return ExampleSection("Classes", table=Table(columns), note=f"F1 of each class on {set_name}, best trials first.")


def tabulate_mistakes(evaluation: ClassificationEvaluation) -> Table:
    """The wrong predictions, the most probable first."""
    wrong = sorted((t for t in evaluation.texts if not t.is_correct), key=lambda t: -t.prediction.probability)
    return Table.from_rows(
        {
            "text": text.example.text,
            "label": ", ".join(text.example.labels),
            "prediction": text.prediction.label,
            "probability": text.prediction.probability,
        }
        for text in wrong[:MAX_MISTAKES]
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
    return [chart.with_name("confusion")]


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
