"""Estimates: they add up, and follow what is asked for."""

import pytest

from regard import config as settings
from regard.config import Config
from regard.display.views.plan import describe_time
from regard.training.planning.cost import MeanLengths
from regard.training.planning.estimate import (
    BATCH_OVERHEAD_SECONDS,
    LAYER_OVERHEAD_SECONDS,
    NON_PADDING_RATIO,
    estimate_training,
    format_epochs,
    format_minutes,
    matmul_efficiency,
    training_throughput,
)

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
    assert cost("train.steps=100", "train.batch_growth=5").minutes == pytest.approx(3 * base.minutes)


@pytest.mark.parametrize(("width", "measured"), [(256, 1.26), (384, 1.55)])
def test_bfloat16_is_as_much_faster_as_was_measured(width: int, measured: float):
    config = settings.override(Config(), [f"model.dim={width}", "train.precision=bfloat16"])
    assert training_throughput(config, 1e11, 2.6) == pytest.approx(measured * 1e11, rel=0.05)
    assert training_throughput(settings.override(config, ["train.precision=float32"]), 1e11, 2.6) == 1e11


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


def test_a_batch_is_as_wide_as_its_longer_side():
    for lengths in (MeanLengths(13.0, 17.0), MeanLengths(17.0, 13.0)):
        config = settings.override(Config(), ["train.steps=100", "train.batch_tokens=1009"])
        found = estimate_training(config, 29_000, lengths, 6000, 1e11)
        pairs_per_step = NON_PADDING_RATIO * 1009 / 17
        assert found.steps_per_epoch == pytest.approx(29_000 / pairs_per_step)
        assert found.tokens_per_second * found.seconds_per_step == pytest.approx(pairs_per_step * lengths.target)


def test_a_step_takes_its_operations_and_an_overhead_for_each_layer():
    """At no operations per second all the time is theirs; at endless ones, the overhead's."""
    changes = ["train.steps=100", "model.encoder_layers=3", "model.decoder_layers=7", "train.accumulate_batches=5"]
    endless, slow = cost(*changes, rate=1e30), cost(*changes, rate=1.0)
    assert endless.seconds_per_step == pytest.approx(5 * (BATCH_OVERHEAD_SECONDS + 10 * LAYER_OVERHEAD_SECONDS))
    pairs = 29_000 / slow.steps_per_epoch
    operations = pairs * slow.flops_per_pair / matmul_efficiency(Config().model.dim)
    assert slow.seconds_per_step == pytest.approx(operations)
    assert cost("train.steps=100", "model.layers=5").seconds_per_step > cost("train.steps=100").seconds_per_step


def test_efficiency_grows_with_every_doubling_of_the_width():
    found = [matmul_efficiency(width) for width in (64, 128, 256, 512, 1024)]
    assert found == pytest.approx([0.61, 0.61, 0.725, 0.84, 0.9])


def test_every_number_is_told():
    lines = cost("train.steps=100", "model.tie_embeddings=false").lines()
    one = cost("train.steps=100", "model.tie_embeddings=false")
    p = one.parameter_counts
    assert lines[0] == (
        f"parameters: {p.total:,} (embeddings {p.embeddings:,}, positions {p.positions:,}, encoder {p.encoder:,}, "
        f"decoder {p.decoder:,}, output {p.output:,})"
    )
    assert lines[1] == f"compute: {one.flops_per_pair / 1e9:.2f} GFLOP to train on a pair once"
    assert lines[2] == f"memory: about {one.memory_bytes / 1024 / 1024:,.0f} MB"
    assert lines[3].startswith(f"speed: about {one.tokens_per_second:,.0f} target tokens per second, ")
    assert lines[3].endswith(f"{one.seconds_per_step:.2f} s per step") and " for 100 steps, " in lines[4]


@pytest.mark.parametrize(
    ("minutes", "text"),
    [(0.74, "less than a minute"), (0.75, "about 1 minute"), (1.5, "about 2 minutes"), (89.9, "about 90 minutes"),
     (90, "about 1.5 hours"), (2879, "about 48.0 hours"), (2880, "about 2.0 days"), (4320, "about 3.0 days")],
)  # fmt: skip
def test_the_unit_of_a_time_changes_at_a_threshold(minutes: float, text: str):
    assert format_minutes(minutes) == text


def test_epochs_below_one_keep_two_digits():
    assert [format_epochs(x) for x in (0.1234, 0.9499, 0.95, 1.26)] == ["0.12", "0.95", "0.9", "1.3"]
