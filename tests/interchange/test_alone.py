"""What can be said of imports and exports without any other library."""

import json
from pathlib import Path

import pytest
import torch

from regard import config as settings
from regard.config import Config
from regard.data.tokenizers import tokenizer as tokenizers_room
from regard.data.tokenizers.tokenizer import BOS, PAD, Tokenizers
from regard.errors import ConfigError, FormatError
from regard.interchange import marian
from regard.interchange.folder import load_weights_only, open_model_folder
from regard.interchange.registry import get_exporter, get_importer
from regard.interchange.trained import TrainedTranslator
from regard.jobs.convert import import_folder
from regard.jobs.load import load_tokenizers, new_model, save_tokenizers
from regard.jobs.train.init_from import inherit_settings
from regard.model import weights
from regard.model.transformer import EncoderDecoder
from regard.run import Run
from tests.interchange.conftest import randomise

ENGLISH = ["the cat sees the dog", "the dogs see a cat", "a b c d e f g"] * 5
FRENCH = ["le chat voit le chien", "les chiens voient un chat", "l'été de l'élève"] * 5


def make_translator(joint: bool, **changes: object) -> tuple[TrainedTranslator, EncoderDecoder]:
    """A translator that Marian's format can express, with weights that mean nothing."""
    sizes = {"dim": 22, "heads": 2, "ffn": 13, "encoder_layers": 2, "decoder_layers": 3}
    model = {**sizes, "norm": "post", "positions": {"sinusoid_layout": "halves"}, "output_bias": True, **changes}
    config = settings.build({"model": model, "data": {"joint_vocab": joint, "vocab_size": 331}})
    both = tokenizers_room.train_tokenizer([*ENGLISH, *FRENCH], 331, "bpe")
    other = both if joint else tokenizers_room.train_tokenizer(FRENCH, 317, "unigram")
    tokenizers = Tokenizers(both, other)
    model = new_model(config, tokenizers).eval()
    randomise(model)
    return TrainedTranslator(config, weights.tensors_of(model), tokenizers), model


@pytest.mark.parametrize("joint", [True, False])
def test_what_is_exported_and_imported_says_the_same(tmp_path: Path, joint: bool):
    trained, before = make_translator(joint)
    get_exporter("marian")(trained, tmp_path)
    folder = open_model_folder(tmp_path)
    back = get_importer(folder)(folder)
    assert isinstance(back, TrainedTranslator) and back.tokenizers.joint == joint
    after = new_model(back.config, back.tokenizers).eval()
    weights.load_into(after, back.tensors, "back")
    source = torch.randint(4, trained.tokenizers.source.vocab_size, (3, 7))
    target = torch.randint(4, trained.tokenizers.target.vocab_size, (3, 5))
    source[1, 4:], target[2, 3:], target[:, 0] = PAD, PAD, BOS
    real = target != PAD
    mine, theirs = (model.output(model(source, target))[real] for model in (before, after))
    torch.testing.assert_close(theirs[:, PAD + 1 :], mine[:, PAD + 1 :])
    for side, texts in (("source", ENGLISH), ("target", FRENCH)):
        one, two = (getattr(x.tokenizers, side) for x in (trained, back))
        assert two.encode(texts) == one.encode(texts)
        assert two.decode(two.encode(texts)[0]) == texts[0]


@pytest.mark.parametrize("joint", [True, False])
def test_imported_tokenisers_are_kept_in_a_run(tmp_path: Path, joint: bool):
    trained, _ = make_translator(joint)
    marian.write(trained, tmp_path)
    back = marian.read(open_model_folder(tmp_path))
    run = Run(tmp_path / "run")
    save_tokenizers(run, back.tokenizers)
    loaded = load_tokenizers(run, back.config)
    assert loaded.joint == joint and all(run.has_checksum(path) for path in run.tokenizer_files())
    for side in ("source", "target"):
        assert getattr(loaded, side).id_to_token == getattr(back.tokenizers, side).id_to_token
    assert loaded.target.encode(FRENCH) == back.tokenizers.target.encode(FRENCH)


def test_a_model_that_cannot_be_expressed_leaves_nothing_behind(tmp_path: Path):
    trained, _ = make_translator(True, norm="pre")
    with pytest.raises(
        ConfigError, match=r"Marian's format cannot express this run: model.norm=pre; Marian requires post"
    ):
        marian.write(trained, tmp_path)
    assert not list(tmp_path.iterdir())


def test_files_that_are_damaged_or_missing_are_named(tmp_path: Path):
    trained, _ = make_translator(True)
    marian.write(trained, tmp_path)
    good = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    vocab = json.loads(good["vocab.json"])
    for name, damage, message in (
        ("config.json", b"{", r"config.json: not readable JSON"),
        ("config.json", b"[1]", r"config.json: expected an object with the model's settings"),
        ("vocab.json", b"[]", r"vocab.json: expected tokens with ids below"),
        ("vocab.json", json.dumps(vocab | {"more": len(vocab)}).encode(), r"vocab.json: expected tokens with ids"),
        ("vocab.json", json.dumps({"</s>": 0, "<unk>": 1}).encode(), r"vocab.json: has no token <pad>"),
        ("source.spm", None, r"source.spm: missing. A marian model needs it"),
        ("source.spm", b"version https://git-lfs.github.com/spec/v1", r"source.spm: not a SentencePiece model"),
        ("target.spm", b"", r"target.spm: not a SentencePiece model"),
        ("tokenizer_config.json", b"[]", r"tokenizer_config.json: expected an object"),
    ):
        for file, content in good.items():
            (tmp_path / file).write_bytes(content)
        if damage is None:
            (tmp_path / name).unlink()
        else:
            (tmp_path / name).write_bytes(damage)
        with pytest.raises(FormatError, match=message):
            marian.read(open_model_folder(tmp_path))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": "many"}, r"config.json: vocab_size is 'many', expected an integer from 1 to 10,000,000"),
        ({"vocab_size": 400}, r"model.shared.weight has \d+ rows, but config.json names 400 tokens"),
        ({"encoder_layers": None}, r"config.json: encoder_layers is None, expected an integer"),
        ({"decoder_layers": 10**9}, r"decoder_layers is 1000000000, expected an integer from 1 to 1,000"),
        ({"activation_function": ["relu"]}, r"activation_function=\['relu'\]; available: swish"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path: Path, changes: dict, message: str):
    trained, _ = make_translator(True)
    marian.write(trained, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(FormatError, match=message):
        marian.read(open_model_folder(tmp_path))


def test_older_weights_need_names(tmp_path: Path):
    torch.save({1: torch.zeros(2)}, tmp_path / "w.bin")
    with pytest.raises(FormatError, match=r"w.bin: expected a dictionary from names to tensors"):
        load_weights_only(tmp_path / "w.bin")
    (tmp_path / "w.bin").write_text("version https://git-lfs.github.com/spec/v1")
    with pytest.raises(FormatError, match=r"w.bin: damaged, or holds more than weights; code is never run \(\w+\)$"):
        load_weights_only(tmp_path / "w.bin")


def test_an_import_is_fine_tuned_gently(tmp_path: Path):
    trained, _ = make_translator(True)
    get_exporter("marian")(trained, tmp_path)
    import_folder(tmp_path, tmp_path / "run")
    assert inherit_settings(Run(tmp_path / "run"), Config()).train.learning_rate == 5e-5


def test_a_config_is_a_config_whatever_was_left_out(tmp_path: Path):
    """What the format's defaults are: gelu and unscaled, unlike OPUS-MT's own."""
    trained, _ = make_translator(True, activation="silu")
    marian.write(trained, tmp_path)
    written = json.loads((tmp_path / "config.json").read_text())
    assert written["activation_function"] == "swish" and written["scale_embedding"] is True
    short = {k: v for k, v in written.items() if k not in ("activation_function", "scale_embedding", "dropout")}
    (tmp_path / "config.json").write_text(json.dumps(short))
    read = marian.read(open_model_folder(tmp_path)).config
    assert isinstance(read, Config)
    assert (read.model.activation, read.model.scale_embeddings, read.model.dropout) == ("gelu", False, 0.1)
