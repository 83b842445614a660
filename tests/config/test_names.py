"""Names from elsewhere and from earlier versions are answered with today's."""

import pytest

from regard import config
from regard.config import Config, describe, names
from regard.errors import ConfigError

ASKED = {
    "lr": "train.learning_rate",
    "rate": "train.learning_rate",
    "clip": "train.clip_grad_norm",
    "vocabulary": "data.vocab_size",
    "train.rate": "train.learning_rate",
    "train.lr": "train.learning_rate",
    "model.hidden_size": "model.dim",
    "model.d_model": "model.dim",
    "model.embed_dim": "model.dim",
    "model.num_layers": "model.layers",
    "model.n_layer": "model.layers",
    "n_heads": "model.heads",
    "train.max_epochs": "train.epochs",
    "train.warmup_steps": "train.warmup",
    "model.rope": "model.positions.kind",
    "rope": "model.positions.kind",
    "data.vocabulary": "data.vocab_size",
    "train.clip": "train.clip_grad_norm",
    "model.positions.clip": "model.positions.max_relative",
    "model.encoder.positions.clip": "model.encoder.positions.max_relative",
    "model.positions.share": "model.positions.partial_rotary_factor",
    "train.check_every": "train.validate_every",
    "positions.farthest": "model.positions.max_distance",
    "optim.lr": "train.learning_rate",
    "train.path": "train.padding_free",
    "model.decoder.positions.waves": "model.decoder.positions.sinusoid_layout",
    "model.positions.rope_theta": "model.positions.base",
    "train.Batch-Size": "train.batch_tokens",
    "report_to": "train.track",
    "wandb": "train.track",
}


@pytest.mark.parametrize(("typed", "setting"), ASKED.items())
def test_a_name_from_elsewhere_is_answered_with_ours(typed: str, setting: str):
    with pytest.raises(ConfigError, match=rf"unknown setting '{typed}'; did you mean '{setting}'\?"):
        config.override(Config(), [f"{typed}=1"])


def test_every_answer_is_a_setting_and_no_setting_is_called_foreign():
    ours = {setting.name for setting in describe()}
    assert {*names.SETTING_ALIASES, *names.GROUP_ALIASES.values(), *names.VALUE_ALIASES} <= ours
    foreign = {
        f"{setting.rpartition('.')[0]}.{word}"
        for setting, words in names.SETTING_ALIASES.items()
        for word in words.split()
    }
    assert not foreign & ours
    words = [word for words in names.SETTING_ALIASES.values() for word in words.split()]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("model.positions.kind=rope", "rotary"),
        ("model.decoder.positions.kind=RoPE", "rotary"),
        ("model.positions.kind=rotray", "rotary"),
        ("model.norm=prenorm", "pre"),
        ("train.precision=bf16", "bfloat16"),
        ("train.schedule=noam", "inverse-sqrt"),
        ("train.padding_free=packed", "true"),
        ("train.track=tb", "tensorboard"),
        ('train.track=["tensorbord"]', "tensorboard"),
    ],
)
def test_a_value_from_elsewhere_is_answered_with_ours(typed: str, value: str):
    with pytest.raises(ConfigError, match=rf"did you mean '{value}'\?"):
        config.override(Config(), [typed])


@pytest.mark.parametrize(("setting", "foreign"), names.VALUE_ALIASES.items())
def test_every_value_that_is_named_is_one(setting: str, foreign: dict[str, str]):
    for value in foreign.values():
        config.override(Config(), [f"{setting}={value}"])


@pytest.mark.parametrize("typed", ["data.path", "model.clip", "data.average"])
def test_a_name_that_is_bound_to_its_group_is_not_answered_elsewhere(typed: str):
    assert names.find_setting(typed) is None


@pytest.mark.parametrize(("text", "value"), [("true", True), ("True", True), ('"false"', False), ("auto", "auto")])
def test_padding_free_takes_booleans_as_people_write_them(text: str, value: object):
    assert config.override(Config(), [f"train.padding_free={text}"]).train.padding_free == value
