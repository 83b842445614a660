"""A GPT-2 folder becomes a language model here: its logits, tokens and continuations are theirs."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from regard.cli import main
from regard.data.tokenizers.byte_level_bpe import EOS_TOKEN, ByteLevelBPE
from regard.errors import ConfigError, RegardError, RunError
from regard.jobs.convert import import_folder
from regard.jobs.load import load, load_encoder, load_language_model
from regard.model import weights
from regard.run import Run
from regard.tasks.generate import GenerationOptions
from tests.data.byte_level import NASTY, SENTENCES, byte_level_json, vocab_and_merges
from tests.interchange.conftest import HF, randomise

transformers = pytest.importorskip("transformers", reason=HF)
pytest.importorskip("tokenizers", reason="needs the tokenizers library: pip install 'regard[bert]'")

SIZES = {"n_positions": 29, "n_embd": 33, "n_layer": 3, "n_head": 3, "n_inner": 13}
V = 311  # more rows than the tokenizer has tokens
EOS = ByteLevelBPE(byte_level_json()).eos_id


def make(folder: Path, **changes: object) -> Path:
    """A GPT-2 folder by the transformers library, with a tokenizer trained here."""
    folder.mkdir()
    torch.manual_seed(11)
    (folder / "tokenizer.json").write_bytes(byte_level_json())
    settings = {"vocab_size": V, "eos_token_id": EOS, "bos_token_id": EOS, **SIZES, **changes}
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings))
    randomise(theirs)
    theirs.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("gpt2") / "gpt2")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_inner": None, "n_layer": 1, "layer_norm_epsilon": 1e-3},
        {"n_embd": 26, "n_head": 2, "activation_function": "relu", "n_positions": 41},
        {"tie_word_embeddings": False, "activation_function": "gelu", "n_head": 1},
        {"activation_function": "silu", "n_embd": 35, "n_head": 7, "vocab_size": 307},
    ],
    ids=str,
)
def test_logits_are_theirs_whatever_is_padded(changes, tmp_path):
    folder = make(tmp_path / "gpt2", **changes)
    import_folder(folder, tmp_path / "run")
    mine = load_language_model(tmp_path / "run", "cpu")
    theirs = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    lengths = [3, 11, mine.max_length, 7]
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.where(real, torch.randint(len(mine.model.output.weight), real.shape), EOS)
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-10)):
        model, other = mine.model.to(dtype), theirs.to(dtype)
        expected = other(input_ids=ids, attention_mask=real.long()).logits
        assert_close(model.output(model(ids))[real], expected[real], rtol=0, atol=tolerance)


def test_greedy_search_is_theirs(folder: Path, tmp_path):
    import_folder(folder, tmp_path / "run")
    mine = load_language_model(tmp_path / "run", "cpu")
    theirs = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    prompts = ["", "Le chat", "日本", SENTENCES[0][:13]]
    results = mine.generate(prompts, GenerationOptions(max_new_tokens=7, temperature=0))
    for prompt, result in zip(prompts, results, strict=True):
        ids = torch.tensor([[EOS, *mine.tokenizer.encode([prompt])[0]]])
        out = theirs.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=7, pad_token_id=EOS,
            suppress_tokens=list(range(mine.tokenizer.vocab_size, V)),
        )  # fmt: skip
        assert result.text == mine.tokenizer.decode(out[0, ids.shape[1] :].tolist()).rstrip("\ufffd")
    assert len({result.text for result in results}) > 1


def test_older_names_and_files_say_the_same(folder: Path, tmp_path):
    old = shutil.copytree(folder, tmp_path / "old")
    (old / "tokenizer.json").unlink()
    vocab, merges = vocab_and_merges(byte_level_json())
    (old / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    (old / "merges.txt").write_text(merges, encoding="utf-8")
    tensors = weights.read(old / "model.safetensors")
    (old / "model.safetensors").unlink()
    bare = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
    rest = {"h.0.attn.bias": torch.ones(1, 1, 29, 29).tril(), "h.0.attn.masked_bias": torch.tensor(-1e4)}
    torch.save(bare | rest | {"lm_head.weight": tensors["transformer.wte.weight"]}, old / "pytorch_model.bin")
    for path, out in ((folder, "new"), (old, "older")):
        import_folder(path, tmp_path / out)
    new, older = (load_language_model(tmp_path / out, "cpu") for out in ("new", "older"))
    assert new.tokenizer.encode(NASTY) == older.tokenizer.encode(NASTY)
    options = GenerationOptions(max_new_tokens=11)
    assert new.generate(["Le", ""], options) == older.generate(["Le", ""], options)
    (old / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
    import_folder(old, tmp_path / "prefix")
    prefixed = load_language_model(tmp_path / "prefix", "cpu").tokenizer
    assert prefixed.encode(["Le chat"]) == new.tokenizer.encode([" Le chat"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale_attn_by_inverse_layer_idx": True}, r"scale_attn_by_inverse_layer_idx=true is not supported"),
        ({"reorder_and_upcast_attn": True}, r"reorder_and_upcast_attn=true is not supported"),
        ({"add_cross_attention": True}, r"add_cross_attention=true is not supported"),
        ({"scale_attn_weights": False}, r"scale_attn_weights=false is not supported"),
        ({"activation_function": "mish"}, r"activation_function=mish; available: gelu_new"),
        ({"activation_function": ["relu"]}, r"activation_function=\['relu'\]; available: gelu_new"),
        ({"vocab_size": 290}, r"vocab_size is 290, but the tokenizer's is 307; the folder mixes files of two models"),
        ({"vocab_size": None}, r"config.json: vocab_size is None, expected an integer"),
        ({"vocab_size": 313}, r"wte.weight is \(311, 33\), expected \(313, 33\)"),
        ({"eos_token_id": 5}, r"eos_token_id is 5, but <\|endoftext\|> is 0 in the tokenizer"),
        ({"n_positions": "far"}, r"n_positions is 'far', expected an integer"),
        ({"n_positions": 31}, r"wpe.weight is \(29, 33\), expected \(31, 33\)"),
        ({"n_layer": 4}, r"its weights lack h.3.attn.c_attn.weight and 11 more"),
        ({"n_layer": 2}, r"its weights hold h.2.*, which no GPT-2 has"),
        ({"n_layer": 10**6}, r"n_layer is 1000000, expected an integer from 1 to 1,000"),
        ({"n_embd": 36}, r"wte.weight is \(311, 33\), expected \(311, 36\)"),
        ({"n_embd": 66_000}, r"model.dim=66000"),
        ({"n_head": 2}, r"model.heads=2 does not divide model.dim=33"),
        ({"n_inner": 17}, r"h.0.mlp.c_fc.weight is \(33, 13\), expected \(33, 17\)"),
        ({"n_inner": 0}, r"n_inner is 0, expected an integer"),
        ({"tie_word_embeddings": False}, r"its weights lack lm_head.weight and 0 more"),
        ({"tie_word_embeddings": "maybe"}, r"model.tie_embeddings='maybe'"),
        ({"resid_pdrop": 1.0}, r"model.dropout=1.0"),
        ({"layer_norm_epsilon": 0}, r"model.norm_epsilon=0"),
    ],
)
def test_a_folder_that_cannot_be_expressed_is_refused_with_the_reason(folder: Path, tmp_path, changes, message):
    other = shutil.copytree(folder, tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(RegardError, match=message) as refusal:
        import_folder(other, tmp_path / "run")
    assert "\n" not in str(refusal.value)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_folder_that_is_not_complete_is_refused_with_the_file(folder: Path, tmp_path):
    vocab, merges = vocab_and_merges(byte_level_json())
    without_eos = {token: i for token, i in vocab.items() if token != EOS_TOKEN}
    for files, message in (
        ({}, r"has no tokenizer; expected tokenizer.json, or vocab.json and merges.txt"),
        ({"vocab.json": json.dumps(vocab)}, r"merges.txt: missing. A gpt2 model needs it"),
        ({"vocab.json": "[]", "merges.txt": merges}, r"vocab.json: expected an object"),
        ({"vocab.json": '{"a": "b"}', "merges.txt": merges}, r"vocab.json: expected an object from tokens to ids"),
        ({"vocab.json": json.dumps(without_eos), "merges.txt": merges}, r"has no token <\|endoftext\|>"),
        ({"vocab.json": json.dumps(vocab), "merges.txt": "a b c"}, r"merges.txt, line 1: expected two tokens"),
        ({"tokenizer.json": "{"}, r"tokenizer.json: not a valid tokenizer"),
    ):
        other = shutil.copytree(folder, tmp_path / "other")
        (other / "tokenizer.json").unlink()
        for name, content in files.items():
            (other / name).write_text(content, encoding="utf-8")
        with pytest.raises(RegardError, match=message):
            import_folder(other, tmp_path / "run")
        shutil.rmtree(other)
    other = shutil.copytree(folder, tmp_path / "other")
    tensors = weights.read(other / "model.safetensors")
    for name, tensor, message in (
        ("transformer.h.1.attn.c_attn.weight", torch.ones(33), r"c_attn.weight is \(33,\), expected \(33, 99\)"),
        ("transformer.h.0.ln_1.bias", torch.ones(3, 11), r"h.0.ln_1.bias is \(3, 11\), expected \(33,\)"),
        ("transformer.wpe.weight", torch.ones(29, 33).long(), r"holds torch.int64; expected floating-point"),
        ("stranger", torch.ones(1), r"its weights hold stranger, which no GPT-2 has"),
    ):  # fmt: skip
        weights.write(tensors | {name: tensor}, other / "model.safetensors")
        with pytest.raises(RegardError, match=message):
            import_folder(other, tmp_path / "run")
    (other / "model.safetensors").unlink()
    with pytest.raises(RegardError, match=r"has no weights; expected model.safetensors"):
        import_folder(other, tmp_path / "run")


def test_a_language_model_is_imported_by_the_command_and_neither_translates_nor_embeds(folder, tmp_path, capsys):
    run = tmp_path / "run"
    with pytest.raises(SystemExit) as ended:
        main(["import", str(folder), "--out", str(run)])
    assert ended.value.code == 0 and f"{V} tokens; it generates text" in capsys.readouterr().err
    assert import_folder(folder, tmp_path / "again")[0].endswith("307 tokens; it generates text")
    assert Run(run).load_config().model.attention_names() == [f"decoder.{i}.self" for i in range(3)]
    with pytest.raises(RunError, match=r"\(--task causal-lm\), and cannot translate; use it with `regard generate"):
        load(run)
    with pytest.raises(RunError, match=r"is a causal language model \(--task causal-lm\), and cannot embed texts"):
        load_encoder(run)
    for command in (["prune", str(run)], ["translate", str(run)]):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 2, command
        assert "Traceback" not in capsys.readouterr().err


def test_a_run_of_another_kind_is_no_language_model(folder: Path, tmp_path):
    import_folder(folder, tmp_path / "run")
    config = (tmp_path / "run" / "config.toml").read_text()
    (tmp_path / "run" / "config.toml").write_text(
        config.replace('"decoder"', '"encoder"').replace('"causal-lm"', '"masked-lm"')
    )
    with pytest.raises(
        RunError, match=r"is a masked language model .*, and cannot generate text; use it with `regard fill"
    ):
        load_language_model(tmp_path / "run")
    (tmp_path / "run" / "config.toml").write_text(config.replace("ffn = 13", "ffn = 100000000"))
    with pytest.raises(RegardError, match=r"ffn"):
        load_language_model(tmp_path / "run")
    (tmp_path / "run" / "config.toml").write_text(config.replace("ffn = 13", "ffn = 1000000"))
    with pytest.raises(RunError, match=r"asks for 201,\d{3},\d{3} parameters, but"):
        load_language_model(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"--quantize int4: expected one of none, int8"):
        load_language_model(tmp_path / "run", quantize="int4")


def test_eight_bits_are_close(folder: Path, tmp_path):
    import_folder(folder, tmp_path / "run")
    full, small = (load_language_model(tmp_path / "run", "cpu", quantize) for quantize in ("none", "int8"))
    options = GenerationOptions(max_new_tokens=1, temperature=0)
    scores = [model.generate([text[:13] for text in SENTENCES[:7]], options) for model in (full, small)]
    assert all(abs(a.score - b.score) < 0.5 for a, b in zip(*scores, strict=True)) and scores[0] != scores[1]
