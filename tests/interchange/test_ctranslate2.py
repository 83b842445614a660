"""CTranslate2 says what our own search says, token for token, for every model that it can run."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.config import ModelConfig
from regard.data.corpora import english_french
from regard.data.shortlist import SPECIAL, Shortlist
from regard.data.tokenizers import tokenizer
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, Tokenizers
from regard.decode import BeamSearch, GreedySearch, Limits
from regard.errors import FormatError, ModelError
from regard.model.build import build
from regard.model.positions import ALiBi
from regard.model.register import register_position_scheme
from regard.model.transformer import EncoderDecoder
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.translate.translator import ModelStepper, Translator
from tests.model.conftest import SCHEMES, positions

pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed (the extra `ctranslate2`)")

from regard.interchange import ctranslate2
from regard.interchange.engine import CTranslate2Translator

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*pkg_resources:UserWarning")

MAX_LENGTH = 19
PAIRS = list(english_french.generate(300, seed=3))
TEXTS = sorted((pair.source for pair in PAIRS), key=len)[::5][:29]  # short, for tables of 29 places


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    both = tokenizer.train_tokenizer([text for pair in PAIRS for text in (pair.source, pair.target)], 400, "bpe")
    return Tokenizers(both, both)


def model_of(tokenizers: Tokenizers, **settings: object) -> EncoderDecoder:
    """A model that has learnt nothing, but is sure of itself, and listens to its source."""
    torch.manual_seed(7)
    defaults: dict[str, object] = {"dim": 24, "heads": 2, "ffn": 37, "encoder_layers": 2, "decoder_layers": 3}
    size = tokenizers.source.vocab_size
    model = build(ModelConfig(**{**defaults, **settings}), size, size, joint=True, pad=PAD)
    return randomized(model)


def randomized(model: EncoderDecoder) -> EncoderDecoder:
    for parameter in model.parameters():  # nothing that starts at zero or one may hide
        parameter.data += 0.3 * torch.randn_like(parameter)
    for layer in model.decoder.layers:
        layer.cross_attn.out_proj.weight.data *= 5
        layer.cross_attn.q_proj.weight.data *= 3
    model.output.weight.data[EOS] *= 1.5
    return model.eval()


def gap(model: EncoderDecoder, source: list[int], said: list[int]) -> float:
    """How far apart the two likeliest next tokens are."""
    with torch.no_grad():
        logits = model.output(model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *said]])))[0, -1]
    logits[[PAD, BOS]] = -torch.inf
    best = logits.topk(2).values
    return float(best[0] - best[1])


def ids_of(model: EncoderDecoder, tokenizers: Tokenizers, folder: Path) -> list[tuple[list[int], list[int]]]:
    """What we say and what CTranslate2 says, greedily, as ids."""
    ctranslate2.write_model(model, tokenizers, folder)
    theirs = ctranslate2.import_ctranslate2().Translator(str(folder), intra_threads=1, inter_threads=1)
    names, number = (
        ctranslate2.vocabulary_tokens(tokenizers.source),
        ctranslate2.vocabulary_tokens(tokenizers.target).index,
    )
    sources = tokenizers.source.encode(TEXTS)
    rows = [[names[i] for i in (*source, EOS)] for source in sources]
    lengths = {"min_decoding_length": 0, "max_decoding_length": MAX_LENGTH, "max_input_length": 0}
    results = theirs.translate_batch(rows, beam_size=1, **lengths)
    with torch.inference_mode():
        ours = GreedySearch(Limits(0, MAX_LENGTH, loop_repeats=99)).search(
            ModelStepper(IncrementalDecoder(model), sources, range(len(sources)))
        )
    return [
        (list(one.ids), [number(word) for word in other.hypotheses[0]])
        for (one,), other in zip(ours, results, strict=True)
    ]


def same(model: EncoderDecoder, tokenizers: Tokenizers, folder: Path) -> None:
    sources = tokenizers.source.encode(TEXTS)
    pairs = ids_of(model, tokenizers, folder)
    assert len({tuple(ours) for ours, _ in pairs}) > 2, "the model says the same whatever it reads"
    for source, (ours, theirs) in zip(sources, pairs, strict=True):
        if ours != theirs:
            alike = next(i for i, (a, b) in enumerate(zip([*ours, EOS], [*theirs, EOS], strict=False)) if a != b)
            assert gap(model, source, ours[:alike]) < 1e-4, (ours, theirs)


@pytest.mark.parametrize("name", [name for name in SCHEMES if not name.startswith("alibi")])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_scheme_says_the_same_there(tokenizers, tmp_path, name: str, norm: str):
    same(model_of(tokenizers, positions=positions(name), norm=norm), tokenizers, tmp_path)


def test_alibi_in_a_decoder_says_the_same_there(tokenizers, tmp_path):
    sides = {"encoder": {"positions": positions("rotary")}, "decoder": {"positions": positions("alibi")}}
    same(model_of(tokenizers, **sides), tokenizers, tmp_path)


@pytest.mark.parametrize("heads", [3, 6])
def test_alibi_with_heads_that_are_no_power_of_two(tokenizers, tmp_path, heads: int):
    sides = {"encoder": {"positions": positions("none")}, "decoder": {"positions": positions("alibi")}}
    same(model_of(tokenizers, heads=heads, **sides), tokenizers, tmp_path)


@pytest.mark.parametrize(
    "settings",
    [
        {"activation": "gelu"},
        {"activation": "silu"},
        {"activation": "swiglu"},
        {"norm_kind": "rms"},
        {"norm_kind": "rms", "norm": "post"},
        {"bias": False},
        {"tie_embeddings": False},
        {"output_bias": True},
        {"activation": "gelu-tanh"},
        {"scale_embeddings": False},
        {"embedding_norm": True},
        {"embedding_norm": True, "norm_kind": "rms"},
        {"norm": "post", "activation": "silu", "output_bias": True, "positions": {"sinusoid_layout": "halves"}},
        {"norm_epsilon": 1e-3},
        {"encoder_layers": 1, "decoder_layers": 4},
        {"init": "small", "scale_residual_init": True, "embedding_std": 0.3},
    ],
    ids=str,
)
def test_every_option_says_the_same_there(tokenizers, tmp_path, settings):
    same(model_of(tokenizers, **settings), tokenizers, tmp_path)


def test_two_vocabularies_say_the_same_there(tmp_path):
    sides = (tokenizer.train_tokenizer([getattr(p, side) for p in PAIRS], 350, "bpe") for side in ("source", "target"))
    apart = Tokenizers(*sides)
    c = ModelConfig(dim=24, heads=2, ffn=37, layers=2)
    model = build(c, apart.source.vocab_size, apart.target.vocab_size, joint=False, pad=PAD)
    same(randomized(model), apart, tmp_path)


def test_what_cannot_be_said_there_is_refused(tokenizers, tmp_path):
    with pytest.raises(ModelError, match=r"alibi in the encoder.*none, sinusoidal, learned"):
        ctranslate2.write_model(model_of(tokenizers, positions=positions("alibi")), tokenizers, tmp_path)
    with pytest.raises(ModelError, match="supports only softmax"):
        ctranslate2.write_model(model_of(tokenizers, attention="argmax"), tokenizers, tmp_path)
    with pytest.raises(ModelError, match=r"model.qk_norm: CTranslate2 normalizes no queries.*--engine torch"):
        ctranslate2.write_model(model_of(tokenizers, qk_norm=True), tokenizers, tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"positions": {"kind": "kerple"}}, "model.positions.kind: CTranslate2 has no position schemes of plug-ins"),
        ({"activation": "squared-relu"}, "model.activation: CTranslate2 has no activation of plug-ins"),
        ({"positions": {"kind": "slow-alibi"}}, "no position schemes of plug-ins"),
    ],
)
def test_what_plugins_register_is_refused(tokenizers, tmp_path, example_plugin, settings, message):
    @register_position_scheme("slow-alibi")
    class SlowALiBi(ALiBi):  # a kind of alibi, but not the one that CTranslate2 has
        def __init__(self, shape, config):
            super().__init__(shape.heads)

    decoder = {"decoder": settings} if "positions" in settings else settings
    with pytest.raises(ModelError, match=message):
        ctranslate2.write_model(model_of(tokenizers, **decoder), tokenizers, tmp_path)


def test_eight_bits_are_smaller_and_still_translate(tokenizers, tmp_path):
    model = model_of(tokenizers, dim=128)
    for quantize in ("none", "int8"):
        ctranslate2.write_model(model, tokenizers, tmp_path / quantize, quantize, max_positions=60)
    small, large = ((tmp_path / name / "model.bin").stat().st_size for name in ("int8", "none"))
    assert small < 0.5 * large
    engine = CTranslate2Translator(tmp_path / "int8", tokenizers, workers=1, max_length=60)
    assert len({found[0].text for found in engine.candidates(TEXTS, GreedySearch())}) > 2


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [("config.json", "false", "0"), ("shared_vocabulary.json", "u2581", "u005f"), ("model.bin", "encoder", "encodex")],
)
def test_damage_that_the_library_notices_late_is_a_sentence(tokenizers, tmp_path, file, old, new):
    ctranslate2.write_model(model_of(tokenizers), tokenizers, tmp_path / "out", "none", max_positions=60)
    path = tmp_path / "out" / file
    raw = path.read_bytes()
    assert old.encode() in raw
    path.write_bytes(raw.replace(old.encode(), new.encode()))
    with pytest.raises(FormatError, match=r"out: not a CTranslate2 model \(.*\); remove it"):
        CTranslate2Translator(tmp_path / "out", tokenizers, workers=1, max_length=60).candidates(TEXTS, GreedySearch())


def test_a_score_that_nobody_wants_is_not_computed(tokenizers, tmp_path):
    ctranslate2.write_model(model_of(tokenizers), tokenizers, tmp_path, max_positions=60)
    engine = CTranslate2Translator(tmp_path, tokenizers, workers=1, max_length=60)
    scored, plain = (
        [one for (one,) in engine.candidates(TEXTS, GreedySearch(scored=wanted))] for wanted in (True, False)
    )
    assert [one.text for one in scored] == [one.text for one in plain]
    assert all(one.score < 0 for one in scored)
    assert all(math.isnan(one.score) for one in plain)


def test_what_was_cut_comes_last_there_too(tokenizers, tmp_path):
    """The engine ranks hypotheses without end among the others, and cuts all sentences at the length of the longest."""
    ctranslate2.write_model(model_of(tokenizers), tokenizers, tmp_path, max_positions=60)
    engine = CTranslate2Translator(tmp_path, tokenizers, workers=1, max_length=60)
    mixed = 0
    for extra in range(1, 12):
        limits = Limits(factor=1, extra=extra, loop_repeats=99)
        lists = engine.candidates(TEXTS, BeamSearch(7, nbest=7, limits=limits))
        assert [one[:1] for one in lists] == engine.candidates(TEXTS, BeamSearch(7, limits=limits))
        for candidates in lists:
            flags = [one.truncated for one in candidates]
            assert flags == sorted(flags)
            assert len({one.text for one in candidates}) == len(candidates)
            for group in (False, True):
                scores = [one.score for one in candidates if one.truncated == group]
                assert scores == sorted(scores, reverse=True)
            mixed += len(set(flags)) == 2
    assert mixed, "no list has both kinds"


def test_a_source_that_repeats_itself_may_be_copied_there_too(tokenizers, tmp_path):
    ctranslate2.write_model(model_of(tokenizers), tokenizers, tmp_path, max_positions=60)
    engine = CTranslate2Translator(tmp_path, tokenizers, workers=1, max_length=60)
    source, copy = [9] * 20, [5, 6] * 8
    limits = Limits()
    kept = engine._make_hypothesis([*copy, EOS], -1.0, source, limits)
    assert (kept.ids, kept.truncated) == (tuple(copy), False)
    loop = engine._make_hypothesis([*copy, EOS], -1.0, source[:7], limits)
    assert (loop.ids, loop.truncated) == ((5, 6), True)


def random_shortlist(size: int, length: int) -> Shortlist:
    """Lists of so many tokens, drawn at random."""
    rng = np.random.default_rng(5)
    rows = [rng.choice(np.arange(4, size), length, replace=False) for _ in range(size)]
    starts = (np.arange(size + 1) * length).astype(np.int32)
    return Shortlist(np.concatenate(rows).astype(np.int32), starts, np.array(SPECIAL, np.int32), size)


NO_LOOPS = Limits(0, MAX_LENGTH, loop_repeats=99)


@pytest.mark.parametrize("search", [GreedySearch(NO_LOOPS), BeamSearch(3, limits=NO_LOOPS)], ids=["greedy", "beam"])
def test_a_vocabulary_map_has_the_tokens_of_a_shortlist(tokenizers, tmp_path, search):
    """One sentence at a time: a batch has the lists of all of its sentences, and the two make other batches."""
    model = model_of(tokenizers)
    shortlist = random_shortlist(tokenizers.target.vocab_size, 17)
    ctranslate2.write_model(model, tokenizers, tmp_path)
    ctranslate2.write_vocabulary_map(shortlist, tokenizers, tmp_path)
    theirs = CTranslate2Translator(tmp_path, tokenizers, 1, uses_shortlist=True)
    ours = Translator(model, tokenizers, IncrementalDecoder(model, shortlist=shortlist))
    num_equal, num_changed, plain = 0, 0, theirs.without_shortlist()
    for text in TEXTS:
        one, other = (translator.candidates([text], search)[0][0] for translator in (theirs, ours))
        num_changed += one.text != plain.candidates([text], search)[0][0].text
        if one.text == other.text:
            num_equal += 1
            assert one.score == pytest.approx(other.score, abs=1e-4)
        else:  # our beam search goes on for longer, and so may find something better
            assert isinstance(search, BeamSearch) and (one.truncated or other.score > one.score)
    assert num_equal > 0.6 * len(TEXTS) and num_changed > 5


def test_tokens_that_a_vocabulary_map_cannot_hold(tokenizers, tmp_path, monkeypatch):
    monkeypatch.setattr(ctranslate2, "vocabulary_tokens", lambda tokenizer: ["<s>", "a b"])
    with pytest.raises(ModelError, match="cannot hold the token 'a b'"):
        ctranslate2.write_vocabulary_map(random_shortlist(400, 3), tokenizers, tmp_path)
