"""What is chosen, from what, and what gives way."""

import pytest

from regard import config as settings
from regard.config import Config
from regard.train.sizing import LADDER, Facts, choose, settle


def facts(pairs: int = 29_000, minutes: float | None = 60, steps: int | None = None, rate: float = 1.2e11) -> Facts:
    return Facts(pairs, 62 * pairs, 68 * pairs, rate, minutes, steps)


def chosen(given: Facts) -> dict[str, object]:
    return {choice.name: choice.value for choice in choose(given)}


def test_every_choice_is_a_setting_and_has_a_reason():
    for given in (facts(300), facts(), facts(3_000_000), facts(minutes=None, steps=10)):
        config = settings.override(Config(), [f"{c.name}={c.value}" for c in choose(given)])
        assert config.model.dim % config.model.heads == 0
        assert all(choice.reason for choice in choose(given))


def test_more_text_more_time_and_a_faster_machine_never_make_it_smaller():
    for small, large in (
        (facts(3_000), facts(300_000, minutes=6000)),
        (facts(minutes=2), facts(minutes=600)),
        (facts(rate=2e10), facts(rate=2e12)),
    ):
        one, two = chosen(small), chosen(large)
        assert one["model.dim"] <= two["model.dim"] and one["data.vocabulary"] <= two["data.vocabulary"]
    assert chosen(facts(minutes=2))["model.dim"] < chosen(facts(minutes=6000))["model.dim"]


def test_text_seen_more_often_is_dropped_more():
    assert chosen(facts(minutes=3))["model.dropout"] < chosen(facts(minutes=3000))["model.dropout"]


def test_the_machine_does_not_matter_where_steps_are_counted():
    assert chosen(facts(minutes=None, steps=500, rate=1.0)) == chosen(facts(minutes=None, steps=500, rate=1e15))


def test_what_was_given_stays_and_a_size_is_one_choice():
    given = frozenset({"train.rate", "model.layers"})
    names = {choice.name for choice in settle(choose(facts()), given)}
    assert "train.rate" not in names and not names & {"model.dim", "model.heads", "model.ffn", "model.layers"}
    assert "data.vocabulary" in names


@pytest.mark.parametrize("rung", LADDER, ids=lambda rung: str(rung.dim))
def test_the_ladder_holds_models_that_can_be_built(rung):
    assert rung.config().dim % rung.heads == 0


def test_a_batch_fits_into_memory():
    plenty, little = facts(), Facts(29_000, 29_000 * 62, 29_000 * 68, 1.2e11, 60, None, memory=300_000_000)
    assert chosen(plenty)["train.batch_tokens"] == 1024
    assert 128 <= chosen(little)["train.batch_tokens"] < 1024
    assert "memory" in next(c.reason for c in choose(little) if c.name == "train.batch_tokens")
