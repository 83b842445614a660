"""Sentences about a study say what its numbers are, whichever way the metric points."""

from dataclasses import replace
from pathlib import Path

import pytest

from regard.errors import DataError, FormatError
from regard.evaluation import evaluate
from regard.formats import Pair
from regard.jobs.tasks.comparison import name_systems
from regard.tuning.analysis import findings
from regard.tuning.analysis.curves import LossCurve, find_turning_point
from regard.tuning.analysis.evidence import StudyAnalysis
from regard.tuning.analysis.findings import (
    MAX_LISTED_TRIALS,
    describe_correction,
    describe_effects,
    describe_failures,
    describe_importances,
    describe_overfitting,
    describe_significance,
    summarize_trials,
)
from regard.tuning.compare import (
    System,
    _read_translations,
    compare_systems,
    largest_differences,
)
from tests.tuning.pages.test_study import analysis_of, result
from tests.tuning.synthetic import study_of


def by_loss(*rows) -> StudyAnalysis:
    return StudyAnalysis(study_of(sets={row.name: {"model.layers": 1} for row in rows}), rows)


def test_the_best_and_the_last_are_named_with_their_distance():
    rows = [result(1, 20.0), result(2, 23.5), replace(result(3, 1.0), state="failed", reason="no memory")]
    waiting = replace(result(4, 1.0), state="waiting", value=None)
    text = summarize_trials(analysis_of(*rows, waiting))
    assert text == (
        "Best on dev: set 2 with dev BLEU 23.50; the last of the ranking is set 1 with dev BLEU 20.00, 3.50 worse. "
        "4 trials: 2 complete, 1 failed, 1 not started."
    )
    assert "Best on dev: set 1 with dev loss 20.00;" in summarize_trials(by_loss(*rows[:2]))
    assert summarize_trials(analysis_of(result(1, 20.0), result(2, 20.001))).endswith(
        "have the same score. 2 trials: 2 complete."
    )
    assert (
        summarize_trials(analysis_of(result(1, 20.0))) == "Best on dev: set 1 with dev BLEU 20.00. 1 trial: 1 complete."
    )
    assert describe_failures(analysis_of(*rows)) == "Set 3 failed: no memory"


def test_effects_point_in_the_direction_of_the_metric():
    def rows(*values: float):
        return [result(n, value, **{"model.layers": 2 * (n // 6) + 2}) for n, value in enumerate(values)]

    rising = [v + 0.01 * n for n, v in enumerate([20.0] * 6 + [22.0] * 6 + [24.0] * 6)]
    (text,) = describe_effects(analysis_of(*rows(*rising)))
    assert text.startswith(
        "Depth (model.layers), dev BLEU by value: 2: 20.02 (mean of 6), 4: 22.09 (mean of 6), 6: 24.14 (mean of 6)."
    )
    assert "Best at 6; higher is better throughout, 4.12 between the best and the worst; permutation test p = " in text
    assert text.endswith(": significant.")
    (loss,) = describe_effects(by_loss(*rows(*rising)))
    assert "Best at 2; lower is better throughout" in loss
    (mixed,) = describe_effects(analysis_of(*rows(*rising[:6], *rising[12:], *rising[6:12])))
    assert "Best at 4; no monotonic trend" in mixed
    (two,) = describe_effects(analysis_of(*rows(*rising[:12])))
    assert "Best at 4; the higher value is better" in two


def test_a_continuous_setting_has_a_correlation():
    rows = [result(n, 20.0 + n, **{"model.dropout": 0.01 * n}) for n in range(9)]
    (text,) = describe_effects(analysis_of(*rows))
    assert text.startswith("Dropout from 0 to 0.08: higher values were better (rank correlation +1.00, p = 0.0")
    (loss,) = describe_effects(by_loss(*rows))
    assert "lower values were better (rank correlation -1.00" in loss
    noise = [result(n, 20.0 + n * 5 % 9, **{"model.dropout": 0.01 * n}) for n in range(9)]
    assert "no significant trend" in describe_effects(analysis_of(*noise))[0]


def curve(*dev: float, falls: bool = True) -> LossCurve:
    train = [5.0 - 0.1 * n if falls else 5.0 + 0.1 * n for n in range(len(dev))]
    return LossCurve([100.0 * (n + 1) for n in range(len(dev))], train, dev)


def test_a_turning_point_is_where_the_dev_loss_was_lowest():
    assert find_turning_point(curve(3.0, 2.0, 2.5)) == (200.0, 0.5)
    assert find_turning_point(curve(3.0, 2.0, 2.5, falls=False)) is None
    assert find_turning_point(curve(3.0, 2.0, 2.015)) is None and find_turning_point(curve(3.0, 2.0, 2.025)) is not None
    assert find_turning_point(curve(3.0, 2.5, 2.0)) is None and find_turning_point(curve(2.0, 2.5)) is None


def test_overfitting_is_listed_up_to_a_length():
    def text(turning: int, steady: int) -> str:
        rows = [result(n, 20.0) for n in range(turning + steady)]
        curves = {n: curve(3.0, 2.0, 2.5) if n < turning else curve(3.0, 2.5, 2.0) for n in range(turning + steady)}
        return describe_overfitting(analysis_of(*rows, loss_curves=curves))

    assert text(1, 0) == (
        "Overfitting, dev loss rising while training loss falls: set 0 from step 200 on (dev loss rises by 0.50 to "
        "the end, training loss falls to 4.80)."
    )
    assert text(0, 2) == "No overfitting in set 0 and set 1."
    assert text(0, MAX_LISTED_TRIALS).count("set ") == MAX_LISTED_TRIALS
    assert text(0, MAX_LISTED_TRIALS + 1) == f"No overfitting in any of the {MAX_LISTED_TRIALS + 1} trials."
    assert f"No overfitting in the other {MAX_LISTED_TRIALS + 1} trials." in text(1, MAX_LISTED_TRIALS + 1)
    assert text(MAX_LISTED_TRIALS, 0).count("set ") == MAX_LISTED_TRIALS and "more" not in text(MAX_LISTED_TRIALS, 0)
    assert text(MAX_LISTED_TRIALS + 2, 0).endswith("and 2 more.")


def test_what_several_seeds_show_is_pooled():
    rows = [result(n, 20.0 + n, seeds=(-1.0, 1.0)) for n in (1, 2)]
    assert findings._pooled_seed_std(analysis_of(*rows)) == pytest.approx(2**0.5)
    assert "pooled: 1.41." in describe_significance(analysis_of(*rows))
    alone = describe_significance(analysis_of(result(1, 20.0), result(2, 21.0)))
    assert alone.endswith("so the variation between seeds is not known.")
    assert describe_significance(analysis_of(result(1, 20.0))) == "" and describe_correction(analysis_of(*rows)) == ""


def test_importances_are_sorted_and_leave_a_rest():
    rows = [result(n, 20.0 + n) for n in range(3)]
    text = describe_importances(analysis_of(*rows, importances={"model.dim": 0.2, "model.layers": 0.5}))
    assert text.startswith("Importance (fANOVA, share of the variance): layers 50%, dim 20%; 30% is explained by no")
    assert "With 3 trials, this is only an indication." in text
    assert "explained by no" not in describe_importances(analysis_of(*rows, importances={"model.dim": 0.996}))


def system(name: str, lines: list[str], pairs: list[Pair]) -> System:
    return System(name, evaluate(lambda _: lines, pairs))


def test_systems_are_compared_with_the_first(tmp_path: Path):
    references = [f"the cat number {n} sat on a mat ." for n in range(23)]
    pairs = [Pair("x", reference) for reference in references]
    good, bad = system("good", list(references), pairs), system("bad", ["a dog"] * 22 + references[22:], pairs)
    found = compare_systems("test", pairs, [good, bad])
    assert found.baseline is good and found.as_dict()["good"]["bleu"]["p_bootstrap"] is None
    assert found.as_dict()["bad"]["bleu"]["p_bootstrap"] < 0.01
    rows = found.as_dict()["bad"]["bleu"]
    assert rows["value"] == bad.evaluation.scores["bleu"].value and rows["p_randomized"] < 0.01
    assert len(largest_differences(found, bad, 5)) == 5
    assert 22 not in largest_differences(found, bad, 99) and len(largest_differences(found, bad, 99)) == 22
    assert compare_systems("test", pairs, [good]).bootstrap == {}
    assert repr(found) == "<Comparison of good, bad on 23 sentences>"


def test_systems_have_different_names_and_as_many_lines_as_pairs(tmp_path: Path):
    a, b = tmp_path / "a" / "run", tmp_path / "b" / "run"
    assert name_systems([a, tmp_path / "c"]) == ["run", "c"] and name_systems([a, b]) == [str(a), str(b)]
    with pytest.raises(DataError, match="given twice"):
        name_systems([a, b, a.parent / "x" / ".." / "run"])
    lines = tmp_path / "lines"
    lines.write_text("one\n\n", encoding="utf-8")
    pairs = [Pair("x", "y")] * 2
    assert _read_translations(lines, pairs, "ref") == ["one", ""]
    with pytest.raises(FormatError, match="has 2 lines, ref has 3 pairs"):
        _read_translations(lines, [*pairs, pairs[0]], "ref")
    with pytest.raises(FormatError, match="no such run or file"):
        _read_translations(tmp_path / "none", pairs, "ref")
