"""Estimates: they add up, and follow what is asked for."""

import pytest

from regard import config as settings
from regard.config import Config
from regard.display.views.plan import describe_time
from regard.training.planning.cost import MeanLengths
from regard.training.planning.estimate import estimate_training, format_epochs, format_minutes

LENGTHS = MeanLengths(13.0, 17.0)


def cost(*changes: str, rate: float = 1e11):
    return estimate_training(settings.override(Config(), list(changes)), 29_000, LENGTHS, 6000, rate)


def test_minutes_and_steps_are_two_sides_of_one_thing():
    by_clock = cost("train.minutes=60")
    assert by_clock.minutes == pytest.approx(60)
    by_steps = cost(f"train.steps={int(by_clock.steps)}")
    assert by_steps.minutes == pytest.approx(60, rel=1e-3)
    assert by_clock.epochs * by_clock.steps_per_epoch == pytest.approx(by_clock.steps)


def test_pieces_a_second_are_those_of_an_epoch():
    one = cost("train.steps=100")
    assert one.tokens_per_second * one.seconds_per_step * one.steps_per_epoch == pytest.approx(29_000 * 17.0)


def test_a_faster_machine_a_smaller_model_and_one_forward_take_less():
    base = cost("train.steps=100")
    assert cost("train.steps=100", rate=1e12).minutes < base.minutes
    assert cost("train.steps=100", "model.dim=64").minutes < base.minutes
    assert cost("train.steps=100", "train.rdrop=5").minutes > 1.5 * base.minutes
    assert cost("train.steps=100", "train.accumulate_batches=3").minutes == pytest.approx(3 * base.minutes)


def test_it_is_told_in_words():
    text = "\n".join(cost("train.minutes=60").lines())
    for word in ("parameters: ", "encoder ", "GFLOP", "MB", "target tokens per second", "60 minutes"):
        assert word in text
    assert "output shared" in text and "output shared" not in "\n".join(cost("model.tie_embeddings=false").lines())


def test_two_processes_need_half_of_the_updates_for_an_epoch():
    config = settings.override(Config(), ["train.epochs=3"])
    one, two = (estimate_training(config, 29_000, LENGTHS, 6000, 1e11, ranks) for ranks in (1, 2))
    assert two.steps == pytest.approx(one.steps / 2)
    assert two.tokens_per_second == pytest.approx(2 * one.tokens_per_second)


@pytest.mark.parametrize("minutes", [0.001, 0.3, 0.74, 0.75, 1.2, 89.4, 91, 5000])
def test_no_training_takes_no_time(minutes: float):
    assert " 0" not in format_minutes(minutes) and "1 minutes" not in format_minutes(minutes)


@pytest.mark.parametrize(("epochs", "steps"), [(0.0001, "1 step"), (3, "steps")])
def test_no_training_takes_no_steps(epochs: float, steps: str):
    config = settings.override(Config(), [f"train.epochs={epochs}"])
    estimate = estimate_training(config, 29, LENGTHS, 6000, 1e11)
    for text in (describe_time(config, estimate), estimate.lines()[-1]):
        assert f" {steps}" in text and " 0 steps" not in text and " 1 steps" not in text


def test_a_part_of_an_epoch_is_not_none():
    assert [format_epochs(epochs) for epochs in (0.004, 0.25, 0.96, 1.0, 12.34)] == [
        "0.004",
        "0.25",
        "1.0",
        "1.0",
        "12.3",
    ]
    assert "about 0 minutes" not in "\n".join(cost("train.steps=1").lines())
