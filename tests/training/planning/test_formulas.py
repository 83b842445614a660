"""Formulas of cost against what PyTorch counts, and plans at the edges of their rules."""

import itertools
import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from regard import config as settings
from regard.config import Config, ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.jobs.tasks.translation.task import TASK
from regard.model.build import build
from regard.model.modules import count_parameters
from regard.training.alarms import SLOW_SECONDS, ThroughputMonitor, TrainingMonitor
from regard.training.planning.budget import Budget
from regard.training.planning.cost import MeanLengths, compute_parameter_counts, training_bytes, training_flops
from regard.training.planning.estimate import estimate_training, format_minutes, matmul_efficiency
from regard.training.planning.sizing import SIZE_PRESETS, SizingInputs, default_learning_rate
from regard.training.validate import Validation

S, T, V = 7, 11, 29


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation": "swiglu"},
        {"encoder_layers": 3},
        {"decoder_layers": 3},
        {"pruned": ("encoder.0.self.1",)},
        {"pruned": ("decoder.1.self.0",)},
        {"pruned": ("decoder.0.cross.1", "decoder.1.cross.0")},
    ],
    ids=str,
)
def test_operations_are_those_that_pytorch_counts(changes):
    """Forward and twice that backward; a multiplication and an addition are two operations."""
    c = ModelConfig(**{"dim": 24, "heads": 2, "ffn": 13, "layers": 2, **changes})
    model = build(c, V, V, joint=True, pad=PAD).eval()
    source, target = torch.randint(4, V, (1, S)), torch.randint(4, V, (1, T))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.output(model(source, target))
    assert training_flops(c, V, MeanLengths(S, T)) == 3 * counter.get_total_flops()


@pytest.mark.parametrize("bias", [False, True])
def test_a_pruned_model_has_the_parameters_of_its_heads(bias: bool):
    pruned = ("encoder.0.self.1", "decoder.0.cross.1", "decoder.1.self.0")
    c = ModelConfig(dim=24, heads=3, ffn=13, layers=2, bias=bias, pruned=pruned)
    model = build(c, V, V, joint=True, pad=PAD)
    assert compute_parameter_counts(c, V, V, joint_vocab=True).total == count_parameters(model)


def test_a_size_is_chosen_from_its_number_of_tokens_on():
    for smaller, preset in itertools.pairwise(SIZE_PRESETS):
        for tokens, chosen in ((preset.min_target_tokens, preset), (preset.min_target_tokens - 1, smaller)):
            target_bytes = round(tokens * 3.5)
            inputs = SizingInputs(100_000, target_bytes, target_bytes, 1e15)
            config = settings.override(Config(), ["train.steps=150000"])
            found = {choice.name: choice.value for choice in TASK.suggest_settings(inputs, config)}
            assert inputs.target_tokens == tokens
            assert (found["model.dim"], found["model.layers"]) == (chosen.dim, chosen.layers), tokens


def test_memory_is_four_numbers_a_parameter_and_the_activations_of_every_token():
    c = ModelConfig(dim=24, heads=2, ffn=13, layers=2)
    parts = compute_parameter_counts(c, V, V, joint_vocab=True)
    empty, one, two = (training_bytes(c, parts, V, tokens) for tokens in (0, 1, 2))
    assert empty == 4 * 4 * parts.total and two - one == one - empty
    assert one - empty == 4 * ((2 + 2 * 2) * (12 * 24 + 3 * 13) + 3 * V)


LENGTHS = MeanLengths(13.0, 17.0)


def estimate(*changes: str, pairs: int = 29_000, processes: int = 1):
    config = settings.override(Config(), list(changes))
    return estimate_training(config, pairs, LENGTHS, 6000, 1e11, processes)


def test_every_limit_ends_the_training_and_the_first_one_counts():
    base = estimate("train.steps=100")
    per_step = base.tokens_per_second * base.seconds_per_step
    assert base.steps == 100
    assert estimate("train.tokens=1000000").steps == pytest.approx(1e6 / per_step)
    assert estimate("train.epochs=3").epochs == pytest.approx(3)
    assert estimate("train.minutes=2").minutes == pytest.approx(2)
    assert estimate("train.steps=100", "train.epochs=3", "train.minutes=9000").steps == 100
    assert estimate("train.steps=100", "train.minutes=0.01").steps < 100
    assert estimate("train.steps=9", pairs=3).steps_per_epoch == 1


def test_twice_the_forward_passes_are_twice_the_operations():
    one, two = estimate("train.steps=100"), estimate("train.steps=100", "train.rdrop=5")
    assert two.flops_per_pair == 2 * one.flops_per_pair
    assert estimate("train.steps=100", processes=3).steps_per_epoch == pytest.approx(one.steps_per_epoch / 3)


def test_a_wider_model_comes_closer_to_the_speed_of_multiplication():
    values = [matmul_efficiency(width) for width in (32, 64, 128, 256, 512, 1024, 4096)]
    assert values == sorted(values) and values[0] == values[2] < values[3] < values[4] < 1 and values[-1] == values[-2]


def test_an_estimate_by_the_batches_as_they_are():
    base = estimate("train.steps=100")
    counted = base.with_batches(13, 100, None)
    assert (counted.steps, counted.steps_per_epoch, counted.epochs) == (100, 13, pytest.approx(100 / 13))
    timed = base.with_batches(13, 10**9, 2.0)
    assert timed.minutes == pytest.approx(2) and base.with_batches(13, 1, 2.0).steps == 1


def test_times_are_said_in_the_unit_that_fits():
    assert [format_minutes(m) for m in (0.7, 0.8, 2.4, 89, 90, 47.9 * 60, 48 * 60)] == [
        "less than a minute",
        "about 1 minute",
        "about 2 minutes",
        "about 89 minutes",
        "about 1.5 hours",
        "about 47.9 hours",
        "about 2.0 days",
    ]


def suggested(pairs: int = 29_000, *changes: str, memory: int = 0, flops: float = 1.2e11) -> dict[str, object]:
    inputs = SizingInputs(pairs, 92 * pairs, 97 * pairs, flops, memory)
    config = settings.override(Config(), list(changes))
    return {choice.name: choice.value for choice in TASK.suggest_settings(inputs, config)}


def test_larger_models_need_more_text_more_steps_and_have_more_parameters():
    sizes = [compute_parameter_counts(preset.model_config(), 0, 0, joint_vocab=True).total for preset in SIZE_PRESETS]
    for values in (sizes, [p.min_target_tokens for p in SIZE_PRESETS], [p.min_steps for p in SIZE_PRESETS]):
        assert values == sorted(set(values))
    assert SIZE_PRESETS[0].min_target_tokens == SIZE_PRESETS[0].min_steps == 0
    for preset in SIZE_PRESETS:
        assert (
            preset.ffn % preset.dim == 0
            and preset.dim % preset.heads == 0
            and preset.dim // preset.heads in (32, 48, 64)
        )
        pairs = -(-preset.min_target_tokens * 7 // (2 * 97)) + 1  # 3.5 bytes a token
        found = suggested(max(pairs, 2), f"train.steps={preset.min_steps or 1}")
        assert (found["model.dim"], found["model.layers"]) == (preset.dim, preset.layers)
        if preset.min_steps:
            fewer = suggested(pairs, f"train.steps={preset.min_steps - 1}")
            assert (fewer["model.dim"], fewer["model.layers"]) != (preset.dim, preset.layers)


@pytest.mark.parametrize(
    ("pairs", "vocab_size"),
    [(4_999, 1000), (5_000, 2000), (14_999, 2000), (15_000, 6000), (59_999, 6000), (60_000, 8000), (199_999, 8000),
     (200_000, 16_000), (999_999, 16_000), (1_000_000, 32_000)],
)  # fmt: skip
def test_a_vocabulary_grows_with_the_corpus(pairs: int, vocab_size: int):
    assert suggested(pairs, "train.steps=1")["data.vocab_size"] == vocab_size


def test_what_is_suggested_follows_from_the_steps():
    for steps, warmup, every in ((10, 2, 100), (1_000, 200, 100), (4_000, 200, 160), (10_000, 500, 400),
                                 (30_000, 1000, 1200), (90_000, 1000, 2000)):  # fmt: skip
        found = suggested(29_000, f"train.steps={steps}")
        assert (found["train.warmup"], found["train.validate_every"]) == (warmup, every)
        assert found["train.save_every"] == every // 2
    assert "train.guided_alignment" in suggested(1000, "train.steps=9")
    assert "train.guided_alignment" not in suggested(999, "train.steps=9")
    assert default_learning_rate(128) == pytest.approx(4e-3)
    assert default_learning_rate(512) == pytest.approx(2e-3)  # by the inverse square root of the width
    found = suggested(29_000, "train.steps=9", "model.dim=384", "model.heads=4")["train.learning_rate"]
    assert found == pytest.approx(default_learning_rate(384), rel=2e-3)


def test_a_model_whose_steps_would_take_too_long_is_not_chosen():
    """What is possible in the time is estimated for each size by itself."""
    chosen = []
    for minutes in (30, 300, 1500, 6000):
        config = settings.override(Config(), [f"train.minutes={minutes}"])
        inputs = SizingInputs(3_000_000, 92 * 3_000_000, 97 * 3_000_000, 1e12)
        enough = [
            preset
            for preset in SIZE_PRESETS
            if estimate_training(
                Config(model=preset.model_config(), train=config.train), inputs.pairs, inputs.mean_lengths, 32_000, 1e12
            ).steps
            >= preset.min_steps
        ]
        found = {choice.name: choice.value for choice in TASK.suggest_settings(inputs, config)}
        assert (found["model.dim"], found["model.layers"]) == (enough[-1].dim, enough[-1].layers)
        chosen.append(enough[-1])
    assert len(set(chosen)) > 2


@pytest.mark.parametrize(("epochs", "dropout"), [(14.9, 0.1), (15.1, 0.2), (39.9, 0.2), (40.1, 0.3)])
def test_text_that_is_read_often_is_dropped_more(epochs: float, dropout: float):
    sized = ["model.dim=128", "train.batch_tokens=1024"]
    assert suggested(29_000, f"train.epochs={epochs}", *sized)["model.dropout"] == dropout


def test_a_batch_takes_half_of_the_free_memory_at_most():
    c = settings.override(Config(), ["model.dim=128", "train.steps=9"]).model
    parts = compute_parameter_counts(c, 6000, 6000, joint_vocab=True)
    for tokens in (1024, 512, 256):
        memory = 2 * training_bytes(c, parts, 6000, tokens)
        changes = ("model.dim=128", "train.steps=9", "data.vocab_size=6000")
        assert suggested(29_000, *changes, memory=memory)["train.batch_tokens"] == tokens
        assert suggested(29_000, *changes, memory=memory - 1)["train.batch_tokens"] == tokens // 2
    assert suggested(29_000, *changes, memory=1)["train.batch_tokens"] == 128


def test_a_budget_ends_with_whichever_limit_is_nearer():
    budget = Budget(100, 10.0, previous_seconds=300.0, reserved_seconds=60.0)
    assert budget.progress(10) == pytest.approx(300 / 540, abs=0.01) and budget.progress(90) == 0.9
    assert budget.elapsed == pytest.approx(300, abs=5)
    assert budget.remaining_seconds(99, 0.5) == 2 and budget.remaining_seconds(0, 0.1) == pytest.approx(300, abs=5)
    assert budget.remaining_seconds(200, 1.0) == 0 and Budget(5, None).remaining_seconds(1, 0) == math.inf
    assert Budget(None, None).progress(9) == 0


def test_speed_is_tokens_by_seconds():
    slow, quick = ThroughputMonitor(900.0), ThroughputMonitor(900.0)
    assert not any(quick.update(1000, 3.0) for _ in range(99))  # 333 a second, a third is 300
    assert [bool(slow.update(1000, 4.0)) for _ in range(31)] == [False] * 29 + [True, False]
    assert SLOW_SECONDS == 4.0 * 30
    unknown = ThroughputMonitor(0.0)
    assert not any(unknown.update(1, 100.0) for _ in range(9))


def validation(step: int, loss: float, shuffled: float | None = 9.0, distinct: float | None = 1.0) -> Validation:
    return Validation(step, loss, 0.5, None, 1.0, shuffled, distinct)


@pytest.mark.parametrize(
    ("late", "alarm"),
    [
        (validation(200, 5.87), False),
        (validation(200, 5.89), True),
        (validation(199, 5.89), False),
        (validation(200, 4.0, shuffled=4.081), False),
        (validation(200, 4.0, shuffled=4.079), True),
        (validation(200, 4.0, shuffled=None), False),
        (validation(200, 4.0, distinct=0.21), False),
        (validation(200, 4.0, distinct=0.2), True),
        (validation(200, 4.0, distinct=None), False),
    ],
)
def test_an_alarm_has_an_exact_threshold(late: Validation, alarm: bool):
    assert bool(TrainingMonitor(unigram_loss=6.0, warmup=100).update(late, 3.0)) == alarm


@pytest.mark.parametrize(
    ("dev", "train", "alarm"),
    [
        ([1.0, 1.1, 1.2, 1.3], [3.0, 2.0, 2.5, 2.9], True),
        ([1.0, 1.1, 1.2, 1.3], [2.9, 3.2, 2.0, 3.0], False),
        ([1.0, 1.1, 1.2, 1.3], [3.0, 2.9, 2.8, 3.0], False),
        ([8.0, 1.0, 1.1, 1.2, 1.3], [1.0, 3.0, 2.0, 2.5, 2.9], True),
        ([1.0, 1.2, 1.1, 1.3], [3.0, 2.0, 2.5, 2.9], False),
        ([1.0, 1.1, 1.2], [3.0, 2.0, 1.0], False),
    ],
)
def test_overfitting_is_a_dev_loss_that_rises_three_times_while_the_training_loss_has_fallen(dev, train, alarm: bool):
    monitor = TrainingMonitor(unigram_loss=60.0, warmup=0)
    found = [monitor.update(validation(n, loss), other) for n, (loss, other) in enumerate(zip(dev, train, strict=True))]
    assert bool(found[-1]) == alarm and not any(found[:-1])
