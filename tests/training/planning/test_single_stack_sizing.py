"""Suggested settings of models with one stack: never those of the user, others for fine-tuning, more for more text."""

from typing import Any

import pytest

from regard import config as settings
from regard.config import Config
from regard.training.planning.single_stack_sizing import (
    CLASSIFY_SIZING,
    LABEL_SIZING,
    TAG_SIZING,
    TOKEN_SIZING,
    StackSizing,
    suggest_single_stack,
)
from regard.training.planning.sizing import SizingInputs


def suggest(sizing: StackSizing, *assignments: str, size: int = 700_000, task: str = "classify") -> dict[str, Any]:
    inputs = SizingInputs(pairs=7_001, source_bytes=size, target_bytes=13_003, flops_per_second=1e11)
    config = settings.override(Config(), [f"task={task}", *assignments])
    suggestions = suggest_single_stack(inputs, config, sizing)
    assert all(suggestion.reason for suggestion in suggestions)
    return {suggestion.name: suggestion.value for suggestion in suggestions}


def test_every_suggestion_is_a_setting_that_the_task_takes():
    for sizing, task in ((CLASSIFY_SIZING, "classify"), (TAG_SIZING, "tag"), (TOKEN_SIZING, "causal-lm")):
        values = suggest(sizing, task=task)
        config = settings.with_values(settings.override(Config(), [f"task={task}"]), values)
        assert settings.flatten(config.model_dump())["model.dim"] == values["model.dim"]
        assert {
            "data.vocab_size",
            "model.layers",
            "model.dropout",
            "train.learning_rate",
            "train.warmup",
        } <= values.keys()


def test_what_the_user_has_set_is_not_suggested_and_a_size_is_one_choice():
    given = {"data.subword_regularization": 0.0, "train.metric": "loss", "train.learning_rate": 3e-4}
    values = suggest(CLASSIFY_SIZING, *(f"{name}={value}" for name, value in given.items()))
    assert not given.keys() & values.keys()
    assert (
        not {"model.dim", "model.layers", "model.heads", "model.ffn"} & suggest(LABEL_SIZING, "model.layers=3").keys()
    )


def test_fine_tuning_is_slower_with_a_faster_output_and_keeps_the_segmentation():
    scratch, tuned = suggest(CLASSIFY_SIZING), suggest(CLASSIFY_SIZING, "train.init_from=runs/other")
    assert tuned["train.learning_rate"] < scratch["train.learning_rate"]
    assert tuned["train.output_lr_factor"] > 1 and "train.output_lr_factor" not in scratch
    assert tuned["model.dropout"] < scratch["model.dropout"]
    assert scratch["data.subword_regularization"] > 0 and "data.subword_regularization" not in tuned
    assert scratch["train.rdrop"] > 0 and scratch["train.ema"] > 0 and not {"train.rdrop", "train.ema"} & tuned.keys()
    assert scratch["train.metric"] == tuned["train.metric"] == "accuracy"
    assert not {"train.metric", "data.subword_regularization"} & suggest(LABEL_SIZING, task="tag").keys()
    assert suggest(TAG_SIZING, task="tag")["train.metric"] == "f1"


def test_wide_models_train_in_bfloat16_where_it_is_much_faster():
    def precision(speedup: float, *assignments: str) -> Any:
        inputs = SizingInputs(7_001, 700_001, 13_003, 1e11, bfloat16_speedup=speedup)
        config = settings.override(Config(), ["task=classify", *assignments])
        suggestions = suggest_single_stack(inputs, config, CLASSIFY_SIZING)
        return {suggestion.name: suggestion.value for suggestion in suggestions}.get("train.precision")

    assert precision(3.0, "model.dim=384", "model.heads=4") == "bfloat16"
    assert precision(1.5, "model.dim=384", "model.heads=4") is None and precision(3.0) is None
    assert precision(3.0, "model.dim=384", "model.heads=4", "train.precision=float32") is None


def test_positions_are_rotary_where_every_token_is_a_target_and_nothing_was_said_of_them():
    name = "model.positions.kind"

    def tags(*assignments: str) -> dict[str, Any]:
        return suggest(TAG_SIZING, *assignments, task="tag")

    assert tags()[name] == suggest(TOKEN_SIZING, task="masked-lm")[name] == "rotary"
    assert name not in suggest(CLASSIFY_SIZING) and name not in tags("train.init_from=runs/other")  # which has its own
    assert name not in tags(f"{name}=alibi") and name not in tags(f"{name}=sinusoidal")
    assert name not in tags("model.positions.offset=7")  # which is one of other schemes
    assert name not in tags("model.dim=33", "model.heads=11")  # 3 dimensions a head are no pairs
    assert name in tags("model.dim=44", "model.heads=11")


def test_steps_are_planned_at_the_speed_of_the_precision_and_with_the_settings_of_the_user():
    def warmup(*assignments: str, speedup: float = 1.0) -> int:
        inputs = SizingInputs(7_001, 70_000_001, 70_000_001, 1e11, bfloat16_speedup=speedup)
        sizes = ("model.dim=384", "model.heads=6", "train.minutes=9")
        config = settings.override(Config(), ["task=causal-lm", *sizes, *assignments])
        (value,) = [
            one.value for one in suggest_single_stack(inputs, config, TOKEN_SIZING) if one.name == "train.warmup"
        ]
        return value

    slow = warmup(speedup=1.9)
    assert warmup(speedup=2.66) == pytest.approx(1.49 * slow, rel=0.05), "benchmarks/results/bfloat16.md"
    assert warmup("train.precision=float32", speedup=2.66) == slow
    assert warmup("train.precision=bfloat16", speedup=2.66) == warmup(speedup=2.66)
    assert warmup("train.batch_tokens=512") > 1.5 * slow and warmup("data.vocab_size=1000") > 1.1 * slow


def test_steps_are_planned_with_both_passes_of_rdrop():
    def warmup(*assignments: str) -> int:
        values = suggest(CLASSIFY_SIZING, "train.minutes=2", *assignments, size=70_000_001)
        return int(values["train.warmup"])

    assert warmup("train.rdrop=0") == pytest.approx(2 * warmup(), rel=0.05)


@pytest.mark.parametrize("name", ["model.dim", "data.vocab_size"])
def test_more_text_gets_more(name: str):
    sizes = [suggest(TOKEN_SIZING, size=size, task="causal-lm")[name] for size in (50_000, 700_000, 30_000_000)]
    assert sizes == sorted(sizes) and len(set(sizes)) == 3


def test_more_epochs_get_more_dropout_and_longer_warmup():
    short, long = (suggest(TOKEN_SIZING, f"train.epochs={n}", task="causal-lm") for n in (2, 53))
    assert short["model.dropout"] < long["model.dropout"] and short["train.warmup"] < long["train.warmup"]
    assert suggest(LABEL_SIZING, "train.epochs=2")["model.dropout"] == long["model.dropout"]


def test_validation_takes_a_small_share_of_few_epochs():
    few, some, many = (suggest(LABEL_SIZING, f"train.epochs={n}", size=9_000_000) for n in (2, 5, 11))
    steps = [2 / 11, 5 / 11, 1]  # of the longest
    validations = [
        11 * share / one["train.validate_every"] for share, one in zip(steps, (few, some, many), strict=True)
    ]
    assert validations[1] / validations[0] == pytest.approx(15 / 6, rel=0.1)
    assert validations[2] / validations[0] == pytest.approx(25 / 6, rel=0.1)
