"""The page of a comparison holds its numbers; errors are those of the best system."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lxml import html

import regard
from regard.jobs.tasks.comparison import TaskComparison
from regard.jobs.tasks.reporting.part_scores import tabulate_parts
from regard.metrics.labels import count_confusion, score_parts
from regard.tuning.pages import task_comparison as page
from regard.tuning.pages.task_comparison import (
    MAX_CONFUSION_CLASSES,
    MAX_SHOWN_ERRORS,
    format_predictions,
    write_task_comparison,
)
from tests.tuning.pages.test_tables import column, tables

GOLD = ["a"] * 7 + ["b"] * 5 + ["c"] * 11
WEAK = ["a"] * 23
GOOD = ["a"] * 6 + ["b"] * 6 + ["c"] * 10 + ["a"]  # two wrong: number 6 and the last one


@pytest.fixture(scope="module")
def comparison(tmp_path_factory) -> TaskComparison:
    folder = tmp_path_factory.mktemp("labels")
    rows = [f"text {n},{label}" for n, label in enumerate(GOLD)]
    (folder / "test.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    for name, labels in (("weak", WEAK), ("good", GOOD)):
        (folder / name).write_text("".join(f"{label}\n" for label in labels))
    return regard.compare(folder / "weak", folder / "good", on=folder / "test.csv")


@pytest.fixture(scope="module")
def written(comparison: TaskComparison, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "out"
    write_task_comparison(comparison, folder)
    return folder


def test_each_class_has_its_precision_and_its_recall():
    table = tabulate_parts(score_parts(list("aaabbbbbcc"), list("aabbbbbbaa")), "class", "texts")
    assert list(table["class"]) == ["a", "b", "c"]
    assert list(table["precision"]) == [50.0, 83.3, None] and list(table["recall"]) == [66.7, 100.0, 0.0]
    assert list(table["F1"]) == [57.1, 90.9, 0.0]
    assert list(table["texts"]) == [3, 5, 2] and list(table["predicted"]) == [4, 6, 0]


def test_gold_classes_are_rows_and_their_shares_add_up_to_one():
    confusion = count_confusion(list("aaabbbbbcc"), list("aabbbbbbaa"), ["d"])
    matrix = page.tabulate_confusion(confusion)
    assert list(matrix["gold"]) == ["a", "b", "c", "d"]
    assert [list(matrix[name]) for name in "abcd"] == [[2, 0, 2, 0], [1, 5, 0, 0], [0] * 4, [0] * 4]
    chart = page.draw_confusion("mine", confusion, 3)
    assert chart.name == "confusion-3" and chart.title == "Confusion of mine"
    (cells,) = (rows for rows in chart.spec["datasets"].values() if len(rows) == 16)
    shares = sorted(value for row in cells for value in row.values() if isinstance(value, float))
    assert shares[-4:] == pytest.approx([1 / 3, 2 / 3, 1, 1]) and not any(shares[:-4])


def test_of_many_classes_those_with_most_errors_are_drawn(monkeypatch):
    gold = ["a"] * 3 + ["b"] * 5 + ["c"] * 7 + ["d"] * 2
    predicted = ["b"] * 3 + ["b"] * 5 + ["c"] * 7 + ["a", "d"]
    confusion = count_confusion(gold, predicted)
    monkeypatch.setattr(page, "MAX_CONFUSION_CLASSES", 2)
    assert page.select_classes(confusion) == [0, 1]  # a: 3 + 1 errors, b: 3, d: 1, c: none
    assert page.draw_confusion("m", confusion, 0).title.endswith("(2 of 4 classes, those with the most errors)")
    monkeypatch.setattr(page, "MAX_CONFUSION_CLASSES", 4)
    assert page.select_classes(confusion) == [0, 1, 2, 3] and MAX_CONFUSION_CLASSES == 30


def test_files_hold_all_predictions_and_every_confusion(comparison: TaskComparison, written: Path):
    lines = (written / "predictions.tsv").read_text().splitlines()
    assert lines[0] == "text\tgold\tweak\tgood" and len(lines) == 24 and lines[7] == "text 6\ta\ta\tb"
    assert format_predictions(comparison).splitlines() == lines
    for number, name in enumerate(("weak", "good")):
        assert (written / "charts" / f"confusion-{number}.svg").exists(), name
    assert (written / "confusion-1.csv").read_text().split() == ["gold,a,b,c", "a,6,1,0", "b,0,5,0", "c,1,0,10"]
    matrix = comparison.systems[1].confusion.matrix
    assert np.diagonal(matrix).tolist() == [6, 5, 10]


def test_the_page_has_scores_tests_and_errors(comparison: TaskComparison, written: Path):
    text = (written / "report.html").read_text(encoding="utf-8")
    found = tables(text)
    scores = found["± is half the width of the 95% confidence interval."]
    assert column(scores, "system") == ["weak", "good"]
    assert [cell.split()[0] for cell in column(scores, "accuracy")] == ["30.4", "91.3"]
    tests = {dict(row)["measure"]: dict(row) for row in found["Against weak, over texts."]}
    for measure, results in comparison.tests.items():
        row = tests[comparison.baseline.scores[measure].name]
        assert row["system"] == "good" and row["difference"] == f"{results['good'].difference:+.2f}"
        assert row["paired bootstrap"] == f"{results['good'].p_bootstrap:.4f}"
        assert row["approximate randomization"] == f"{results['good'].p_randomized:.4f}"
        assert row["verdict"] == f"better: {results['good'].verdict}"
    errors = found["All 2 texts that good has wrong."]
    assert [[cell for _, cell in row] for row in errors] == [["text 6", "a", "a", "b"], ["text 22", "c", "a", "a"]]
    words = " ".join("".join(html.fromstring(text).itertext()).split())
    assert "Always predicting 'c', the most frequent label, has accuracy 47.8." in words
    assert "23 texts of test" in words and "Classes: weak" in words and "Classes: good" in words
    assert all(score.signature in words for score in comparison.baseline.scores.values())


def test_errors_are_listed_up_to_a_length_and_their_absence_is_said(comparison: TaskComparison):
    weak, good = comparison.systems
    none, others = page._show_errors(replace(comparison, systems=[weak, replace(good, answers=comparison.gold)])).parts
    assert none.text == "good has no errors."
    assert others.caption == "All 16 texts that good has right, and another system wrong."
    assert set(others.table["good"]) == {"b", "c"} and set(others.table["weak"]) == {"a"}
    texts = [f"t{n}" for n in range(23)]
    wrong = replace(good, answers=[("x",)] * 23)
    wrong_too = replace(weak, answers=[("y",)] * 23)
    (many,) = page._show_errors(replace(comparison, texts=texts, systems=[wrong, wrong_too])).parts
    assert len(many.table) == MAX_SHOWN_ERRORS == 20 and many.table["text"][-1] == "t19"
    assert many.caption == "The first 20 of 23 texts that good has wrong; predictions.tsv has all."
    long = page._show_errors(replace(comparison, texts=["x" * 400] * 23, systems=[wrong])).parts[0]
    assert long.table["text"][0] == "x" * 299 + "…"


def test_a_page_of_files_alone_has_no_sections_of_runs(written: Path):
    text = (written / "report.html").read_text(encoding="utf-8")
    assert not any(title in text for title in ("Settings that differ", "Curves", "Cost and quality"))
