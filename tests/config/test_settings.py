"""Settings: wrong at birth or never."""

import random
import tomllib

import pytest

from regard import config
from regard.config import Config
from regard.errors import ConfigError
from regard.model.attention import Attention
from regard.model.build import build, build_decoder, build_encoder

NINE = "'none'.*'sinusoidal'.*'learned'.*'concatenated'.*'relative'.*'bias'.*'t5'.*'alibi'.*'rotary'"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"model": {"dimm": 3}}, r"unknown setting 'model.dimm'; did you mean 'model.dim'\?"),
        ({"dropout": 0.1}, r"unknown setting 'dropout'; did you mean 'model.dropout'\?"),
        ({"model": {"zzz": 1}}, r"unknown setting 'model.zzz'; model has: .*model.dim"),
        ({"qqqq": 1}, r"unknown setting 'qqqq'; the settings has: task, data, model, train"),
        (
            {"model": {"dim": 10, "heads": 3}},
            r"model.heads=3 does not divide model.dim=10; heads that do: 1, 2, 5",
        ),
        ({"model": {"pooler": True}}, r"model.pooler=True is for encoders without a decoder.*leave it out"),
        ({"model": {"token_types": 2}}, r"model.token_types=2 is for encoders without a decoder"),
        (
            {"model": {"architecture": "decoder", "pooler": True}},
            r"model.pooler=True is for encoders without a decoder, but model.architecture is decoder",
        ),
        (
            {"model": {"architecture": "decoder", "encoder_layers": 3}},
            r"model.encoder_layers is for models with an encoder, but model.architecture is decoder; leave it out",
        ),
        (
            {"model": {"architecture": "encoder", "decoder": {"positions": {"kind": "none"}}}},
            r"model.decoder.positions is for models with a decoder, but model.architecture is encoder; leave it out",
        ),
        (
            {"model": {"architecture": "decoder", "pruned": ["decoder.0.cross.1"]}},
            r"model.pruned: this model has no head decoder.0.cross.1",
        ),
        ({"train": {"learning_rate": "fast"}}, r"train.learning_rate='fast': .*valid number"),
        ({"train": {"steps": 1.5}}, r"train.steps=1.5: .*valid integer"),
        ({"model": {"norm": "both"}}, r"model.norm='both': input should be 'pre' or 'post'"),
        ({"model": {"positions": {"kind": "rotray"}}}, rf"model.positions.kind='rotray': .*{NINE}"),
        (
            {"model": {"heads": 1, "positions": {"kind": "alibi", "sides": "two-sided"}}},
            r"model.positions.sides=two-sided needs at least two heads",
        ),
        ({"model": {"dropout": 1.0}}, r"model.dropout=1.0: .*less than 1"),
        ({"train": {"label_smoothing": 1.0}}, r"train.label_smoothing=1.0: .*less than 1"),
        ({"train": {"label_smoothing": "much"}}, r"train.label_smoothing='much': .*valid number"),
        ({"train": {"label_smoothing": "0:0.1,1:1.5"}}, r"train.label_smoothing=1.5: .*less than 1"),
        ({"train": {"rdrop": "0:5,1:-1"}}, r"train.rdrop=-1.0: .*greater than or equal to 0"),
        ({"train": {"rdrop": "0:5,1"}}, r"train.rdrop='.*': expected a number, or points progress:value.* 0.8:0.1,1:0"),
        ({"train": {"rdrop": "0:5,80:0"}}, r"train.rdrop='.*': progress is a share of training, from 0 to 1"),
        ({"train": {"rdrop": "0:5,nan:0"}}, r"train.rdrop='.*': progress is a share of training, from 0 to 1"),
        ({"train": {"rdrop": "0.5:5,0.2:0"}}, r"train.rdrop='.*': points come in the order of progress"),
        ({"train": {"rdrop": "0.5:5,0.5:0,0.5:1"}}, r"train.rdrop='.*': points come in .*at most two at the same"),
        ({"train": {"guided_heads": "decoder.0.cross.0"}}, r"train.guided_heads: nothing is aligned with"),
        (
            {"train": {"guided_alignment": 1, "guided_heads": ["decoder.0.cross.4"]}},
            r"train.guided_heads: this model has no cross-attention head decoder.0.cross.4; it has decoder.<0 to 3>",
        ),
        (
            {"train": {"guided_alignment": 1, "guided_heads": "decoder.1.self.0"}},
            r"train.guided_heads: this model has no cross-attention head decoder.1.self.0",
        ),
        (
            {"task": "denoise", "train": {"guided_alignment": "0:1,1:0"}},
            r"train.guided_alignment=0:1,1:0: only of use for task=translate",
        ),
        ({"data": {"vocab_size": 100}}, r"data.vocab_size=100: .*greater than or equal to 280"),
        (
            {"train": {"metric": "bleu", "validation_sentences": 0}},
            r"train.metric=bleu needs train.validation_sentences",
        ),
        ({"model": 3}, r"model=3: .*"),
        ({"train": {"betas": [0.9, 1.5]}}, r"train.betas.1=1.5: .*less than 1"),
        ({"train": {"seed": 2**70}}, r"train.seed=.*less than"),
        (
            {"model": {"positions": {"kind": "learned", "length": 60}}},
            r"model.positions.length=60 is less than data.max_length=256",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_to_do(table, message):
    with pytest.raises(ConfigError, match=message):
        config.build(table)


@pytest.mark.parametrize(
    ("architecture", "names"),
    [
        (
            "encoder-decoder",
            "encoder.0.self encoder.1.self decoder.0.self decoder.0.cross decoder.1.self decoder.1.cross",
        ),
        ("encoder", "encoder.0.self encoder.1.self"),
        ("decoder", "decoder.0.self decoder.1.self"),
    ],
)
def test_attentions_are_those_of_the_architecture(architecture, names):
    model = config.build({"model": {"architecture": architecture, "layers": 2}}).model
    assert model.attention_names() == names.split()
    built = {
        "encoder-decoder": lambda c: build(c, 7, 7, joint=True, pad=0),
        "encoder": lambda c: build_encoder(c, 7, 0),
        "decoder": lambda c: build_decoder(c, 7, 0),
    }[architecture](model)
    attentions = [name for name, module in built.named_modules() if isinstance(module, Attention)]
    assert [name.replace(".layers", "").removesuffix("_attn") for name in attentions] == names.split()


def test_what_is_dumped_is_loaded(tmp_path):
    some = config.override(Config(), ["model.dropout=0.2", "train.steps=7", "model.encoder.positions.kind=none"])
    (tmp_path / "c.toml").write_text(config.dump(some), encoding="utf-8")
    assert config.load(tmp_path / "c.toml") == some != Config()


def test_overrides_read_toml_and_bare_words():
    some = config.override(Config(), ["model.norm=post", 'data.train=["a","b"]', "model.bias=false", "data.source=en"])
    assert some.model.norm == "post" and some.data.train == ("a", "b") and some.model.bias is False
    assert some.data.source == "en"


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("model.dropout", "expected name=value, as in"),
        ("model.drpout=1", "did you mean 'model.dropout'"),
        ("model.dim.x=1", r"model.dim=.*valid integer"),
    ],
)
def test_a_wrong_override_is_explained(assignment, message):
    with pytest.raises(ConfigError, match=message):
        config.override(Config(), [assignment])


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"[model\ndim=3", "not valid TOML.*line 1"), (b"\xff\xfe", "cannot be read"), (None, "no such file")],
)
def test_a_broken_file_is_named(tmp_path, content, message):
    path = tmp_path / "c.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"c.toml: {message}"):
        config.load(path)


def test_a_setting_has_no_settings_of_its_own():
    with pytest.raises(ConfigError, match="dim is a setting, not a group"):
        config.override(Config(), ["model.dim=64", "model.dim.x=1"])


def test_every_setting_has_a_meaning_and_its_default():
    every = list(config.describe())
    assert all(setting.description for setting in every)
    assert {s.name: s.default for s in every}["model.dim"] == Config().model.dim
    assert len({s.name for s in every}) == len(every) > 40


def test_settings_do_not_change_after_birth():
    with pytest.raises(Exception, match="frozen"):
        Config().model.dim = 3


def test_the_printed_settings_are_a_valid_config(capsys):
    from regard.cli.settings import settings

    settings()
    assert config.build(tomllib.loads(capsys.readouterr().out)) == Config()


def test_what_was_given_is_known_and_defaults_are_not():
    some = config.override(
        config.build({"data": {"train": ["a"]}}), ["model.dim=192", "model.encoder.positions.kind=none"]
    )
    assert config.explicit_settings(some) == {"data.train", "model.dim", "model.encoder.positions.kind"}
    assert config.explicit_settings(config.override(some, ["train.seed=1"])) - config.explicit_settings(some) == {
        "train.seed"
    }
    assert config.explicit_settings(Config()) == frozenset()


def test_a_damaged_file_is_read_or_refused_in_a_sentence(tmp_path):
    rng, whole = random.Random(5), config.dump(config.override(Config(), ["train.steps=7"])).encode()
    refused = 0
    for _ in range(400):
        broken = bytearray(whole[: rng.choice((len(whole), rng.randrange(len(whole))))])
        for _ in range(rng.randrange(1, 5)):
            broken[rng.randrange(len(broken) or 1) : rng.randrange(len(broken) or 1)] = rng.randbytes(rng.randrange(3))
        (tmp_path / "c.toml").write_bytes(broken)
        try:
            assert isinstance(config.load(tmp_path / "c.toml"), Config)
        except ConfigError as error:
            refused += 1
            assert "c.toml: " in str(error) and "\n" not in str(error)[:40]
    assert refused > 100


@pytest.mark.parametrize("text", ["tensorboard", '["tensorboard"]'])
def test_a_tracker_is_a_word_or_a_list(text: str):
    some = config.override(Config(), [f"train.track={text}"])
    assert some.train.track == ("tensorboard",)
    assert config.build(tomllib.loads(config.dump(some))) == some


@pytest.mark.parametrize("text", ["wandb", '["tensorboard", "MLflow"]', "comet_ml"])
def test_a_tracking_service_is_refused_with_the_reason(text: str):
    with pytest.raises(ConfigError, match=r"no tracking service, because nothing .* sends data from your machine"):
        config.override(Config(), [f"train.track={text}"])


def test_an_unknown_tracker_is_named():
    with pytest.raises(ConfigError, match=r"^train.track.0='aim': input should be 'tensorboard'$"):
        config.override(Config(), ["train.track=aim"])


def test_histograms_need_a_tracker_and_full_tensors():
    with pytest.raises(ConfigError, match=r"^train.track_histograms needs train.track=tensorboard"):
        config.override(Config(), ["train.track_histograms=5"])
    with pytest.raises(ConfigError, match=r"^train.track_histograms and train.shard=true: .* full tensors"):
        config.override(Config(), ["train.track_histograms=5", "train.track=tensorboard", "train.shard=true"])


@pytest.mark.parametrize(
    ("setting", "tasks"),
    [
        ("data.subword_regularization=0.1", ("translate", "classify", "summarize")),
        ("data.concat_augment=0.5", ("translate",)),
        ("train.guided_alignment=0.3", ("translate",)),
    ],
)
def test_a_setting_that_a_task_would_ignore_is_refused(setting, tasks):
    for task in ("translate", "classify", "tag", "causal-lm", "masked-lm", "denoise", "summarize", "extract"):
        given = [setting, f"task={task}"]
        if task in tasks:
            assert config.override(Config(), given).task == task
        else:
            with pytest.raises(ConfigError, match=f"{setting}: only of use for task={' or '.join(tasks)}; leave it"):
                config.override(Config(), given)
