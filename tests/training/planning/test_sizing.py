"""What is chosen, from what, and what gives way."""

import tomllib

import pytest

from regard import config as settings
from regard.config import Config
from regard.jobs.tasks.registry import get_task
from regard.jobs.tasks.translation.task import TASK
from regard.training.planning.cost import MeanLengths
from regard.training.planning.sizing import DEFAULT_BATCH_TOKENS, SIZE_PRESETS, SizingInputs


def facts(pairs: int = 29_000, rate: float = 1.2e11, memory: int = 0) -> SizingInputs:
    return SizingInputs(pairs, 92 * pairs, 97 * pairs, rate, memory)


def limited(minutes: float | None = 60, steps: int | None = None, *changes: str) -> Config:
    ends = {"train.minutes": minutes, "train.steps": steps}
    return settings.override(Config(), [*(f"{k}={v}" for k, v in ends.items() if v is not None), *changes])


def chosen(given: SizingInputs, config: Config | None = None) -> dict[str, object]:
    return {choice.name: choice.value for choice in TASK.suggest_settings(given, config or limited())}


def test_every_choice_is_a_setting_and_has_a_reason():
    for given, config in ((facts(300), limited()), (facts(), limited()), (facts(3_000_000), limited(None, 10))):
        choices = TASK.suggest_settings(given, config)
        sized = settings.override(config, [f"{c.name}={c.value}" for c in choices])
        assert sized.model.dim % sized.model.heads == 0
        assert all(choice.reason for choice in choices)


def test_more_text_more_time_and_a_faster_machine_never_make_it_smaller():
    for small, large in (
        ((facts(3_000), limited()), (facts(300_000), limited(6000))),
        ((facts(), limited(2)), (facts(), limited(600))),
        ((facts(rate=2e10), limited()), (facts(rate=2e12), limited())),
    ):
        one, two = chosen(*small), chosen(*large)
        assert one["model.dim"] <= two["model.dim"] and one["data.vocab_size"] <= two["data.vocab_size"]
    assert chosen(facts(), limited(2))["model.dim"] < chosen(facts(), limited(6000))["model.dim"]


def test_short_sentences_feed_a_smaller_model():
    captions, talks = SizingInputs(29_000, 62 * 29_000, 68 * 29_000, 1.2e11), facts()
    assert chosen(captions)["model.dim"] < chosen(talks)["model.dim"]


def test_text_seen_more_often_is_dropped_more():
    assert chosen(facts(), limited(3))["model.dropout"] < chosen(facts(), limited(3000))["model.dropout"]


def test_the_machine_does_not_matter_where_steps_are_counted():
    assert chosen(facts(rate=1.0), limited(None, 500)) == chosen(facts(rate=1e15), limited(None, 500))


def test_steps_and_minutes_together_end_with_whichever_comes_first():
    few, short = chosen(facts(), limited(600, 50)), chosen(facts(), limited(0.1, 50_000))
    assert few["train.warmup"] <= 10 and short["train.warmup"] <= 10


def test_places_and_lengths_of_ones_own_are_taken_as_they_fit_each_other():
    own = ["model.dim=200", "model.heads=4", "model.positions.kind=learned", "model.positions.length=24"]
    assert "train.learning_rate" in chosen(facts(), limited(60, None, "data.max_length=24", *own))


def test_what_was_given_stays_and_a_size_is_one_choice():
    names = chosen(facts(), limited(60, None, "train.learning_rate=0.1", "model.layers=2")).keys()
    assert "train.learning_rate" not in names and not names & {"model.dim", "model.heads", "model.ffn", "model.layers"}
    assert "data.vocab_size" in names


def test_choices_follow_from_what_was_given():
    assert (
        chosen(facts(), limited(60, None, "model.dim=512"))["train.learning_rate"]
        < chosen(facts())["train.learning_rate"]
    )
    rare = chosen(facts(), limited(None, 30_000, "train.batch_tokens=64"))
    assert rare["model.dropout"] < chosen(facts(), limited(None, 30_000))["model.dropout"]


def test_a_batch_fits_into_memory():
    little = facts(memory=300_000_000)
    assert chosen(facts())["train.batch_tokens"] == 1024
    assert 128 <= chosen(little)["train.batch_tokens"] < 1024
    assert "memory" in next(
        c.reason for c in TASK.suggest_settings(little, limited()) if c.name == "train.batch_tokens"
    )


@pytest.mark.parametrize("preset", SIZE_PRESETS, ids=lambda preset: str(preset.dim))
def test_the_ladder_holds_models_that_can_be_built(preset):
    assert preset.model_config().dim % preset.heads == 0


def test_the_printed_config_file_leaves_open_what_is_chosen(capsys):
    from regard.cli.settings import settings as print_settings
    from regard.config.names import CHOSEN_SETTINGS

    print_settings()
    printed = settings.build(tomllib.loads(capsys.readouterr().out))
    inputs = SizingInputs(30_000, 900_000, 900_000, 1e11)
    chosen = {choice.name for choice in TASK.suggest_settings(inputs, printed)}
    assert chosen == {choice.name for choice in TASK.suggest_settings(inputs, Config())} == CHOSEN_SETTINGS


def test_a_preset_is_the_model_of_its_numbers():
    for preset in SIZE_PRESETS:
        model = preset.model_config()
        assert (model.dim, model.layers, model.heads, model.ffn) == (
            preset.dim,
            preset.layers,
            preset.heads,
            preset.ffn,
        )
        found = chosen(SizingInputs(10**6, 1, round(3.5 * preset.min_target_tokens), 1e30), limited(None, 10**6))
        assert [found[f"model.{name}"] for name in ("dim", "layers", "heads", "ffn")] == [
            preset.dim, preset.layers, preset.heads, preset.ffn
        ]  # fmt: skip


def test_what_is_not_known_of_a_machine_limits_nothing():
    inputs = SizingInputs(29_000, 92 * 29_000, 97 * 29_000, 1.2e11)
    assert (inputs.available_memory, inputs.processes) == (0, 1)
    assert chosen(inputs)["train.batch_tokens"] == DEFAULT_BATCH_TOKENS
    assert inputs.mean_lengths == MeanLengths(92 / 3.5 + 1, 97 / 3.5 + 1)  # EOS included
    assert inputs.target_tokens == round(97 * 29_000 / 3.5)


@pytest.mark.parametrize(("epochs", "dropout"), [(14, 0.1), (15, 0.2), (39, 0.2), (40, 0.3)])
def test_epochs_at_the_threshold_are_many(epochs: int, dropout: float):
    assert chosen(SizingInputs(2, 7, 7, 1e11), limited(None, epochs))["model.dropout"] == dropout  # one step each


def test_reasons_name_what_they_follow_from():
    inputs = SizingInputs(5_000, 350_000, 350_000, 1e11)
    reasons = {choice.name: choice.reason for choice in TASK.suggest_settings(inputs, limited(None, 3_000))}
    assert reasons["data.vocab_size"] == "5,000 pairs"
    assert reasons["model.dim"] == reasons["model.ffn"] == "about 100,000 target tokens, and 3,000 steps"
    assert reasons["train.learning_rate"] == "width 128" and reasons["train.warmup"] == "about 3,000 steps"
    assert "small batches learn faster" in reasons["train.batch_tokens"]


def test_a_vocabulary_of_ones_own_counts_for_memory_and_time():
    """The larger one leaves less memory for a batch."""
    inputs = facts(memory=700_000_000)
    small, large = (
        chosen(inputs, limited(None, 9, "model.dim=128", f"data.vocab_size={size}")) for size in (1000, 30_000)
    )
    assert small["train.batch_tokens"] > large["train.batch_tokens"]


def test_weights_that_are_given_need_no_guided_alignment():
    assert "train.guided_alignment" in chosen(facts())
    assert "train.guided_alignment" not in chosen(facts(), limited(60, None, "train.init_from=runs/x"))


def test_a_metric_of_another_task_of_the_architecture_is_no_obstacle():
    config = limited(8, None, "task=summarize", "train.metric=rouge2", "train.validation_sentences=13")
    choices = {choice.name: choice.value for choice in get_task("summarize").suggest_settings(facts(), config)}
    assert choices["model.dim"] == chosen(facts(), limited(8))["model.dim"] and "train.metric" not in choices


def test_presets_are_round_numbers():
    """A threshold is a rule of thumb: more digits would say more than is known."""
    for preset in SIZE_PRESETS:
        assert preset.dim % 64 == preset.ffn % 256 == preset.min_target_tokens % 100_000 == preset.min_steps % 1000 == 0
