"""The table of recipes: which row is used, and that it never contradicts the user."""

import math
from functools import partial

from regard.config import Config, override, with_values
from regard.training.planning.recipes import RECIPES, Recipe, choose_recipe
from regard.training.planning.sizing import SizingInputs, SuggestedSetting, suggest_settings

ROTARY = SuggestedSetting("model.positions.kind", "rotary", "measured")
MUON = SuggestedSetting("train.optimizer", "muon", "measured")
WARMUP = SuggestedSetting("train.warmup", 17, "measured")
TABLE = (
    Recipe(10, math.inf, (MUON,)),
    Recipe(60, 1e6, (ROTARY,)),
    Recipe(math.inf, math.inf, (ROTARY, MUON, WARMUP)),
)
INPUTS = SizingInputs(29_000, 1_800_000, 2_100_000, 1e11)


def suggested(*settings: str) -> dict[str, object]:
    config = override(Config(), settings)
    suggestions = suggest_settings(INPUTS, config, partial(choose_recipe, TABLE))
    with_values(config, {s.name: s.value for s in suggestions})  # raises where they contradict each other
    assert len({s.name for s in suggestions}) == len(suggestions)
    return {s.name: s.value for s in suggestions}


def test_the_first_row_that_covers_the_minutes_and_the_text_is_used():
    assert choose_recipe(TABLE, 10, 1e9) == (MUON,)
    assert choose_recipe(TABLE, 10.1, 1e6) == choose_recipe(TABLE, 60, 3) == (ROTARY,)
    assert choose_recipe(TABLE, 60, 2e6) == choose_recipe(TABLE, 61, 3) == TABLE[-1].settings
    assert choose_recipe(TABLE[:1], 11, 1) == ()
    assert TABLE[-1].without({"train.warmup", "model.dim"}).settings == (ROTARY, MUON)


def test_every_training_has_a_row_and_limits_rise():
    limits = [(recipe.max_minutes, recipe.max_target_tokens) for recipe in RECIPES]
    assert limits[-1] == (math.inf, math.inf) and [minutes for minutes, _ in limits] == sorted(m for m, _ in limits)


def test_a_recipe_goes_before_what_is_computed_and_behind_the_user():
    long = suggested("train.minutes=100")
    assert (long["model.positions.kind"], long["train.optimizer"], long["train.warmup"]) == ("rotary", "muon", 17)
    short = suggested("train.minutes=5")
    assert short["train.optimizer"] == "muon" and "model.positions.kind" not in short and short["train.warmup"] != 17
    assert "train.warmup" not in suggested("train.minutes=100", "train.warmup=9")
    own = suggested("train.minutes=100", "model.positions.length=300")
    assert "model.positions.kind" not in own and own["train.optimizer"] == "muon"


def test_what_the_users_sizes_do_not_allow_is_not_suggested():
    odd = suggested("train.minutes=100", "model.dim=3", "model.heads=3")  # heads of one dimension cannot be rotated
    assert "model.positions.kind" not in odd and odd["train.optimizer"] == "muon"


def test_where_steps_are_given_their_estimated_time_chooses():
    assert "model.positions.kind" not in suggested("train.steps=10")
    assert suggested("train.steps=1000000")["train.warmup"] == 17
