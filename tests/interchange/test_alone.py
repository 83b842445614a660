"""What can be said of imports and exports without any other library."""

import json
from pathlib import Path

import pytest
import torch

from regard import config as settings
from regard.config import Config
from regard.data import tokenizer as tokenizers_room
from regard.data.tokenizer import BOS, PAD, Tokenizers
from regard.errors import ConfigError, FormatError
from regard.interchange import marian, marian_export
from regard.interchange.folder import open_folder
from regard.interchange.registry import exporter, importer
from regard.interchange.trained import Trained
from regard.jobs.load import load_tokenizers, new_model, save_tokenizers
from regard.model import weights
from regard.model.transformer import EncoderDecoder
from regard.run import begin
from tests.interchange.conftest import randomise

ENGLISH = ["the cat sees the dog", "the dogs see a cat", "a b c d e f g"] * 5
FRENCH = ["le chat voit le chien", "les chiens voient un chat", "l'été de l'élève"] * 5


def some(joint: bool, **changes: object) -> tuple[Trained, EncoderDecoder]:
    """A translator that Marian's format can express, with weights that mean nothing."""
    sizes = {"dim": 22, "heads": 2, "ffn": 13, "encoder_layers": 2, "decoder_layers": 3}
    model = {**sizes, "norm": "post", "positions": {"waves": "halves"}, "output_bias": True, **changes}
    config = settings.build({"model": model, "data": {"joint": joint, "vocabulary": 331}})
    both = tokenizers_room.train([*ENGLISH, *FRENCH], 331, "bpe")
    other = both if joint else tokenizers_room.train(FRENCH, 317, "unigram")
    tokenizers = Tokenizers(both, other)
    made = new_model(config, tokenizers).eval()
    randomise(made)
    return Trained(config, weights.tensors_of(made), tokenizers), made


@pytest.mark.parametrize("joint", [True, False])
def test_what_is_exported_and_imported_says_the_same(tmp_path: Path, joint: bool):
    trained, before = some(joint)
    exporter("marian")(trained, tmp_path)
    folder = open_folder(tmp_path)
    back = importer(folder)(folder)
    assert isinstance(back, Trained) and back.tokenizers.joint == joint
    after = new_model(back.config, back.tokenizers).eval()
    weights.load_into(after, back.tensors, "back")
    source = torch.randint(4, trained.tokenizers.source.size, (3, 7))
    target = torch.randint(4, trained.tokenizers.target.size, (3, 5))
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
    trained, _ = some(joint)
    marian_export.write(trained, tmp_path)
    back = marian.read(open_folder(tmp_path))
    run = begin(tmp_path / "run", back.config)
    save_tokenizers(run, back.tokenizers)
    kept = load_tokenizers(run, back.config)
    assert kept.joint == joint and all(run.sealed(path) for path in run.tokenizer_files())
    assert (kept.source.table, kept.target.table) == (back.tokenizers.source.table, back.tokenizers.target.table)
    assert kept.target.encode(FRENCH) == back.tokenizers.target.encode(FRENCH)


def test_a_model_that_cannot_be_expressed_leaves_nothing_behind(tmp_path: Path):
    trained, _ = some(True, norm="pre")
    with pytest.raises(ConfigError, match=r"Marian's format cannot express this run: model.norm is pre, not post: it"):
        marian_export.write(trained, tmp_path)
    assert not list(tmp_path.iterdir())


def test_files_that_are_damaged_or_missing_are_named(tmp_path: Path):
    trained, _ = some(True)
    marian_export.write(trained, tmp_path)
    good = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    pieces = json.loads(good["vocab.json"])
    for name, damage, message in (
        ("config.json", b"{", r"config.json: not readable JSON"),
        ("config.json", b"[1]", r"config.json: expected an object with the model's settings"),
        ("vocab.json", b"[]", r"vocab.json: expected pieces with ids below"),
        ("vocab.json", json.dumps(pieces | {"more": len(pieces)}).encode(), r"vocab.json: expected pieces with ids"),
        ("vocab.json", json.dumps({"</s>": 0, "<unk>": 1}).encode(), r"vocab.json: has no piece <pad>"),
        ("source.spm", None, r"source.spm: missing. A marian folder has it"),
    ):
        for file, content in good.items():
            (tmp_path / file).write_bytes(content)
        if damage is None:
            (tmp_path / name).unlink()
        else:
            (tmp_path / name).write_bytes(damage)
        with pytest.raises(FormatError, match=message):
            marian.read(open_folder(tmp_path))


def test_a_config_is_a_config_whatever_was_left_out(tmp_path: Path):
    """What the format's defaults are: gelu and unscaled, unlike OPUS-MT's own."""
    trained, _ = some(True, activation="silu")
    marian_export.write(trained, tmp_path)
    written = json.loads((tmp_path / "config.json").read_text())
    assert written["activation_function"] == "swish" and written["scale_embedding"] is True
    short = {k: v for k, v in written.items() if k not in ("activation_function", "scale_embedding", "dropout")}
    (tmp_path / "config.json").write_text(json.dumps(short))
    read = marian.read(open_folder(tmp_path)).config
    assert isinstance(read, Config)
    assert (read.model.activation, read.model.scale_words, read.model.dropout) == ("gelu", False, 0.1)
