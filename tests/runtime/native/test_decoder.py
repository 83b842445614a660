"""Native code finds what the searches of `regard.decode` find, for every part that a model may have."""

import ctypes
import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.decode import BeamSearch, GreedySearch, Hypothesis, Limits, Search
from regard.decode.beam import distinct
from regard.errors import ModelError
from regard.kernels.int8 import quantize
from regard.model.build import build
from regard.model.transformer import EncoderDecoder
from regard.runtime.incremental import IncrementalDecoder
from regard.runtime.linears import LinearFunction
from regard.runtime.native import library
from regard.runtime.native.coverage import uncovered
from regard.runtime.native.decoder import NativeDecoder
from regard.tasks.translate.translator import ModelStepper, max_output_length
from tests.model.conftest import SCHEMES, positions
from tests.runtime.native.conftest import compiled

V = 307  # more than one tile of the vocabulary
SEARCHES = (
    GreedySearch(),
    BeamSearch(1),
    BeamSearch(5),
    BeamSearch(4, nbest=4, alpha=0.6),
    BeamSearch(3, limits=Limits(1.0, 3)),
)
SOURCES = [torch.randint(4, V, (n,), generator=torch.Generator().manual_seed(n)).tolist() for n in (2, 17, 5, 7, 3, 23)]
COVERED = [name for name in SCHEMES if not name.startswith("relative")]
KINDS: dict[str, dict[str, object]] = {
    **{name: {"positions": positions(name)} for name in COVERED},
    "post": {"norm": "post", "positions": {"sinusoid_layout": "halves"}, "activation": "silu", "output_bias": True},
    "normed": {"embedding_norm": True, "scale_embeddings": False, "activation": "gelu-tanh", "norm_kind": "rms"},
    "gelu": {"activation": "gelu", "bias": False, "tie_embeddings": False},
    "gated": {"activation": "swiglu", "norm_kind": "rms", "positions": positions("rotary")},
    "post-rms": {"norm": "post", "norm_kind": "rms", "embedding_norm": True},
    "pruned": {"pruned": ["encoder.0.self.1", "decoder.1.cross.0", "decoder.0.self.0"], "positions": positions("t5")},
    "wide": {"dim": 64, "ffn": 97, "positions": positions("rotary")},  # heads of whole vectors
    "wider": {"dim": 136, "heads": 8, "ffn": 61},
}


def make(seed: int = 3, **settings: object) -> EncoderDecoder:
    """A model that is sure enough to end its outputs now and then."""
    torch.manual_seed(seed)
    defaults: dict[str, object] = {"dim": 22, "heads": 2, "ffn": 13, "encoder_layers": 2, "decoder_layers": 3}
    model = build(ModelConfig(**{**defaults, **settings}), V, V, joint=True, pad=PAD).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # nothing that starts at zero may hide
            parameter += 0.1 * torch.randn_like(parameter)
        model.output.weight.mul_(2)
        model.output.weight[EOS] *= 2
    return model


def by_torch(model: EncoderDecoder, search: Search, factory=None) -> list[list[Hypothesis]]:
    decoder = IncrementalDecoder(model) if factory is None else IncrementalDecoder(model, factory)
    with torch.inference_mode():
        return search.search(ModelStepper(decoder, SOURCES, range(len(SOURCES))))


def by_native(
    loaded: ctypes.CDLL, model: EncoderDecoder, search: Search, quantized: bool = False, sources: Sequence = SOURCES
) -> list[list[Hypothesis]]:
    assert uncovered(model) == ""
    decoder = NativeDecoder(loaded, model, BOS, EOS, quantized)
    outputs = decoder.search(search, [[*source, EOS] for source in sources], max_output_length(model))
    return [distinct(hypotheses, tuple, getattr(search, "nbest", 1)) for hypotheses in outputs]


def close(hypotheses: list[list[Hypothesis]]) -> list[list[tuple]]:
    return [[(one.ids, pytest.approx(one.score, abs=1e-4), one.truncated) for one in row] for row in hypotheses]


@pytest.mark.parametrize("kind", KINDS)
def test_float32_is_that_of_torch(native_library, kind: str):
    model = make(**KINDS[kind])
    for search in SEARCHES:
        assert close(by_native(native_library, model, search)) == close(by_torch(model, search)), search


def test_the_models_end_repeat_and_are_cut():
    """What the other tests compare holds every way that an output can end."""
    hypotheses = [row[0] for kind in KINDS for row in by_torch(make(**KINDS[kind]), GreedySearch())]
    limit = {len(source): int((len(source) + 1) * 2.0) + 16 for source in SOURCES}
    ended = [one for one in hypotheses if not one.truncated]
    looping = [one for one in hypotheses if one.truncated and len(one.ids) not in limit.values()]
    assert len(ended) > 9 and len(looping) > 9 and len({len(one.ids) for one in ended}) > 3
    assert len({one.ids for one in hypotheses}) > len(hypotheses) / 3


def reference_linear(weight: Tensor, bias: Tensor | None) -> LinearFunction:
    """Eight bits by their definition: a scale for each row of weights and for each row of activations."""
    integers, scale = quantize(weight)

    def linear(x: Tensor) -> Tensor:
        x_scale = (x.abs().amax(dim=1, keepdim=True) / 127).clamp(min=torch.finfo(torch.float32).tiny)
        sums = ((x / x_scale).round().double() @ integers.double().mT).float()
        product = sums * (scale * x_scale)
        return product if bias is None else product + bias

    return linear


@pytest.mark.parametrize("kind", ["sinusoidal", "gated", "pruned", "wide"])
def test_int8_is_its_definition(native_library, kind: str):
    model = make(**KINDS[kind])
    for search in (GreedySearch(), BeamSearch(5)):
        native, reference = by_native(native_library, model, search, True), by_torch(model, search, reference_linear)
        assert close(native) == close(reference)
    assert close(native) != close(by_torch(model, search))


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("kind", ["wider", "alibi"])
def test_a_sentence_is_translated_alone_as_among_others(native_library, kind: str, quantized: bool):
    """Bit for bit, though rows are multiplied in blocks, and enter when others leave."""
    model, sources = make(**KINDS[kind]), SOURCES * 29
    for search in (GreedySearch(), BeamSearch(7, nbest=3)):
        together = by_native(native_library, model, search, quantized, sources)
        assert together == by_native(native_library, model, search, quantized) * 29
        assert together[:6] == [by_native(native_library, model, search, quantized, [one])[0] for one in SOURCES]


@pytest.mark.slow
@pytest.mark.parametrize("level", list(library.LEVEL_FLAGS))
def test_every_level_of_instructions_finds_the_same(level: str):
    if level not in library.supported_levels():
        pytest.skip(f"this processor has no {level}")
    loaded = compiled(level)
    for kind in ("sinusoidal", "gated", "wide", "wider", "rotary-interleaved"):
        model = make(**KINDS[kind])
        for search in (GreedySearch(), BeamSearch(5)):
            assert close(by_native(loaded, model, search)) == close(by_torch(model, search))
            reference = by_torch(model, search, reference_linear)
            assert close(by_native(loaded, model, search, True)) == close(reference)


def test_scores_that_are_not_wanted_are_not_numbers(native_library):
    model = make()
    scored, unscored = (by_native(native_library, model, GreedySearch(scored=scored)) for scored in (True, False))
    assert [row[0].ids for row in scored] == [row[0].ids for row in unscored]
    assert all(math.isnan(row[0].score) for row in unscored) and all(row[0].score < 0 for row in scored)


def test_tables_grow_with_the_sentences(native_library):
    """A long sentence after short ones, and short ones after it."""
    model = make(positions=positions("rotary"), encoder={"positions": {"kind": "t5"}})
    long = [5 + i * 7919 % (V - 5) for i in range(211)]
    decoder = NativeDecoder(native_library, model, BOS, EOS, False)
    for source in ([*SOURCES[0], EOS], [*long, EOS], [*SOURCES[0], EOS]):
        with torch.inference_mode():
            expected = GreedySearch().search(ModelStepper(IncrementalDecoder(model), [source[:-1]], [0]))
        assert close(decoder.search(GreedySearch(), [source], max_output_length(model))) == close(expected)


def test_a_sentence_without_positions_is_refused(native_library):
    model = make(positions=positions("learned"))
    decoder = NativeDecoder(native_library, model, BOS, EOS, False)
    assert len(decoder.search(GreedySearch(), [[5] * 28 + [EOS]], max_output_length(model))) == 1
    with pytest.raises(ModelError, match="a sentence of 30 tokens is too long: the model has positions for 29"):
        decoder.search(GreedySearch(), [[5] * 29 + [EOS]], max_output_length(model))


def test_later_changes_of_weights_have_no_effect(native_library):
    model = make()
    decoder, sources = NativeDecoder(native_library, model, BOS, EOS, False), [[5, 7, EOS]]
    before = decoder.search(GreedySearch(), sources, 99)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert decoder.search(GreedySearch(), sources, 99) == before


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"positions": positions("relative")}, "positions of the class Relative"),
        ({"positions": positions("relative"), "pruned": ["encoder.0.self.1"]}, "positions of the class Relative"),
        ({"attention": "argmax"}, "attention without a softmax"),
        ({"activation": "squared-relu"}, "an activation of a plug-in"),
        ({"positions": {"kind": "kerple", "options": {"slope": 0.7}}}, "positions of the class Kerple"),
    ],
)
def test_what_is_not_covered_is_named(example_plugin: None, settings: dict[str, object], reason: str):
    assert uncovered(make(**settings)) == reason


def test_numbers_that_are_not_covered_are_named():
    assert uncovered(make().double()) == "weights that are not float32 on a CPU"
    model = make()
    model.decoder.layers[0].feed_forward.up.weight.data[0, 0] = math.inf
    assert uncovered(model) == "weights that are not finite"
    assert uncovered(torch.nn.Linear(2, 3)) == "an architecture without an encoder and a decoder"
