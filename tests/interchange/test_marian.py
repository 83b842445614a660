"""A Marian folder made by the transformers library becomes a run and comes back, and both say the same throughout."""

import io
import json
import shutil
from pathlib import Path

import pytest
import sentencepiece
import torch
from torch.testing import assert_close

from regard import config as settings
from regard.cli import main
from regard.data.batch import pad
from regard.data.corpora import english_french
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.decode import BeamSearch, GreedySearch
from regard.decode.limits import Limits
from regard.errors import FormatError, RegardError, RunError
from regard.interchange.marian.config import unsupported_features
from regard.interchange.marian.tensors import PADDING_LOGIT
from regard.interchange.marian.vocabulary import MarianVocabulary
from regard.jobs.convert import export_run, import_folder
from regard.jobs.load import load
from regard.jobs.look.cross_attention import compute_cross_attention
from regard.jobs.train import fit
from regard.jobs.train.events import TrainingFinished
from regard.model import weights
from regard.model.taps import record
from regard.run import Run
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.translate.translator import ModelStepper, Translator
from tests.interchange.conftest import HF, randomise

transformers = pytest.importorskip("transformers", reason=HF)
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

SPLITS = english_french.split(300, 17, 13, 5, seed=3)
TEXTS = [pair.source for pair in SPLITS.dev]
SIZES = {
    "d_model": 33, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 3,
    "decoder_attention_heads": 3, "encoder_ffn_dim": 13, "decoder_ffn_dim": 13,
}  # fmt: skip
MAX_LENGTH = 47
UNLIMITED = Limits(
    factor=0.0, extra=MAX_LENGTH, loop_repeats=10**6
)  # none of the limits that transformers does not have


def spm(texts: list[str], size: int) -> bytes:
    """As OPUS-MT's are: end and unknown first, no padding."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=out, vocab_size=size, model_type="unigram",
        eos_id=0, unk_id=1, bos_id=-1, pad_id=-1, minloglevel=2,
    )  # fmt: skip
    return out.getvalue()


def make(folder: Path, **changes: object) -> Path:
    """A Marian folder by the transformers library: random weights that end their sentences now and then."""
    torch.manual_seed(11)
    folder.mkdir()
    tokens: dict[str, None] = {}
    for side, size in (("source", 211), ("target", 223)):
        model = spm([getattr(pair, side) for pair in SPLITS.train], size)
        (folder / f"{side}.spm").write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        tokens |= dict.fromkeys(processor.id_to_piece(i) for i in range(size))
    vocabulary = {token: i for i, token in enumerate([*tokens, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    last = len(vocabulary) - 1
    given = {"activation_function": "swish", "scale_embedding": True, "max_position_embeddings": 64, **changes}
    marks = {"pad_token_id": last, "decoder_start_token_id": last, "eos_token_id": 0, "forced_eos_token_id": 0}
    config = transformers.MarianConfig(vocab_size=len(vocabulary), **SIZES, **given, **marks)
    theirs = transformers.MarianMTModel(config)
    randomise(theirs)
    theirs.final_logits_bias.normal_()
    theirs.final_logits_bias[0, 0] += 6
    theirs.generation_config.bad_words_ids = [[last]]
    theirs.save_pretrained(folder)
    files = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    transformers.MarianTokenizer(*files, source_lang="en", target_lang="fr").save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=["scaled", "unscaled"])
def opus(request: pytest.FixtureRequest, tmp_path_factory) -> Path:
    changes = {"unscaled": {"scale_embedding": False, "activation_function": "gelu"}}.get(request.param, {})
    return make(tmp_path_factory.mktemp(request.param) / "opus-mt-en-fr", **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("marian") / "opus-mt-en-fr")


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "opus"
    import_folder(folder, out)
    return out


def numbers(folder: Path, file: str = "vocab.json") -> torch.Tensor:
    """Our id of each of theirs."""
    ids = json.loads((folder / file).read_text(encoding="utf-8"))
    vocabulary = MarianVocabulary(tuple(sorted(ids, key=ids.get)), ids["<pad>"], ids["<unk>"], ids["</s>"])
    ours = torch.empty(len(ids), dtype=torch.long)
    ours[vocabulary.row_order] = torch.arange(1, len(ids) + 1)
    return ours


def generated(theirs, tokenizer, texts: list[str], beams: int) -> list[tuple[list[int], bool]]:
    """Their ids for each text, without marks, and whether they came to an end."""
    given = tokenizer(texts, return_tensors="pt", padding=True)
    c = theirs.config
    # Theirs counts padding's probability, then forbids it; ours never counts it, which is what renormalising says.
    out = theirs.generate(
        **given, num_beams=beams, max_length=MAX_LENGTH + 1, do_sample=False, renormalize_logits=True,
        bad_words_ids=[[c.pad_token_id]], forced_eos_token_id=None,
    )  # fmt: skip
    marks = (c.pad_token_id, c.eos_token_id)
    return [([i for i in row if i not in marks], c.eos_token_id in row) for row in out.tolist()]


def searched(translator: Translator, texts: list[str], search: GreedySearch | BeamSearch) -> list[list[int]]:
    steps = ModelStepper(
        IncrementalDecoder(translator.model), translator.tokenizers.source.encode(texts), range(len(texts))
    )
    return [list(found[0].ids) for found in search.search(steps)]


def same(folder: Path, translator: Translator, beams: int, texts: list[str] = TEXTS) -> list[list[int]]:
    """What the transformers library and this one say about every text, once it is seen to be the same.

    By beam search only what comes to an end: how those are ranked that do not is each library's own affair.
    """
    theirs = transformers.MarianMTModel.from_pretrained(folder).double().eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    translator.model.double()
    ours = numbers(folder)
    found = searched(translator, texts, GreedySearch(UNLIMITED) if beams == 1 else BeamSearch(beams, limits=UNLIMITED))
    pairs = list(zip(generated(theirs, tokenizer, texts, beams), found, strict=True))
    compared = [(ours[ids].tolist(), mine) for (ids, ended), mine in pairs if ended or beams == 1]
    assert [ids for ids, _ in compared] == [mine for _, mine in compared]
    return [mine for _, mine in compared]


def back(ours: torch.Tensor) -> torch.Tensor:
    """Their id of each of ours; padding has none."""
    return torch.zeros(len(ours) + 1, dtype=torch.long).index_put((ours,), torch.arange(len(ours)))


def agree(folder: Path, translator: Translator) -> torch.Tensor:
    """Every state and every prediction of real tokens is theirs; our logits of those."""
    model = translator.model.double()
    theirs = transformers.MarianMTModel.from_pretrained(folder).double().eval()
    read = numbers(folder)
    write = read if translator.tokenizers.joint else numbers(folder, "target_vocab.json")
    rows, columns = [[5, 9, 7], [4, 8, 6, 3, 11, 7, 9], [3]], [[6, 8], [4], [12, 7, 9, 5, 3]]
    source = pad([[*row, EOS] for row in rows])
    target = pad([[BOS, *row] for row in columns])
    keep = (source != PAD, target != PAD)
    out = theirs(
        input_ids=back(read)[source],
        attention_mask=keep[0].long(),
        decoder_input_ids=back(write)[target].masked_fill(target == BOS, theirs.config.decoder_start_token_id),
        decoder_attention_mask=keep[1].long(),
        output_hidden_states=True,
    )
    with record(model, "*.embed", "*.out") as activations:
        logits = model.output(model(source, target))
    for side, states, real in zip(
        ("encoder", "decoder"), (out.encoder_hidden_states, out.decoder_hidden_states), keep, strict=True
    ):
        mine = [activations[f"{side}.embed"], *(activations[f"{side}.layers.{i}.out"] for i in range(len(states) - 1))]
        for one, other in zip(mine, states, strict=True):
            assert_close(one[real], other[real], rtol=0, atol=1e-10)
    assert_close(logits[keep[1]][:, write], out.logits[keep[1]], rtol=0, atol=1e-10)
    return logits[keep[1]]


def test_states_and_logits_are_theirs_whatever_is_padded(opus: Path, tmp_path):
    import_folder(opus, tmp_path / "run")
    logits = agree(opus, load(tmp_path / "run", "cpu"))
    assert (logits[:, PAD] == PADDING_LOGIT).all() and bool((logits.softmax(-1)[:, PAD] < 1e-20).all())


def test_greedy_search_finds_what_theirs_finds(opus: Path, tmp_path):
    import_folder(opus, tmp_path / "run")
    assert len(same(opus, load(tmp_path / "run", "cpu"), beams=1)) == len(TEXTS)


@pytest.mark.parametrize("beams", [2, 4, 7])
def test_beam_search_finds_what_theirs_finds(folder: Path, run: Path, beams: int):
    found = same(folder, load(run, "cpu"), beams, [pair.source for pair in SPLITS.train[:61]])
    assert len(found) > 10 and len({tuple(ids) for ids in found}) > 5


def test_texts_are_cut_as_they_cut_them(folder: Path, run: Path):
    tokenizer, ours = transformers.MarianTokenizer.from_pretrained(folder), numbers(folder)
    mine = load(run, "cpu").tokenizers
    strange = [*TEXTS, "½ 日本", "  two  spaces ", "été"]
    for text, ids in zip(strange, mine.source.encode(strange), strict=True):
        assert [*ids, EOS] == ours[tokenizer(text)["input_ids"]].tolist()
    known = 0
    for text in (pair.target for pair in SPLITS.dev):
        ids = tokenizer(text_target=text)["input_ids"]
        assert [*mine.target.encode([text])[0], EOS] == ours[ids].tolist()
        if tokenizer.unk_token_id not in ids:  # theirs leaves it out of what it says, ours shows it
            known += 1
            assert mine.target.decode(ours[ids].tolist()) == tokenizer.decode(ids, skip_special_tokens=True)
    assert known > len(SPLITS.dev) // 2


def test_what_is_imported_is_exported_unchanged(folder: Path, run: Path, tmp_path):
    export_run(run, "marian", tmp_path / "back")
    for name in ("source.spm", "target.spm"):
        assert (folder / name).read_bytes() == (tmp_path / "back" / name).read_bytes()
    assert json.loads((folder / "vocab.json").read_text()) == json.loads((tmp_path / "back" / "vocab.json").read_text())
    one, two = (weights.read(path / "model.safetensors") for path in (folder, tmp_path / "back"))
    assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)
    one, two = (json.loads((path / "config.json").read_text()) for path in (folder, tmp_path / "back"))
    same = one.keys() & two.keys()
    assert {*SIZES, "scale_embedding", "pad_token_id", "decoder_start_token_id", "vocab_size"} < same
    assert {name: two[name] for name in same - {"max_position_embeddings"}} == {
        name: one[name] for name in same - {"max_position_embeddings"}
    }


def never() -> bool:
    return False


def pairs(folder: Path, count: int | None = None) -> Path:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{p.source}\t{p.target}\n" for p in SPLITS.train[:count]), encoding="utf-8")
    return path


def tuned(origin: Path | None, out: Path, *changes: str) -> Path:
    """Twenty steps of training, as `regard train --from` makes them."""
    given = ["train.steps=20", "train.threads=1", "train.validation_sentences=3", "train.batch_tokens=256", *changes]
    table = {"data": {"train": [str(pairs(out.parent))], "source": "en", "target": "fr"}}
    with torch.enable_grad():
        events = list(fit.train_run(out, settings.override(settings.build(table), given), False, never, origin))
    assert isinstance(events[-1], TrainingFinished)
    return out


def test_an_imported_run_is_fine_tuned_exported_and_read_by_transformers(folder: Path, run: Path, tmp_path):
    tuned(run, tmp_path / "tuned", "train.learning_rate=1e-2")
    before, after = (load(path, "cpu") for path in (run, tmp_path / "tuned"))
    assert after.tokenizers.joint and after.tokenizers.source.id_to_token == before.tokenizers.source.id_to_token
    held = list(SPLITS.test)
    losses = [sum(forced.loss for forced in translator.teacher_force(held)) for translator in (before, after)]
    assert losses[1] < losses[0]
    export_run(tmp_path / "tuned", "marian", tmp_path / "back")
    assert len(same(tmp_path / "back", after, beams=1)) == len(TEXTS)
    agree(tmp_path / "back", after)
    assert not torch.equal(before.model.output.bias, after.model.output.bias)


@pytest.mark.parametrize("joint", [True, False])
def test_a_run_trained_here_is_read_by_transformers(tmp_path, joint: bool):
    sizes = ("model.dim=22", "model.heads=2", "model.ffn=13", "model.layers=2", "data.vocab_size=331")
    changes = (
        f"data.joint_vocab={str(joint).lower()}",
        "model.norm=post",
        "model.positions.sinusoid_layout=halves",
        *sizes,
    )
    tuned(None, tmp_path / "run", *changes)
    export_run(tmp_path / "run", "marian", tmp_path / "out")
    translator = load(tmp_path / "run", "cpu")
    theirs = transformers.MarianMTModel.from_pretrained(tmp_path / "out").eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "out")
    given = tokenizer(TEXTS, return_tensors="pt", padding=True)
    out = theirs.generate(**given, num_beams=1, max_length=MAX_LENGTH + 1, do_sample=False)
    texts = tokenizer.batch_decode(out, skip_special_tokens=True, use_source_tokenizer=False)
    assert [text.strip() for text in texts] == [
        text.strip() for text in translator.translate(TEXTS, GreedySearch(UNLIMITED))
    ]
    agree(tmp_path / "out", translator)
    import_folder(tmp_path / "out", tmp_path / "again")
    agree(tmp_path / "out", load(tmp_path / "again", "cpu"))


def test_an_imported_run_is_looked_into_and_scored_like_any_other(run: Path, tmp_path, capsys):
    translator = load(run, "cpu")
    look = compute_cross_attention(translator, TEXTS[:3], [pair.target for pair in SPLITS.dev[:3]])[0]
    assert look.token_weights.shape == (len(look.target_tokens), len(look.source_tokens))
    assert "".join(look.source_words) == TEXTS[0].replace(" ", "")
    assert bool((look.word_weights.sum(1) > 0.5).all())
    assert translator.teacher_force(SPLITS.dev[:2])[0].loss > 0
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", str(run), str(pairs(tmp_path, 7)), "--beam", "1", "--json", "--device", "cpu"])
    assert ended.value.code == 0 and json.loads(capsys.readouterr().out)["bleu"]["signature"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*pkg_resources:UserWarning")
def test_an_imported_run_says_the_same_through_ctranslate2(run: Path):
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed (the extra `ctranslate2`)")
    from regard.jobs.translate.engine import open_engine

    search = GreedySearch(Limits(factor=1.0, extra=3, loop_repeats=10**6))
    theirs = [found[0].text for text in TEXTS for found in open_engine(run, "none", 1).candidates([text], search)]
    ours = load(run, "cpu").translate(TEXTS, search)
    assert theirs == ours and len(set(ours)) > 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*pkg_resources:UserWarning")
def test_what_a_killed_conversion_left_is_removed_although_the_conversion_is_complete(run: Path):
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed (the extra `ctranslate2`)")
    from regard.jobs.translate.engine import open_engine

    open_engine(run, "none", 1)
    model = Run(run).ctranslate2_model("none")
    names = [path.name for path in model.parent.iterdir()]
    left = model.with_name(f".{model.name}.regard-abcdefgh")
    left.mkdir()
    (left / "lock").write_bytes(b"")
    open_engine(run, "none", 1)
    assert [path.name for path in model.parent.iterdir()] == names


def test_an_imported_run_has_nothing_to_go_on_with(run: Path):
    with pytest.raises(RunError, match=r"was imported or pruned, not trained.*regard train FILES --from"):
        list(fit.resume_run(run, {"train.steps": 3}, never))


def test_the_older_weight_file_says_the_same_and_may_hold_no_code(folder: Path, run: Path, tmp_path):
    old = shutil.copytree(folder, tmp_path / "old")
    tensors = weights.read(old / "model.safetensors")
    (old / "model.safetensors").unlink()
    config = json.loads((old / "config.json").read_text())
    later = ("share_encoder_decoder_embeddings", "tie_word_embeddings", "decoder_vocab_size")  # not yet known then
    earlier = {
        "bos_token_id": 0,
        "add_bias_logits": False,
        "normalize_before": False,
        "static_position_embeddings": True,
    }
    config = {name: value for name, value in (config | earlier).items() if name not in later}
    (old / "config.json").write_text(json.dumps(config))
    theirs = transformers.MarianMTModel.from_pretrained(folder)
    extra = {
        f"model.{side}.embed_positions.weight": theirs.model.encoder.embed_positions.weight.data
        for side in ("encoder", "decoder")
    }
    doubles = {"lm_head.weight": tensors["model.shared.weight"]}
    torch.save({**tensors, **extra, **doubles}, old / "pytorch_model.bin")
    import_folder(old, tmp_path / "run")
    one, two = (weights.read(Run(path).weights(0)) for path in (run, tmp_path / "run"))
    assert all(torch.equal(one[name], two[name]) for name in one)
    torch.save({"weights": shutil.rmtree}, old / "pytorch_model.bin")
    with pytest.raises(FormatError, match=r"pytorch_model.bin: damaged, or holds more than weights; code is never run"):
        import_folder(old, tmp_path / "other")
    torch.save({**tensors, "model.encoder.embed_positions.weight": torch.zeros(5, 33)}, old / "pytorch_model.bin")
    with pytest.raises(FormatError, match=r"embed_positions.weight does not hold the sinusoids"):
        import_folder(old, tmp_path / "other")
    (old / "pytorch_model.bin").unlink()
    with pytest.raises(FormatError, match=r"has no weights; expected model.safetensors or pytorch_model.bin"):
        import_folder(old, tmp_path / "other")
    assert not (tmp_path / "other").exists() and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalize_before": True}, r"normalize_before=true is not supported: Marian is post-norm only"),
        ({"static_position_embeddings": False}, r"static_position_embeddings=false is not supported"),
        ({"decoder_ffn_dim": 17}, r"encoder and decoder differ in ffn_dim \(13 and 17\)"),
        ({"activation_function": "tanh"}, r"activation_function=tanh; available: swish, silu, relu"),
        ({"tie_word_embeddings": False}, r"tie_word_embeddings=false is not supported"),
        ({"decoder_start_token_id": 0}, r"decoder_start_token_id must equal pad_token_id"),
        ({"eos_token_id": 7}, r"eos_token_id is 7, but its token has the id 0"),
        ({"vocab_size": 99}, r"vocab.json: expected tokens with ids below 99"),
        ({"encoder_layers": 3}, r"its weights lack model.encoder.layers.2.self_attn.q_proj.weight and 15 more"),
        ({"encoder_layers": 1}, r"its weights hold model.encoder.layers.1.*, which no Marian model has"),
        ({"encoder_ffn_dim": 17, "decoder_ffn_dim": 17}, r"feed_forward.up.weight is \(13, 33\), expected \(17, 33\)"),
        ({"model_type": "whisper"}, r"config.json: model_type is whisper; supported: marian"),
        ({"d_model": None}, r"config.json: has no 'd_model', so the model cannot be rebuilt"),
        ({"dropout": 1.5}, r"config.json: model.dropout=1.5: .*less than 1"),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_expressed_is_refused_with_the_reason(folder: Path, tmp_path, changes, message):
    other = shutil.copytree(folder, tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({k: v for k, v in (config | changes).items() if v is not None}))
    with pytest.raises(RegardError, match=message):
        import_folder(other, tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({}, ["model.norm=pre; Marian requires post", "sinusoid_layout=interleaved; Marian requires halves"]),
        (
            {"norm": "post", "positions": {"kind": "rotary"}},
            ["model.positions.kind=rotary; Marian requires sinusoidal"],
        ),
        (
            {"activation": "swiglu", "bias": False},
            ["model.activation=swiglu", "model.bias=false; Marian requires true"],
        ),
        (
            {"norm_epsilon": 1e-6, "tie_embeddings": False},
            ["model.norm_epsilon=1e-06", "model.tie_embeddings=false"],
        ),
        ({"qk_norm": True}, ["model.qk_norm=true; Marian requires false (queries and keys as they are projected)"]),
    ],
)
def test_a_run_that_the_format_cannot_express_is_refused_with_every_reason(changes, reasons):
    found = "; ".join(unsupported_features(settings.ModelConfig(**changes)))
    assert all(reason in found for reason in reasons)
    good = settings.ModelConfig(norm="post", positions={"sinusoid_layout": "halves"})
    assert not list(unsupported_features(good))


def test_the_commands_say_where_things_are_and_refuse_what_they_must(folder: Path, run: Path, tmp_path, capsys):
    main_ = {"import": ["import", str(folder), "--out", str(tmp_path / "mine")]}
    with pytest.raises(SystemExit) as ended:
        main(main_["import"])
    assert ended.value.code == 0 and "tokens" in capsys.readouterr().err
    for argv, code, words in (
        (main_["import"], 2, "already holds a run"),
        (["export", str(tmp_path / "mine"), "--to", "marian"], 0, f"written: {tmp_path / 'mine-marian'}"),
        (["export", str(tmp_path / "mine"), "--to", "marian"], 2, "already exists"),
        (["export", str(tmp_path / "mine"), "--to", "french"], 2, "--to french: no such format; available: marian"),
        (["import", str(tmp_path), "--out", str(tmp_path / "x")], 2, "config.json: missing"),
        (["import", str(tmp_path / "nowhere"), "--out", str(tmp_path / "x")], 2, "no such folder"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(argv)
        assert ended.value.code == code and words in capsys.readouterr().err
    assert not list(tmp_path.glob(".*"))
