"""The scores of single classes, labels and types: what is not known is not 0, and a sentence says what stands out."""

from pathlib import Path

import pytest

from regard.baselines import OpponentPredictions, compare_labels
from regard.formats.labeled import LabeledText
from regard.jobs.tasks.classification import report
from regard.jobs.tasks.classification.evaluation import ClassificationEvaluation, ClassifiedText
from regard.jobs.tasks.reporting.part_scores import describe_parts, show_part_scores, tabulate_parts
from regard.jobs.tasks.reporting.task_report import TaskReport
from regard.metrics.labels import score_parts
from regard.report import Section
from regard.run import Run
from regard.tasks.classify.classifier import Classification


def classified(text: str, gold: tuple[str, ...], predicted: tuple[str, ...], pair: str | None = None) -> ClassifiedText:
    return ClassifiedText(LabeledText(text, gold, pair), Classification(predicted, 0.9, dict.fromkeys(predicted, 0.9)))


@pytest.fixture
def page_of(tmp_path: Path, monkeypatch):
    """The report that a classifier would write, without a run."""

    def write(texts: list[ClassifiedText], opponents: OpponentPredictions) -> TaskReport:
        gold, predicted = [one.example.labels for one in texts], [one.prediction.labels for one in texts]
        results = tuple(compare_labels(gold, predicted, opponents))
        evaluation = ClassificationEvaluation({}, None, tuple(texts), None, (), results)
        reports: list[TaskReport] = []
        monkeypatch.setattr(report, "write_task_report", lambda run, evaluation, page, epochs: reports.append(page))
        monkeypatch.setattr(report, "draw_reliability", lambda evaluation: [])
        report.write_report(Run(tmp_path), evaluation, "test", 1.0)
        return reports[0]

    return write


def html_of(sections: list[Section]) -> str:
    return "\n".join(section.html("a") for section in sections)


def test_a_score_of_nothing_is_not_known():
    never, always = score_parts([("a",), ("a",)], [("b",), ("b",)])
    assert (never.precision, never.recall, never.f1) == (None, 0, 0)
    assert (always.precision, always.recall, always.f1) == (0, None, 0)
    table = tabulate_parts((never, always), "class", "texts")
    assert list(table["precision"]) == [None, 0.0] and list(table["recall"]) == [0.0, None]


def test_texts_of_several_labels_have_scores_of_each_label_beside_opponents(page_of):
    texts = [classified("one", ("x", "y"), ("x",)), classified("two", (), ("y",)), classified("three", ("y",), ())]
    opponents = OpponentPredictions({"majority": [("y",)] * 3})
    page = page_of(texts, opponents)
    content = html_of(page.sections)
    assert page.sections[0].title == "Labels" and "precision" in content and "predicted" in content
    assert {*page.measures} & opponents_measures(texts, opponents), "the table of opponents has rows"
    assert content.count("no label") == 2, "a text without a label, and a prediction without one"


def opponents_measures(texts: list[ClassifiedText], opponents: OpponentPredictions) -> set[str]:
    gold, predicted = [one.example.labels for one in texts], [one.prediction.labels for one in texts]
    return set(compare_labels(gold, predicted, opponents)[0].scores)


def test_mistakes_about_pairs_show_both_texts(page_of):
    content = html_of(page_of([classified("the first", ("a",), ("b",), "the other")], OpponentPredictions({})).sections)
    assert "the first" in content and "the other" in content and "second text" in content


def test_without_a_mistake_there_is_no_empty_table(page_of):
    content = html_of(page_of([classified("right", ("a",), ("a",))], OpponentPredictions({})).sections)
    assert "No prediction was wrong." in content and "label errors" not in content


def test_a_sentence_says_which_classes_are_weak_and_which_are_never_predicted():
    gold = [(name,) for name in "aabbccddee"]
    predicted = [(name,) for name in "aabbcbddca"]
    assert describe_parts(score_parts(gold, predicted), "classes") == (
        "1 of 5 classes is never predicted: e. The lowest F1 of the others: c (50.0), a (80.0), b (80.0)."
    )
    assert describe_parts(score_parts(gold[:4], predicted[:4]), "classes") == ""
    one_of_two = score_parts([("a",), ("b",)], [("a",), ("a",)])
    assert describe_parts(one_of_two, "classes") == "1 of 2 classes is never predicted: b."
    assert "precision is not known" in describe_parts(score_parts([("a",)], [()]), "labels")


def test_several_systems_share_the_rows_of_a_table():
    systems = {"one": score_parts([("a",)], [("a",)]), "two": score_parts([("a",)], [("b",)])}
    section = show_part_scores(systems, "label", "labels", "dev")
    assert section.table is not None and list(section.table["label"]) == ["a", "b"]
    assert list(section.table["one"]) == [100.0, None] and list(section.table["two"]) == [0.0, 0.0]
    assert "not known" in section.note
