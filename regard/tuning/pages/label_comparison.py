"""A comparison of predicted labels as a page and as files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.exchange import write_folder
from regard.formats import tsv
from regard.jobs.label_comparison import LabelComparison, LabelSystem
from regard.metrics.labels import Confusion, class_f1, class_precision, class_recall
from regard.progress import stage
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
    render_page,
    to_csv,
    write_page,
)
from regard.run import write_text

MAX_CONFUSION_CLASSES = 30
MAX_SHOWN_ERRORS = 20


def write_label_comparison(comparison: LabelComparison, folder: Path) -> None:
    """Write report.html, confusion matrices and predictions.tsv into a folder."""
    with write_folder(folder) as staged:
        sections = [Section("Scores", _show_scores(comparison))]
        for number, system in enumerate(comparison.systems):
            if system.confusion is not None:
                chart = _draw_confusion(system.name, system.confusion, number)
                chart.save(staged / "charts")
                matrix = _tabulate_confusion(system.confusion)
                write_text(staged / f"confusion-{number}.csv", to_csv(matrix))
                parts: list[PagePart] = [Figure(chart), TableView(tabulate_classes(system.confusion))]
                sections.append(Section(f"Classes: {system.name}", parts))
        if comparison.has_errors:
            sections.append(Section("Errors", _show_errors(comparison)))
        write_text(staged / "predictions.tsv", format_predictions(comparison))
        names = " · ".join(system.name for system in comparison.systems)
        subtitle = f"{len(comparison.gold):,} {comparison.unit} of {comparison.name}"
        with stage("writing the page"):
            write_page(staged / "report.html", render_page(f"Comparison: {names}", subtitle, sections))


def tabulate_classes(confusion: Confusion) -> Table:
    """A row for each class: precision, recall, F1, and how often it occurs."""
    matrix = confusion.matrix
    values = (class_precision(matrix), class_recall(matrix), class_f1(matrix))
    rows: list[dict[str, Value]] = [
        {
            "class": name,
            "precision": round(100 * float(values[0][n]), 1),
            "recall": round(100 * float(values[1][n]), 1),
            "F1": round(100 * float(values[2][n]), 1),
            "texts": int(matrix[n].sum()),
            "predicted": int(matrix[:, n].sum()),
        }
        for n, name in enumerate(confusion.classes)
    ]
    return Table.from_rows(rows)


def format_predictions(comparison: LabelComparison) -> str:
    """A row for each text: the text, its labels, and the predictions of every system."""
    header = ["text", "gold", *(system.name for system in comparison.systems)]
    answers: Sequence[Sequence[tuple[str, ...]]] = [comparison.gold, *(s.predictions for s in comparison.systems)]
    rows = [
        tsv.format_row([text, *(" ".join(row) for row in rows_of_text)])
        for text, *rows_of_text in zip(comparison.texts, *answers, strict=True)
    ]
    return "\n".join([tsv.format_row(header), *rows]) + "\n"


def _show_scores(comparison: LabelComparison) -> list[PagePart]:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems:
        row: dict[str, Value] = {"system": system.name}
        rows.append(row | {score.name: score.format_margin(1) for score in system.scores.values()})
    tests: list[dict[str, Value]] = [
        {
            "system": name,
            "measure": comparison.baseline.scores[measure].name,
            "difference": f"{test.difference:+.2f}",
            "paired bootstrap": f"{test.p_bootstrap:.4f}",
            "approximate randomization": f"{test.p_randomized:.4f}",
            "verdict": test.verdict,
        }
        for measure, results in comparison.tests.items()
        for name, test in results.items()
    ]
    parts: list[PagePart] = [TableView(Table.from_rows(rows), "± is half the width of the 95% confidence interval.")]
    if comparison.majority:
        label, accuracy = comparison.majority
        parts.append(Paragraph(f"Always predicting {label!r}, the most frequent label, has accuracy {accuracy:.1f}."))
    if tests:
        note = f"Against {comparison.baseline.name}; p-values are corrected where several systems are tested (Holm)."
        parts.append(TableView(Table.from_rows(tests), note))
    signatures = "\n\n".join(f"{score.name}: {score.signature}" for score in comparison.baseline.scores.values())
    return [*parts, Paragraph(signatures)]


def _draw_confusion(name: str, confusion: Confusion, number: int) -> Chart:
    """The confusion matrix as shares of each gold class; of many classes, those that are confused most."""
    matrix, shown = confusion.matrix, _select_classes(confusion)
    shares = matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))
    names = [confusion.classes[n] for n in shown]
    subset = f" ({len(shown)} of {len(matrix)} classes, those with the most errors)" if len(shown) < len(matrix) else ""
    return heatmap_chart(
        shares[np.ix_(shown, shown)].tolist(),
        names,
        names,
        title=f"Confusion of {name}{subset}",
        row_title="gold",
        column_title="predicted",
        value_title="share of the gold class",
    ).with_name(f"confusion-{number}")


def _select_classes(confusion: Confusion) -> list[int]:
    matrix = confusion.matrix
    errors = matrix.sum(axis=0) + matrix.sum(axis=1) - 2 * np.diagonal(matrix)
    most = np.argsort(-errors, kind="stable")[:MAX_CONFUSION_CLASSES]
    return sorted(most.tolist())


def _tabulate_confusion(confusion: Confusion) -> Table:
    rows: list[dict[str, Value]] = []
    for name, counts in zip(confusion.classes, confusion.matrix, strict=True):
        row: dict[str, Value] = {"gold": name}
        rows.append(row | {other: int(count) for other, count in zip(confusion.classes, counts, strict=True)})
    return Table.from_rows(rows)


def _show_errors(comparison: LabelComparison) -> list[PagePart]:
    """Texts that the best system has wrong, with the predictions of all."""
    best: LabelSystem = comparison.best
    rows: list[dict[str, Value]] = []
    for n, (text, gold) in enumerate(zip(comparison.texts, comparison.gold, strict=True)):
        if best.predictions[n] != gold and len(rows) < MAX_SHOWN_ERRORS:
            row: dict[str, Value] = {"text": text, "gold": " ".join(gold)}
            rows.append(row | {system.name: " ".join(system.predictions[n]) for system in comparison.systems})
    if not rows:
        return [Paragraph(f"{best.name} has no errors.")]
    note = f"The first {len(rows)} {comparison.unit} that {best.name} has wrong; predictions.tsv has all."
    return [TableView(Table.from_rows(rows), note)]
