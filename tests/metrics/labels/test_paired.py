"""Paired tests of predictions: equal systems do not differ, clearly better ones do, and several are corrected."""

import numpy as np
import pytest

from regard.metrics.labels import (
    SPAN_MEASURES,
    compare_with_baseline,
    count_confusion,
    count_spans,
    flat_measure,
    statistics,
)
from regard.metrics.labels.paired import LabelTest
from regard.metrics.labels.statistics import TableCounts, score_draws, score_exchanged
from regard.metrics.significance import PAIRED_TESTS, bootstrap_p_value, randomization_p_value


def predictions(rng, gold, accuracy):
    return [label if rng.random() < accuracy else str(rng.integers(3)) for label in gold]


def compare(gold, systems, name="accuracy"):
    classes = sorted({*gold, *(label for labels in systems.values() for label in labels)})
    counts = {name: count_confusion(gold, labels, classes).counts for name, labels in systems.items()}
    first = next(iter(systems.values()))
    differing = {name: sum(a != b for a, b in zip(first, labels, strict=True)) for name, labels in systems.items()}
    return compare_with_baseline(counts, differing, flat_measure(name, len(classes)))


def test_a_system_does_not_differ_from_itself():
    gold = list("012" * 20)
    test = compare(gold, {"a": gold, "b": gold})["b"]
    assert (test.difference, test.p_bootstrap, test.p_randomized) == (0, 1, 1)
    assert test.verdict == "the same predictions"


@pytest.mark.parametrize("name", ["accuracy", "macro_f1", "mcc"])
def test_a_clear_difference_is_found_and_a_small_one_is_not(name):
    rng = np.random.default_rng(3)
    gold = [str(n) for n in rng.integers(3, size=300)]
    weak, strong = predictions(rng, gold, 0.5), predictions(rng, gold, 0.8)
    nearly = [*weak[:-6], *gold[-6:]]
    tests = compare(gold, {"weak": weak, "strong": strong, "nearly": nearly}, name)
    assert tests["strong"].difference > 10 and tests["strong"].verdict == "significant by both tests"
    assert tests["nearly"].verdict != "significant by both tests"


def test_few_differences_are_not_tested():
    gold = list("01" * 30)
    assert compare(gold, {"a": gold, "b": ["1", *gold[1:]]})["b"].verdict == (
        "only 1 of the predictions differ, too few for a test"
    )


def test_several_systems_are_corrected():
    rng = np.random.default_rng(5)
    gold = [str(n) for n in rng.integers(3, size=200)]
    weak, better = predictions(rng, gold, 0.6), predictions(rng, gold, 0.72)
    alone = compare(gold, {"weak": weak, "better": better})["better"]
    among = compare(gold, {"weak": weak, "better": better, "again": better[::-1], "same": weak})["better"]
    assert alone.p_bootstrap < among.p_bootstrap and alone.difference == among.difference


def test_draws_are_sums_of_the_drawn_examples():
    rng = np.random.default_rng(7)
    gold, labels = ([str(n) for n in rng.integers(3, size=17)] for _ in range(2))
    confusion, measure = count_confusion(gold, labels), flat_measure("macro_f1", 3)
    weights = rng.integers(0, 4, size=(5, 17))
    expected = [
        measure(
            count_confusion(np.repeat(gold, row).tolist(), np.repeat(labels, row).tolist(), list("012")).counts.total()
        )
        for row in weights
    ]
    assert score_draws(confusion.counts, weights, measure) == pytest.approx(expected)


def test_cells_and_tables_are_exchanged_alike():
    rng = np.random.default_rng(9)
    gold = [str(n) for n in rng.integers(2, size=13)]
    one, two = (count_confusion(gold, [str(n) for n in rng.integers(2, size=13)], list("01")).counts for _ in range(2))
    tables = [TableCounts(np.eye(4)[counts.cells], np.ones(13)) for counts in (one, two)]
    draws, measure = rng.integers(2, size=(11, 13), dtype=bool), flat_measure("accuracy", 2)
    cells = score_exchanged(one, two, draws, measure)
    assert cells == pytest.approx(score_exchanged(*tables, draws, measure))
    assert score_exchanged(one, two, ~draws, measure) == pytest.approx(-cells), "exchanging all changes the sign"
    difference = float(measure(two.total()) - measure(one.total()))
    nothing = score_exchanged(one, two, np.zeros((1, 13), dtype=bool), measure)
    assert difference != 0 and nothing == pytest.approx([difference])


def test_spans_are_tested_over_sentences():
    gold = [[("x", n, n + 1)] for n in range(40)]
    counts = {"none": count_spans(gold, [[]] * 40), "all": count_spans(gold, gold)}
    test = compare_with_baseline(counts, {"none": 0, "all": 40}, SPAN_MEASURES["f1"][1])["all"]
    assert test.difference == 100 and test.verdict == "significant by both tests"


@pytest.mark.slow
def test_equal_systems_differ_significantly_in_one_case_of_twenty(record_property):
    rng = np.random.default_rng(1)
    significant = np.zeros(2)
    for _ in range(400):
        gold = [str(n) for n in rng.integers(3, size=100)]
        test = compare(gold, {"a": predictions(rng, gold, 0.6), "b": predictions(rng, gold, 0.6)}, "macro_f1")["b"]
        significant += np.array([test.p_bootstrap, test.p_randomized]) < 0.05
    record_property("sizes", str((significant / 400).tolist()))
    assert (significant / 400 < 0.085).all() and (significant / 400 > 0.02).all()


@pytest.mark.parametrize(
    ("differing", "bootstrap", "randomized", "verdict"),
    [
        (0, 0.01, 0.01, "the same predictions"),
        (4, 0.01, 0.01, "only 4 of the predictions differ, too few for a test"),
        (5, 0.01, 0.01, "significant by both tests"),
        (5, 0.05, 0.01, "the two tests disagree"),
        (5, 0.01, 0.05, "the two tests disagree"),
        (5, 0.05, 0.05, "not significant by either test"),
    ],
)
def test_a_verdict_needs_differences_and_both_tests(differing, bootstrap, randomized, verdict):
    assert LabelTest(1.0, differing, bootstrap, randomized).verdict == verdict


def test_the_first_system_is_the_baseline_of_all_others():
    gold = list("01" * 20)
    worse, better = ["0"] * 40, [*gold[:-4], "1", "0", "1", "0"]
    tests = compare(gold, {"worse": worse, "better": better, "gold": gold})
    assert list(tests) == ["better", "gold"]
    assert [test.difference for test in tests.values()] == pytest.approx([40, 50])
    assert tests["gold"].num_differing == 20


@pytest.mark.parametrize("elements", [1, 7, 100])
def test_how_many_sums_are_in_memory_changes_nothing(elements, monkeypatch):
    rng = np.random.default_rng(11)
    gold, one, two = ([str(n) for n in rng.integers(3, size=17)] for _ in range(3))
    first, other = (count_confusion(gold, labels, list("012")).counts for labels in (one, two))
    weights, draws = rng.integers(0, 4, size=(13, 17)), rng.integers(2, size=(13, 17), dtype=bool)
    measure = flat_measure("macro_f1", 3)
    expected = (
        score_draws(first, weights, measure),
        score_exchanged(first, other, draws, measure),
        first.leave_one_out(measure),
    )
    monkeypatch.setattr(statistics, "MAX_ELEMENTS", elements)
    found = (
        score_draws(first, weights, measure),
        score_exchanged(first, other, draws, measure),
        first.leave_one_out(measure),
    )
    for mine, theirs in zip(found, expected, strict=True):
        assert mine == pytest.approx(theirs)


def test_p_values_are_those_of_the_same_draws():
    rng = np.random.default_rng(13)
    gold, one, two = ([str(n) for n in rng.integers(2, size=31)] for _ in range(3))
    counts = {name: count_confusion(gold, labels, list("01")).counts for name, labels in (("a", one), ("b", two))}
    measure = flat_measure("accuracy", 2)
    test = compare_with_baseline(counts, {"a": 0, "b": 9}, measure)["b"]
    rights = [np.array([a == b for a, b in zip(gold, labels, strict=True)], float) for labels in (one, two)]
    draws, exchanges = (PAIRED_TESTS[kind].draw(31, 12345) for kind in ("bs", "ar"))
    observed = 100 * (rights[1] - rights[0]).mean()
    resampled = 100 * (draws @ (rights[1] - rights[0])) / 31
    exchanged = 100 * ((1 - 2.0 * exchanges) @ (rights[1] - rights[0])) / 31
    assert test.difference == pytest.approx(observed) and observed != 0
    assert test.p_bootstrap == pytest.approx(bootstrap_p_value(abs(observed), resampled, 31))
    assert test.p_randomized == pytest.approx(randomization_p_value(abs(observed), exchanged))


def test_every_text_counts_once_and_a_table_has_its_columns():
    counts = count_confusion(list("0110"), list("0100")).counts
    assert counts.sizes.tolist() == [1, 1, 1, 1] and counts.num_counts == 4 and counts.total().tolist() == [2, 0, 1, 1]
    table = TableCounts(np.arange(6.0).reshape(2, 3), np.ones(2))
    assert table.num_counts == 3 and table.total().tolist() == [3, 5, 7]
