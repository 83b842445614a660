"""The arithmetic of BLEU against minutes, and the table of recipes."""

import pytest
import speed_page
from speed_curves import StepCost, bleu_at, median_cost, minutes_to
from speed_recipes import Recipe, load_table, make_config

from regard.config import Config, override
from regard.errors import ConfigError

GROWING = StepCost((10.0, 20.0, 60.0))


@pytest.mark.parametrize("cost", [StepCost((7.0,)), GROWING])
@pytest.mark.parametrize("minutes", [0.013, 1.0, 17.0])
def test_a_budget_is_as_many_steps_as_it_pays_for(cost: StepCost, minutes: float):
    steps = cost.steps_within(minutes)
    assert cost.minutes_at(steps, steps) <= minutes + 1e-9
    assert cost.minutes_at(steps + 1, steps + 1) > minutes


def test_minutes_are_the_sum_of_the_steps_so_far():
    steps = 3 * 11
    milliseconds = [10.0] * 11 + [20.0] * 11 + [60.0] * 11
    for step in range(steps + 1):
        assert GROWING.minutes_at(step, steps) == pytest.approx(sum(milliseconds[:step]) / 60_000)


def test_costs_are_medians_of_equal_parts():
    assert median_cost([5, 1, 9, 2, 2, 700, 4], 1).parts == (4,)
    assert median_cost([5, 1, 9, 2, 2, 700], 2).parts == (5, 2)
    with pytest.raises(ValueError, match="2 steps cannot be divided into 3 parts"):
        median_cost([1, 2], 3)


CURVE = [(2.0, 10.0), (4.0, 8.0), (6.0, 30.0)]


@pytest.mark.parametrize(
    ("bleu", "minutes"),
    [(0.0, 0.0), (5.0, 1.0), (10.0, 2.0), (20.0, 5.0), (30.0, 6.0), (30.1, None)],
)
def test_the_minutes_to_a_bleu_are_those_of_its_first_crossing(bleu: float, minutes: float | None):
    assert minutes_to(CURVE, bleu) == (None if minutes is None else pytest.approx(minutes))


@pytest.mark.parametrize(("minutes", "bleu"), [(0, 0), (1, 5), (2, 10), (3, 9), (5, 19), (6, 30), (6.1, None)])
def test_the_bleu_at_a_minute_is_interpolated(minutes: float, bleu: float | None):
    assert bleu_at(CURVE, minutes) == (None if bleu is None else pytest.approx(bleu))


def cell(bleu: float, greedy: float, step: float = 10.0, **more: object) -> dict[str, object]:
    curve = [[20, 0.5, 3.0, greedy / 2], [40, 1.0, 2.5, greedy]]
    return {"curve": curve, "milliseconds": [step], "steps": 40, "bleu": bleu, "date": "2026-01-02", **more}


CELLS = {
    "toy/1/default/1": cell(31.0, 20.0),
    "toy/1/default/2": cell(33.0, 24.0),
    "toy/1/twice: as fast/1": cell(35.0, 44.0, against={"value": 4.0, "low": 2.0, "high": 6.0}),
    "toy/1/twice: as fast/2": cell(35.0, 44.0, against={"value": 2.0, "low": 1.0, "high": 3.0}),
    "toy/1/slow/1": cell(22.0, 18.0, 30.0),
    "toy/5/default/1": cell(41.0, 40.0),
}


def test_recipes_are_compared_with_the_default_of_their_minutes():
    base, fast, slow = speed_page.compare(CELLS, "toy", "1", ["default", "twice: as fast", "slow"])
    assert base.minutes == [None, pytest.approx(0.5 + 0.5 * 10 / 12)] and base.bleu == [31.0, 33.0]
    assert fast.minutes == [pytest.approx(0.5)] * 2 and fast.difference == (3.0, 1.5, 4.5)
    assert slow.minutes == [None] and slow.difference is None and slow.greedy == [pytest.approx(6.0), 18.0]
    rows = list(speed_page.table([base, fast, slow], "1"))
    assert len({row.count("|") for row in rows}) == 1
    assert "+3.00 [+1.50, +4.50]" in rows[3] and "not reached |" in rows[4] and "(1 of 2 seeds)" in rows[2]


def test_the_page_and_the_chart_are_written_again(tmp_path, monkeypatch):
    page = tmp_path / "recipes.md"
    page.write_text(f"before\n{speed_page.BEGIN}\nold\n{speed_page.END}\nafter\n", encoding="utf-8")
    for name, value in {"PAGE": page, "IMAGES": tmp_path, "write": lambda name, lines: None}.items():
        monkeypatch.setattr(speed_page, name, value)
    results = {"cells": CELLS, "bases": {"toy/1": {"model.dim": 32}}}
    for _ in range(2):
        speed_page.write_page(results, ["default"], tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert text.count("### toy, 1 minutes") == 1 and text.count("### toy, 5 minutes") == 1 and "model.dim=32" in text
    assert (tmp_path / "speedrun.png").read_bytes().startswith(b"\x89PNG")


def test_every_recipe_of_the_table_is_one_of_settings_that_exist():
    _, recipes = load_table()
    assert "default" in recipes
    base = {"train.learning_rate": 0.004, "train.warmup": 300}
    for recipe in recipes.values():
        make_config(["data.source=en", "data.target=fr"], base, recipe, [])
    doubled = make_config([], base, recipes["learning rate doubled"], [])
    assert doubled.train.learning_rate == 0.008 and doubled.train.patience == 0
    assert make_config([], base, recipes["warm-up doubled"], []).train.warmup == 600
    assert make_config([], base, Recipe("x", factors={"model.dim": 2}), []).model.dim == 2 * Config().model.dim
    with pytest.raises(ConfigError, match="no_such_thing"):
        override(Config(), Recipe("x", settings=("train.no_such_thing=1",)).overrides(base))
