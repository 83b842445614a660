"""What may vary, as it is written, drawn, listed and restricted."""

import math
import random
import tomllib
from collections import Counter

import pytest

from regard import config as settings
from regard.errors import ConfigError
from regard.tuning import study as studies
from regard.tuning.propose import propose_params
from regard.tuning.space import (
    MAX_CHOICES,
    MAX_CONDITIONS,
    Categorical,
    Condition,
    Range,
    SearchSpace,
    make_constraint,
    parse_distribution,
    parse_over,
)
from tests.tuning.synthetic import study_of

HEADS = {"model.dim": [16, 24, 36], "model.heads": [2, 3, 4, 5, 8]}


def valid(point) -> bool:
    return point["model.dim"] % point["model.heads"] == 0


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("a=2,4,6", Categorical((2, 4, 6))),
        ("a=pre,post", Categorical(("pre", "post"))),
        ("a=true,false", Categorical((True, False))),
        ("a=0.1..0.4", Range(0.1, 0.4)),
        ("a=2..8", Range(2, 8)),
        ("a=2..8 by 2", Range(2, 8, step=2)),
        ("a=log 1e-4..1e-2", Range(1e-4, 1e-2, log=True)),
        ("a=5", Categorical((5,))),
    ],
)
def test_values_are_read_as_they_are_typed(text: str, choice: object):
    assert parse_over(text) == ("a", choice)


@pytest.mark.parametrize("text", ["a=3..1", "a=log 0..1", "a=2,2", "a", "a=", "=3", "a=log 1..8 by 2"])
def test_what_is_no_range_is_refused(text: str):
    with pytest.raises(ConfigError):
        parse_over(text)


def test_ranges_stay_inside_and_log_ranges_spread_by_ratio():
    rng = random.Random(1)
    whole = [parse_distribution("a", "2..8 by 2").sample(rng) for _ in range(200)]
    assert set(whole) == {2, 4, 6, 8}
    logs = [parse_distribution("a", "log 1e-4..1e-2").sample(rng) for _ in range(400)]
    assert min(logs) >= 1e-4 and max(logs) <= 1e-2
    assert 0.4 < sum(math.log10(x) < -3 for x in logs) / 400 < 0.6  # half of them below the middle by ratio
    assert parse_distribution("a", {"low": 1, "high": 3}).grid_values() == (1, 2, 3)


def test_every_grid_point_that_is_valid_comes_exactly_once():
    study = study_of(sampler="grid", space=HEADS)
    points = [propose_params(study, number, [])[1] for number in range(1, study.num_trials() + 1)]
    assert Counter(tuple(p.values()) for p in points).most_common(1)[0][1] == 1
    assert all(map(valid, points))
    assert len(points) == sum(d % h == 0 for d in HEADS["model.dim"] for h in HEADS["model.heads"])


@pytest.mark.parametrize("sampler", ["random", "tpe", "grid"])
def test_conditions_are_respected_by_every_sampler(sampler: str):
    study = study_of(
        sampler=sampler, space=HEADS, trials=8, conditions=["model.heads * 4 <= model.dim", "model.heads != 3"]
    )
    for number in range(1, study.num_trials() + 1):
        point = propose_params(study, number, [])[1]
        assert valid(point) and point["model.heads"] * 4 <= point["model.dim"] and point["model.heads"] != 3


def test_random_trials_are_a_function_of_their_number_alone():
    study = study_of(sampler="random", space={"model.dropout": "0.1..0.4"}, trials=9)
    drawn = [propose_params(study, number, [])[1]["model.dropout"] for number in range(1, 10)]
    assert len(set(drawn)) == 9 and drawn == [propose_params(study, n, [])[1]["model.dropout"] for n in range(1, 10)]


def test_tpe_goes_where_it_was_good():
    optuna = pytest.importorskip("optuna")
    study = study_of(sampler="tpe", space={"model.dropout": "0.0..0.8"}, trials=40)
    copy, drawn = optuna.create_study(), []
    spread = {"model.dropout": study.search_space().distributions["model.dropout"].to_optuna()}
    for number in range(1, 31):
        point = propose_params(study, number, copy.get_trials())[1]
        copy.add_trial(
            optuna.create_trial(params=point, distributions=spread, value=(point["model.dropout"] - 0.3) ** 2)
        )
        drawn.append(abs(point["model.dropout"] - 0.3))
    assert sum(drawn[20:]) < 0.6 * sum(drawn[:10])


FEW = {"model.layers": [1, 2, 3], "model.dropout": "0..0.1 by 0.1", "train.warmup": "log 1..3"}


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_no_combination_is_tried_twice_and_none_is_left_out(sampler: str):
    optuna = pytest.importorskip("optuna")
    study = study_of(sampler=sampler, space=FEW, trials=200, conditions=["model.layers + train.warmup < 5"])
    every = {(a, b, c) for a in (1, 2, 3) for b in range(2) for c in (1, 2, 3) if a + c < 5}
    assert study.num_trials() == len(every)  # no more are planned than there are
    copy, points = optuna.create_study(), []
    spread = {name: choice.to_optuna() for name, choice in study.search_space().distributions.items()}
    for number in range(1, study.num_trials() + 1):
        points.append(propose_params(study, number, copy.get_trials())[1])
        worth = float(points[-1]["model.layers"])
        copy.add_trial(optuna.create_trial(params=points[-1], distributions=spread, value=worth))
    assert {(p["model.layers"], round(10 * p["model.dropout"]), p["train.warmup"]) for p in points} == every
    with pytest.raises(ConfigError, match=rf"trial {len(every) + 1}: found no combination that is still untried"):
        propose_params(study, len(every) + 1, copy.get_trials())


def test_a_trial_that_waits_or_failed_is_not_tried_again():
    optuna = pytest.importorskip("optuna")
    study = study_of(sampler="tpe", space={"model.layers": [1, 2, 3]}, trials=3)
    copy = optuna.create_study()
    copy.enqueue_trial({"model.layers": 1})
    spread = {"model.layers": study.search_space().distributions["model.layers"].to_optuna()}
    state = optuna.trial.TrialState.FAIL
    copy.add_trial(optuna.create_trial(params={"model.layers": 2}, distributions=spread, state=state))
    assert {propose_params(study, number, copy.get_trials())[1]["model.layers"] for number in range(3, 9)} == {3}


def test_steps_between_whole_ends_need_not_be_whole():
    parts = parse_over("train.guided_alignment=0..1 by 0.25")[1]
    assert parts.grid_values() == (0.0, 0.25, 0.5, 0.75, 1.0) and not parts.is_integer
    assert {parts.sample(random.Random(n)) for n in range(60)} == set(parts.grid_values())
    pytest.importorskip("optuna")
    assert parts.to_optuna().step == 0.25
    study = study_of(sampler="tpe", space={"train.guided_alignment": "0..1 by 0.25"}, trials=5)
    assert propose_params(study, 1, [])[1]["train.guided_alignment"] in parts.grid_values()


def test_a_condition_is_arithmetic_and_nothing_else():
    values = settings.flatten(settings.Config().model_dump(mode="json"))
    assert Condition.parse("model.dim % model.heads == 0 and not model.layers > 9").holds(values)
    assert not Condition.parse('model.norm == "post" or -model.layers > 0').holds(values)
    assert Condition.parse("1 < model.layers <= 4").holds(values)
    for text in ("__import__('os')", "model.dim.__class__", "[1]", "model.dimm > 1", "model.dim >", "lambda: 1"):
        with pytest.raises(ConfigError):
            Condition.parse(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("'a' * 1000000000 == 'b'", "cannot be computed"),
        ("'%1000000000d' % model.dim == 'b'", "cannot be computed"),
        ("model.norm + model.norm == 'b'", "cannot be computed"),
        ("9" * 4000 + " * " + "9" * 4000 + " > 1", "more than 1,000 characters"),
        ("model.dim * " + "9" * 300 + " > 1", "a number is larger than 1e[+]15"),
        ("1e309 > 1", "a number is larger"),
        ("-" * 900 + "1", "not an expression|has 901 terms"),
        ("not " * 240 + "1", "not an expression|has 241 terms"),
        ("(" * 400 + "1" + ")" * 400, "not an expression"),
        (" and ".join(["model.dim"] * 60), "has 61 terms and operations, at most 50"),
        ("model.dim > \x00", "not an expression"),
        ("model.dim > '\ud800'", "cannot be computed|not an expression"),
    ],
)
def test_a_condition_has_a_bounded_cost(text: str, problem: str):
    values = settings.flatten(settings.Config().model_dump(mode="json"))
    with pytest.raises(ConfigError, match=problem) as caught:
        Condition.parse(text).holds(values)
    assert len(str(caught.value)) < 1300


def test_a_study_has_a_bounded_number_of_conditions_and_choices():
    study_of(sampler="tpe", space=FEW, trials=5, conditions=["model.dim > 3"] * MAX_CONDITIONS)
    with pytest.raises(ConfigError, match=f"conditions=.*at most {MAX_CONDITIONS}"):
        study_of(sampler="tpe", space=FEW, trials=5, conditions=["model.dim > 3"] * (MAX_CONDITIONS + 1))
    with pytest.raises(ConfigError, match=r"space: train\.warmup: has 10,001 values"):
        study_of(sampler="grid", space={"train.warmup": list(range(1, MAX_CHOICES + 2))})


def test_a_space_in_which_nothing_fits_says_so():
    with pytest.raises(ConfigError, match="no valid combination"):
        SearchSpace({"model.heads": Categorical((5,)), "model.dim": Categorical((16,))}).sample(
            random.Random(1), make_constraint(settings.Config(), ())
        )


def test_a_study_is_written_as_it_was_read():
    for study in (
        study_of(sets={"set 1": {"model.layers": 2, "model.norm": "post"}}, seeds=3, pruner="halving"),
        study_of(
            sampler="tpe",
            space={"model.dropout": "0.1..0.4", "train.learning_rate": {"low": 1e-4, "high": 0.01, "log": True}},
        ),
        study_of(sampler="grid", space={"model.positions.kind": ["none", "rotary"]}, conditions=["model.dim > 3"]),
    ):
        assert studies.loads(studies.dump(study), "") == study


def test_what_was_not_set_is_not_written():
    """A default that changes later, or that is chosen for each trial, is not fixed by the file."""
    text = studies.dump(study_of(sets={"a": {"model.layers": 2}}, base={"model": {"dim": 64}}))
    assert tomllib.loads(text)["base"]["model"] == {"dim": 64}
    assert "conditions" not in text and "storage" not in text


def test_seeds_are_counted_up_and_budgets_become_settings():
    study = study_of(sets={"a": {"model.layers": 2}}, seeds=2, metric="chrf", each={"tokens": 5000, "minutes": 2})
    configs = [study.build_config({"model.layers": 2}, seed) for seed in range(2)]
    assert [config.train.seed for config in configs] == [1, 2]
    assert configs[0].train.tokens == 5000 and configs[0].train.minutes == 2 and configs[0].train.metric == "bleu"


def test_what_all_trials_must_share_cannot_vary():
    with pytest.raises(ConfigError, match=r"train\.seed cannot vary"):
        study_of(sampler="grid", space={"train.seed": [1, 2]})


SMALLER = {"a": {"data.vocab_size": 500}, "b": {"model.layers": 2}}


@pytest.mark.parametrize(
    ("metric", "varies"),
    [
        ("loss", {"sampler": "grid", "space": {"data.vocab_size": [500, 8000]}}),
        ("accuracy", {"sampler": "tpe", "space": {"data.joint_vocab": [True, False]}}),
        ("loss", {"sampler": "random", "space": {"data.vocab_size": "500..8000"}}),
        ("loss", {"sets": {"a": {"data.tokenizer": "bpe"}, "b": {"data.tokenizer": "unigram"}}}),
        ("accuracy", {"sets": SMALLER}),  # the second has whatever suits the corpus
    ],
)
def test_losses_of_different_pieces_are_not_compared(metric: str, varies: dict):
    with pytest.raises(
        ConfigError, match=r"tokens differ between trials, so their (loss|accuracy) cannot be compared; use bleu"
    ):
        study_of(metric=metric, **varies)
    assert study_of(metric="bleu", **varies).num_trials() > 0


def test_losses_of_the_same_pieces_are_compared():
    alike = {"a": {"data.vocab_size": 500}, "b": {"data.vocab_size": 500}}
    assert study_of(sets=alike).metric_key == study_of(sets=SMALLER, only=["a"]).metric_key == "loss"
    base = {"data": {"train": ["a.en"], "vocab_size": 500}}
    assert study_of(sets=SMALLER, base=base).metric_key == "loss"
    assert study_of(sampler="grid", space={"data.vocab_size": [500], "model.layers": [1, 2]}).metric_key == "loss"
