"""Curves, effects and recommendations from numbers that are known."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from regard.jobs.tasks.task_metric import PredictionWords
from regard.metrics import PairedTestResult
from regard.run import Run, write_text
from regard.tuning.analysis.cost import collect_costs, draw_cost_charts
from regard.tuning.analysis.curves import (
    CurvePoint,
    LogCurves,
    LossCurve,
    curve_unit,
    find_turning_point,
    read_log_curves,
)
from regard.tuning.analysis.effects import (
    MAX_DISCRETE_VALUES,
    EffectTest,
    build_blocks,
    find_confounders,
    is_continuous,
    measure_effect,
    select_trials,
)
from regard.tuning.analysis.evidence import compute_importances, correct_claims, find_varying_names
from regard.tuning.analysis.recommend import recommend_trials
from regard.tuning.analysis.wording import capitalize, format_count, format_score, is_visible, join_words
from regard.tuning.measure import RunSummary
from regard.tuning.results import TrialResult, rank_trials
from tests.tuning.pages.test_study import analysis_of, result
from tests.tuning.synthetic import study_of


def record(kind: str, **fields) -> dict:
    step = {"data_position": [0, 0], "tokens": 9, "learning_rate": 1.0, "grad_norm": 1.0, "accuracy": 0.25}
    validation = {"accuracy": 0.5, "score": None}
    return {"kind": kind, **(step if kind == "step" else validation), **fields}


LOG = [
    record("step", number=1, loss=4.0, seconds=30.0, data_position=[0, 1]),
    record("step", number=2, loss=2.0, seconds=30.0, data_position=[0, 2]),
    record("validation", step=2, loss=3.5, seconds=60.0),
    record("step", number=3, loss=1.0, seconds=30.0, data_position=[0, 3]),
    record(
        "validation",
        step=3,
        loss=3.0,
        seconds=30.0,
        score={"name": "BLEU", "value": 12.0, "low": None, "high": None, "signature": "s"},
    ),
]


def test_curves_are_those_of_the_log(tmp_path: Path):
    run = Run(tmp_path)
    assert read_log_curves(run, "steps") is None
    write_text(run.log, "".join(json.dumps(line) + "\n" for line in LOG))
    steps, minutes = read_log_curves(run, "steps"), read_log_curves(run, "minutes")
    assert steps is not None and minutes is not None
    assert steps.steps == [CurvePoint(1.0, 4.0, 25.0), CurvePoint(2.0, 2.0, 25.0), CurvePoint(3.0, 1.0, 25.0)]
    assert steps.validations == [CurvePoint(2.0, 3.5, 50.0), CurvePoint(3.0, 3.0, 50.0, 12.0)]
    assert [point.x for point in minutes.steps] == [0.5, 1.0, 2.5]
    assert [point.x for point in minutes.validations] == [2.0, 3.0]
    curve = steps.loss_curve()
    assert (curve.x, curve.train_loss, curve.dev_loss) == ([2.0, 3.0], [3.0, 1.0], [3.5, 3.0])


def test_a_validation_without_steps_has_the_training_loss_before_it():
    def points(*xs: float) -> list[CurvePoint]:
        return [CurvePoint(x, x, 0.0) for x in xs]

    curve = LogCurves(points(2.0, 4.0), points(1.0, 4.0, 5.0)).loss_curve()
    assert math.isnan(curve.train_loss[0]) and curve.train_loss[1:] == [3.0, 3.0]


def test_the_axis_is_the_budget_that_all_trials_share():
    sets = {"a": {"model.layers": 1}}
    assert curve_unit(study_of(sets=sets)) == "epochs"
    assert curve_unit(study_of(sets=sets, each={"minutes": 3})) == "minutes"
    assert curve_unit(study_of(sets=sets, each={"steps": 3})) == "steps"


def trials(*rows: tuple[float, dict]) -> list[TrialResult]:
    return [result(n, value, **params) for n, (value, params) in enumerate(rows, start=1)]


def test_values_of_a_setting_come_in_order_and_numbers_before_words():
    rows = trials((1.0, {"a": 4}), (2.0, {"a": 2}), (3.0, {"b": 1}), (4.0, {"a": "x"}), (5.0, {"a": 4}))
    found, values = select_trials([*rows, replace(rows[0], value=None, params={"a": 9})], "a")
    assert [one.number for one in found] == [1, 2, 4, 5] and values == [2, 4, "x"]


def test_a_number_of_many_values_is_continuous():
    assert not is_continuous(list(range(MAX_DISCRETE_VALUES))) and is_continuous(list(range(MAX_DISCRETE_VALUES + 1)))
    assert not is_continuous([*range(MAX_DISCRETE_VALUES), "x"]) and not is_continuous([*range(9), None])


def test_blocks_hold_trials_that_are_equal_otherwise():
    rows = [
        result(n, 10.0 * n, seeds=(-1.0, 1.0), a=a, b=b)
        for n, (a, b) in enumerate([(1, "x"), (2, "x"), (1, "y"), (2, "y")])
    ]
    assert build_blocks(rows, "a") == [
        [(1, -1.0), (1, 1.0), (2, 9.0), (2, 11.0)],
        [(1, 19.0), (1, 21.0), (2, 29.0), (2, 31.0)],
    ]
    single = [replace(one, values=(one.value,)) for one in rows]
    assert build_blocks(single, "a") == [[(1, 0.0), (2, 10.0), (1, 20.0), (2, 30.0)]]
    assert build_blocks(rows[:3], "a") == [[(1, 0.0), (2, 10.0), (1, 20.0)]]  # one group has one value only


def test_confounders_are_settings_that_differ_between_best_and_worst():
    rows = trials((1.0, {"a": 1, "b": 1, "c": 1}), (2.0, {"a": 2, "b": 2, "c": 1}), (3.0, {"a": 3, "b": 1, "c": 1}))
    assert find_confounders(rows, "a", 1, 2) == ["b"] and find_confounders(rows, "a", 1, 3) == []


def test_an_effect_is_a_correlation_or_a_permutation():
    rising = trials(*((float(n), {"a": 0.1 * n, "b": n % 2, "c": 7}) for n in range(12)))
    effect = measure_effect(rising, "a")
    assert effect is not None and effect.rho == pytest.approx(1) and effect.significant
    two = measure_effect(rising, "b")
    assert two is not None and two.rho is None and not two.significant and two.can_reach_significance
    assert measure_effect(rising, "c") is None
    assert not EffectTest(0.01, can_reach_significance=False).significant and not EffectTest(0.05).significant


def test_claims_are_corrected_by_the_number_of_tests_that_could_be_significant():
    effects = {"a": EffectTest(0.02), "b": EffectTest(0.03), "c": EffectTest(0.001, can_reach_significance=False)}
    claims = correct_claims({}, effects)
    assert claims.num_tests == 2 and claims.effects["c"] == effects["c"]
    assert (claims.effects["a"].p_value, claims.effects["b"].p_value) == pytest.approx((0.04, 0.04))


def test_importances_need_four_trials_that_differ():
    pytest.importorskip("optuna")
    study = study_of(sampler="random", space={"model.layers": [2, 4], "model.dim": [64, 128]}, trials=4, metric="bleu")
    points = [{"model.layers": a, "model.dim": b} for a in (2, 4) for b in (64, 128)]
    rows = [result(n, 20.0 + point["model.layers"], **point) for n, point in enumerate(points)]
    shares = compute_importances(study, rows)
    assert shares["model.layers"] > 0.9 > 0.1 > shares["model.dim"]
    assert compute_importances(study, rows[:3]) == {}
    assert compute_importances(study, [replace(one, value=20.0) for one in rows]) == {}
    same = [replace(one, params={**one.params, "model.dim": 64}) for one in rows]
    assert find_varying_names(study, same) == ["model.layers"]


def priced(number: int, value: float, parameters: int, seconds: float | None = None) -> TrialResult:
    summary = RunSummary(
        parameters, 10, 1.0, 2.0, 3.0, 4.0, scores={"bleu": {"value": value}}, decoding_seconds=seconds
    )
    return TrialResult(number, f"set {number}", "complete", {}, value, (value,), (summary,))


def recommendation(*rows: TrialResult) -> str:
    return recommend_trials(analysis_of(*rows))


def test_a_cheaper_trial_is_recommended_where_it_is_clearly_cheaper():
    text = recommendation(priced(1, 30.0, 10_000_000), priced(2, 29.0, 8_900_000))
    assert "For quality, choose set 1: dev BLEU 30.00, 10.0 million parameters, 2.0 minutes of training." in text
    assert "For size, choose set 2, the smallest: dev BLEU 29.00, 1.00 worse, 8.9 million" in text
    close = recommendation(priced(1, 30.0, 10_000_000), priced(2, 29.0, 9_100_000))
    assert "No trial is clearly smaller, so choose it for size as well." in close
    assert "speed" not in text  # no time of decoding is known
    fast = recommendation(priced(1, 30.0, 10, 0.01), priced(2, 29.996, 10, 0.002))
    assert "For speed, choose set 2, the fastest to translate: dev BLEU 30.00, no worse" in fast
    assert "2.0 ms to translate a sentence" in fast


@pytest.mark.parametrize(("parameters", "smaller"), [(8_999_999, True), (9_000_000, False), (10_000_000, False)])
def test_clearly_cheaper_is_below_nine_tenths(parameters: int, smaller: bool):
    text = recommendation(priced(1, 30.0, 10_000_000), priced(2, 29.0, parameters))
    assert ("For size, choose set 2" in text) == smaller == ("No trial is clearly smaller" not in text)


def test_a_trial_that_is_as_good_is_recommended_before_one_that_is_worse():
    """Of three, the second is not significantly worse than the best, and the third is the cheapest."""
    rows = priced(1, 30.0, 10_000_000, 0.01), priced(2, 29.5, 8_000_000, 0.02), priced(3, 20.0, 1_000_000, 0.0095)
    tests = {n: PairedTestResult("BLEU", 29.0, p, "s", -1.0) for n, p in ((2, 0.6), (3, 0.0001))}
    text = recommend_trials(replace(analysis_of(*rows), tests=tests))
    assert "For size, choose set 2: dev BLEU 29.50, no significant difference in" in text
    assert "No trial is clearly faster, so choose it for speed as well." in text
    assert recommend_trials(analysis_of(rows[0])).count("choose") == 1, "one trial is the only choice"
    unknown = recommendation(priced(1, 30.0, 10_000_000), priced(2, 29.0, 9_900_000, 0.01))
    assert "speed" not in unknown, "the time of the best one is not known"


@pytest.mark.parametrize(
    ("dev", "train", "turn"),
    [
        ([1.0, 0.0, 0.03], [3.0, 2.0, 1.0], (20.0, 0.03)),
        ([1.0, 0.0, 0.02], [3.0, 2.0, 1.0], None),  # a rise that is too small
        ([1.0, 0.0, 0.03], [3.0, 2.0, 2.0], None),  # the training loss does not fall
        ([0.0, 0.03], [2.0, 1.0], None),  # two validations are too few
        ([1.0, 0.5, 0.25], [3.0, 2.0, 1.0], None),  # the last is the lowest
        ([0.0, 0.5, 0.25, 0.125], [4.0, 3.0, 2.0, 1.0], (10.0, 0.125)),
    ],
)
def test_a_loss_turns_where_dev_rises_while_training_falls(dev: list[float], train: list[float], turn):
    curve = LossCurve([10.0 * (n + 1) for n in range(len(dev))], train, dev)
    assert find_turning_point(curve) == (pytest.approx(turn) if turn else None)


def test_numbers_of_many_values_confound_where_their_means_differ():
    def rows(shift: float, count: int) -> list[TrialResult]:
        return trials(*((1.0, {"a": a, "b": n / 16 + shift * a}) for n in range(count) for a in (0, 1)))

    assert find_confounders(rows(0.0, 8), "a", 0, 1) == [], "the same numbers on both sides"
    assert find_confounders(rows(5.0, 8), "a", 0, 1) == ["b"], "others on the other side"
    apart = trials(*((1.0, {"a": n > 3, "b": n / 16}) for n in range(7)))
    assert find_confounders(apart, "a", True, False) == ["b"]


def test_trials_are_ranked_by_their_metric():
    rows = [
        result(1, 3.0),
        result(2, 5.0),
        result(3, 4.0, collapsed="it is broken"),
        replace(result(4, 9.0), value=None),
    ]
    failed = replace(result(5, 9.0), state="failed")
    sets = {"a": {"model.layers": 1}}
    higher, lower = study_of(sets=sets, metric="bleu"), study_of(sets=sets)
    assert [one.number for one in rank_trials(higher, [*rows, failed])] == [2, 1]
    assert [one.number for one in rank_trials(lower, [*rows, failed])] == [1, 2]
    assert result(7, 1.0).label == "set 7" and replace(result(7, 1.0), name="7").label == "trial 7"


def test_scores_are_said_with_what_is_known_of_their_spread():
    one = analysis_of(result(1, 20.0))
    assert format_score(one, result(1, 20.0)) == "dev BLEU 20.00"
    seeded = result(1, 20.0, seeds=(-1.0, 0.0, 1.0))
    assert format_score(analysis_of(seeded), seeded) == "dev BLEU 20.00 ± 1.00 over 3 seeds"
    summary = replace(seeded.seed_summaries[0], scores={"bleu": {"value": 1.0, "low": 18.0, "high": 23.0}})
    assert format_score(one, replace(result(1, 20.0), seed_summaries=(summary,))) == "dev BLEU 20.00 ± 2.50"


def test_words():
    assert [is_visible(gap, 2) for gap in (0.0, 0.004, 0.006, 1.0)] == [False, False, True, True]
    assert format_count(1, "trial") == "1 trial" and format_count(0, "trial") == "0 trials"
    assert join_words(["a"]) == "a" and join_words(["a", "b"]) == "a and b" and join_words(list("abc")) == "a, b and c"
    assert capitalize("aBC") == "ABC" and capitalize("") == ""


def test_costs_are_drawn_where_two_rows_have_them():
    summary = RunSummary(7, 10, 1.0, 2.0, 3.0, 4.0, decoding_seconds=0.25)
    assert collect_costs(summary) == {"parameters": 7, "minutes": 2.0, "decoding": 250.0}
    assert collect_costs(replace(summary, decoding_seconds=None))["decoding"] is None
    rows = [{"name": f"r{n}", "bleu": float(n), "parameters": n, "minutes": None, "decoding": None} for n in (1, 2)]
    rows[0]["minutes"] = 3.0
    assert [
        chart.name
        for chart in draw_cost_charts(
            rows, "bleu", "BLEU", True, PredictionWords("translate", "translation", "sentence")
        )
    ] == ["parameters-quality"]


def test_a_summary_knows_its_value_by_each_metric():
    summary = RunSummary(7, 10, 1.0, 2.0, 3.0, 4.0, scores={"bleu": {"value": 12}})
    assert (summary.value("loss"), summary.value("bleu"), summary.value("chrf")) == (4.0, 12.0, None)
