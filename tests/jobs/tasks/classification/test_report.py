"""The confusion matrix of a report: readable with many classes, and a share that is not known is not 0."""

import numpy as np
import pytest

from regard.config import Config
from regard.jobs.tasks.classification.evaluation import ClassificationEvaluation
from regard.jobs.tasks.classification.report import MAX_MATRIX_CLASSES, draw_confusion, tabulate_confusions
from regard.jobs.tasks.reporting.curves import flatten_settings
from regard.metrics.labels import count_confusion


def cells_of(gold: list[str], predicted: list[str]) -> tuple[str, list[dict]]:
    evaluation = ClassificationEvaluation({}, None, (), count_confusion(gold, predicted), ())
    (chart,) = draw_confusion(evaluation)
    return chart.title, chart.spec["datasets"]["cells"]


def test_of_many_classes_those_with_most_errors_are_drawn():
    gold = [f"class {n:02d}" for n in range(77) for _ in range(7)]
    predicted = [*gold]
    for n in range(38):
        predicted[7 * (2 * n)] = f"class {2 * ((n + 1) % 38):02d}"
    title, cells = cells_of(gold, predicted)
    assert f"{MAX_MATRIX_CLASSES} of 77 classes" in title and len(cells) == MAX_MATRIX_CLASSES**2
    diagonal = [cell["weight"] for cell in cells if cell["row"] == cell["column"]]
    assert sum(weight < 1 for weight in diagonal) == 38, "each class with an error of its own is there"


def test_shares_are_those_of_each_class_and_unknown_where_it_has_no_text():
    title, cells = cells_of(["a", "a", "a", "b"], ["a", "a", "c", "b"])
    weights = np.array([[np.nan if c["weight"] is None else c["weight"] for c in cells]]).reshape(3, 3)
    assert weights[:2] == pytest.approx(np.array([[2 / 3, 0, 1 / 3], [0, 1, 0]])) and np.isnan(weights[2]).all()
    assert "of 3 classes" not in title


def test_a_report_lists_the_settings_of_its_own_task_alone():
    sections = {name.split(".")[0] for name in flatten_settings(Config(task="classify"))}
    assert sections == {"task", "data", "model", "train", "classify"}


def test_of_many_classes_the_most_frequent_confusions_are_listed():
    gold = [f"c{n}" for n in range(8) for _ in range(4)]
    predicted = ["c1", "c1", "c1", "c2", *gold[4:]]
    table = tabulate_confusions(count_confusion(gold, predicted))
    assert [tuple(row.values()) for row in table.rows()] == [("c0", "c1", 3, "75%"), ("c0", "c2", 1, "25%")]
    assert not len(tabulate_confusions(count_confusion(["a", "b"], ["b", "a"]))), "a small matrix is seen at a glance"
