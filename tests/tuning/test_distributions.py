"""Distributions, conditions and studies at their limits."""

import itertools
import math
import random

import pytest

from regard import config as settings
from regard.errors import ConfigError
from regard.tuning import space
from regard.tuning import study as studies
from regard.tuning.propose import propose_params
from regard.tuning.space import (
    Categorical,
    Condition,
    Range,
    SearchSpace,
    make_constraint,
    params_key,
    parse_distribution,
    parse_over,
)
from regard.tuning.study import DEFAULT_TRIALS, TrialBudget, format_params, format_value, short_name
from tests.tuning.synthetic import study_of

RANGES = [
    Range(2, 9),
    Range(2, 9, step=3),
    Range(0, 1, step=0.25),
    Range(0.1, 0.4, step=0.1),
    Range(1, 100, log=True),
    Range(3, 5, log=True),
]


@pytest.mark.parametrize("one", RANGES, ids=str)
def test_what_is_sampled_is_what_is_listed(one: Range):
    values = one.all_values()
    assert values is not None and values[0] == one.low and list(values) == sorted(set(values))
    assert values[-1] <= one.high < values[-1] + (one.step or 1)
    assert all(type(value) is (int if one.is_integer else float) for value in values)
    gaps = {round(b - a, 9) for a, b in itertools.pairwise(values)}
    assert gaps == {one.step or 1}
    sampled = {one.sample(random.Random(n)) for n in range(3000)}
    assert sampled == set(values)
    assert one.grid_values() == (None if one.log else values)
    assert one.extreme_values() == (one.low, one.high)
    assert parse_distribution("a", one.as_plain()) == one


@pytest.mark.parametrize("one", [Range(0.5, 2.0), Range(1e-4, 1e-2, log=True)], ids=str)
def test_continuous_ranges_are_filled_from_end_to_end(one: Range):
    assert one.all_values() is None and one.grid_values() is None and not one.is_integer
    values = [float(one.sample(random.Random(n))) for n in range(2000)]
    assert min(values) >= one.low and max(values) <= one.high and len(set(values)) == 2000
    place = math.log if one.log else float
    shares = [(place(value) - place(one.low)) / (place(one.high) - place(one.low)) for value in values]
    assert sum(shares) / 2000 == pytest.approx(0.5, abs=0.03) and max(shares) > 0.99 and min(shares) < 0.01


@pytest.mark.parametrize("one", [*RANGES, Range(0.5, 2.0), Range(1e-4, 1e-2, log=True), Categorical(("a", "b"))])
def test_optuna_is_given_the_same_values(one):
    optuna = pytest.importorskip("optuna")
    theirs = one.to_optuna()
    if isinstance(one, Categorical):
        assert theirs.choices == one.values == one.all_values() == one.grid_values() == one.extreme_values()
        return
    values = one.all_values()
    assert (theirs.low, theirs.high, theirs.log) == (one.low, values[-1] if values else one.high, one.log)
    assert isinstance(theirs, optuna.distributions.IntDistribution) == one.is_integer
    assert theirs.step == (one.step or (1 if one.is_integer else None))


def test_a_range_that_is_too_long_is_not_listed(monkeypatch):
    monkeypatch.setattr(space, "MAX_GRID_SIZE", 12)
    assert len(Range(1, 12).all_values() or ()) == 12 and Range(1, 13).all_values() is None
    four, three = Categorical((1, 2, 3, 4)), Categorical((1, 2, 3))
    assert len(list(SearchSpace({"a": four, "b": three}).grid())) == 12
    assert len(list(SearchSpace({"a": four, "b": three}).all_params() or ())) == 12
    large = SearchSpace({"a": four, "b": four})
    assert large.all_params() is None and SearchSpace({"a": Range(0.1, 0.2)}).all_params() is None
    with pytest.raises(ConfigError, match="more than 12 combinations"):
        list(large.grid())
    with pytest.raises(ConfigError, match=r'space: a: a grid needs a finite list .*"0.1..0.2 by'):
        list(SearchSpace({"a": Range(0.1, 0.2)}).grid())


def test_the_last_setting_changes_fastest():
    grid = list(SearchSpace({"a": Categorical((1, 2)), "b": Range(3, 4)}).grid())
    assert grid == [{"a": a, "b": b} for a in (1, 2) for b in (3, 4)]


@pytest.mark.parametrize(
    "value",
    [
        {"low": 1},
        {"low": 1, "high": 2, "by": 1},
        {"low": 2, "high": 1},
        {"low": 1, "high": 1},
        {"low": True, "high": 2},
        {"low": "1", "high": 2},
        {"low": 0, "high": 1, "log": True},
        {"low": 1, "high": 2, "step": 0},
        {"low": 1, "high": 2, "step": -1},
        {"low": 1, "high": 9, "log": True, "step": 2},
        {"low": 1, "high": math.inf},
        {"low": -1e308, "high": 1e308},
        {"low": math.nan, "high": 1},
        [],
        [1, 1],
        [1.0, math.nan],
        [1.0, math.inf],
        [[1]],
        7,
        "1..",
    ],
    ids=str,
)
def test_what_is_no_distribution_is_refused(value):
    with pytest.raises(ConfigError, match="space: a"):
        parse_distribution("a", value)


def test_what_is_a_distribution_is_read():
    assert parse_distribution("a", {"low": 1, "high": 2}) == Range(1, 2)
    assert parse_distribution("a", {"low": 0.5, "high": 2, "log": True}) == Range(0.5, 2, log=True)
    assert parse_distribution("a", " log  1e-3 .. 1 ") == Range(1e-3, 1, log=True)
    assert parse_distribution("a", "-2..3 by 1") == Range(-2, 3, step=1)
    assert parse_over(" a = 2 , x,true ") == ("a", Categorical((2, "x", True)))


def test_combinations_are_equal_to_ten_digits():
    assert params_key({"b": 0.1 + 0.2, "a": 1}) == params_key({"a": 1, "b": 0.3})
    assert params_key({"a": 0.3}) != params_key({"a": 0.3000001}) and params_key({"a": 1}) == (("a", 1),)


VALUES = {"model.dim": 12, "model.heads": 5, "model.norm": "pre", "model.bias": True}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("model.dim + model.heads == 17", True),
        ("model.dim - model.heads == 7", True),
        ("model.dim * model.heads == 60", True),
        ("model.dim / model.heads == 2.4", True),
        ("model.dim // model.heads == 2", True),
        ("model.dim % model.heads == 2", True),
        ("model.dim != 12", False),
        ("model.dim < 12", False),
        ("model.dim <= 12", True),
        ("model.dim > 12", False),
        ("model.dim >= 12", True),
        ("-model.heads < 0", True),
        ("not model.bias", False),
        ("model.bias and model.dim == 3", False),
        ("model.bias or model.dim == 3", True),
        ("3 < model.heads < 5", False),
        ("3 < model.heads < 6", True),
        ('model.norm == "pre"', True),
    ],
)
def test_conditions_are_evaluated_as_python_does(text: str, holds: bool):
    assert Condition.parse(text).holds(VALUES) == holds
    plain = text.replace("model.", "")
    assert bool(eval(plain, {}, {name.removeprefix("model."): value for name, value in VALUES.items()})) == holds


@pytest.mark.parametrize("text", ["model.dim / 0 == 1", "model.norm > 3", "model.dim % 0 == 1"])
def test_a_condition_that_cannot_be_computed_names_its_values(text: str):
    with pytest.raises(ConfigError, match=r"cannot be computed for model\.(dim=12|norm=pre)$"):
        Condition.parse(text).holds(VALUES)


def test_a_combination_must_satisfy_all_conditions_and_be_a_config():
    fits = make_constraint(settings.Config(), ["model.layers > 2", "model.layers < 6"])
    assert [n for n in range(1, 9) if fits({"model.layers": n})] == [3, 4, 5]
    assert not fits({"model.layers": 4, "model.dim": 10, "model.heads": 3}) and not fits({"model.layers": -1})


def test_sampling_gives_up_after_many_attempts_and_not_before(monkeypatch):
    seen = []

    def never(params) -> bool:
        seen.append(params)
        return len(seen) == 2000

    one = SearchSpace({"a": Categorical((1, 2))})
    assert one.sample(random.Random(1), never) in ({"a": 1}, {"a": 2})
    with pytest.raises(ConfigError, match="of 2,000 random ones"):
        one.sample(random.Random(1), lambda params: False)


def test_a_study_has_as_many_trials_as_are_asked_for_and_exist():
    layers = {"model.layers": [1, 2, 3, 4, 5]}
    assert study_of(sampler="random", space=layers).num_trials() == 5
    assert study_of(sampler="random", space=layers, trials=3).num_trials() == 3
    assert study_of(sampler="tpe", space={"model.dropout": "0.1..0.4"}).num_trials() == DEFAULT_TRIALS
    assert study_of(sampler="random", space=layers, conditions=["model.layers > 3"]).num_trials() == 2
    grid = study_of(sampler="grid", space=layers)
    assert list(grid.predefined_params() or ()) == ["1", "2", "3", "4", "5"]
    some = study_of(sampler="grid", space=layers, trials=3).predefined_params() or {}
    assert len(some) == 3 and len({one["model.layers"] for one in some.values()}) == 3
    assert propose_params(grid, 2, []) == ("2", {"model.layers": 2})
    with pytest.raises(ConfigError, match="all 5, none satisfies"):
        study_of(sampler="grid", space=layers, conditions=["model.layers > 9"])


def test_sets_are_chosen_by_patterns():
    sets = {name: {"model.layers": n} for n, name in enumerate(("a1", "a2", "b1"), start=1)}
    assert list(study_of(sets=sets).select_sets()) == ["a1", "a2", "b1"]
    assert list(study_of(sets=sets, only=["a*"]).select_sets()) == ["a1", "a2"]
    assert list(study_of(sets=sets, only=["a1", "b*"]).select_sets()) == ["a1", "b1"]
    with pytest.raises(ConfigError, match="no set matches only"):
        study_of(sets=sets, only=["c"])
    distributions = study_of(sets={"x": {"model.layers": 1}, "y": {"model.dim": 64}}).search_space().distributions
    assert distributions == {"model.layers": Categorical((1,)), "model.dim": Categorical((64,))}


def test_a_run_has_the_budget_the_metric_and_the_seed_of_its_trial():
    study = study_of(sets={"a": {"model.layers": 3}}, each={"steps": 7, "minutes": 2.5}, metric="bleu", seeds=3)
    configs = [study.build_config({"model.layers": 3}, n) for n in range(3)]
    assert [c.train.seed for c in configs] == [configs[0].train.seed + n for n in range(3)]
    assert (configs[0].train.steps, configs[0].train.minutes, configs[0].model.layers) == (7, 2.5, 3)
    assert configs[0].train.metric == "bleu" and study.maximize and study.direction == "maximize"
    loss = study_of(sets={"a": {"model.layers": 3}})
    assert loss.build_config({}).train.metric == "loss" and not loss.maximize and loss.direction == "minimize"
    assert TrialBudget(steps=3).limits() == {"steps": 3}


def test_one_field_is_overridden_and_the_others_stay():
    study = study_of(sets={"a": {"model.layers": 3}}, seeds=3)
    other = studies.override(study, {"model.dropout": 0.3}, seeds=5, trials=None)
    assert other.seeds == 5 and other.base.model.dropout == 0.3 and other.sets == study.sets
    assert study.seeds == 3


def test_numbers_and_names_are_short():
    assert short_name("model.positions.kind") == "positions.kind" and short_name("x") == "x"
    assert [format_value(value) for value in (0.123456, 3, True, "pre")] == ["0.1235", "3", "True", "pre"]
    assert format_params({"model.layers": 2, "train.learning_rate": 0.00123456}) == "layers=2 learning_rate=0.001235"
