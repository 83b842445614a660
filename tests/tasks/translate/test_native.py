"""A translator in native code says what the same translator says by torch, and leaves to torch what it has not."""

import copy

import pytest

from regard.decode import BeamSearch, GreedySearch, SamplingSearch
from regard.errors import ConfigError, ModelError
from regard.kernels import int8_linear
from regard.model.taps import record
from regard.runtime.linears import dense_linear
from regard.runtime.native import library
from regard.tasks.translate import native
from regard.tasks.translate.native import NativeTranslator
from regard.tasks.translate.translator import Translator
from tests.runtime.native.conftest import native_library
from tests.tasks.translate.test_translator import SEARCHES, TEXTS, candidates, trained

__all__ = ["native_library", "trained"]


@pytest.fixture
def by_torch(trained: Translator) -> Translator:
    return Translator(copy.deepcopy(trained.model).float(), trained.tokenizers)


@pytest.fixture
def translator(by_torch: Translator, native_library) -> NativeTranslator:
    library.load_library.cache_clear()  # it may have been compiled just now
    return NativeTranslator(by_torch.model, by_torch.tokenizers, dense_linear)


@pytest.mark.parametrize("search", [*SEARCHES, SamplingSearch(seed=5)], ids=str)
def test_translations_are_those_of_torch(translator: NativeTranslator, by_torch: Translator, search):
    assert candidates(translator, TEXTS, search) == candidates(by_torch, TEXTS, search)


def test_a_tap_sees_what_passes(translator: NativeTranslator, by_torch: Translator):
    expected = candidates(by_torch, TEXTS, GreedySearch())
    with record(translator.model, "decoder.layers.0.cross_attn.weights") as tensors:
        assert candidates(translator, TEXTS, GreedySearch()) == expected
    assert tensors
    with record(translator.model, "decoder.layers.0.cross_attn.weights") as none:
        translator._native.search(GreedySearch(), [[5, 3]], 9)
    assert not none


def test_eight_bits_are_used(by_torch: Translator, translator: NativeTranslator):
    quantized = NativeTranslator(by_torch.model, by_torch.tokenizers, int8_linear)
    scores = [[row[0].score for row in one.candidates(TEXTS, BeamSearch(3))] for one in (translator, quantized)]
    assert scores[0] == pytest.approx(scores[1], abs=0.2) and scores[0] != pytest.approx(scores[1], abs=1e-4)


def test_a_model_without_any_output_is_named(by_torch: Translator, translator: NativeTranslator):
    weight = by_torch.model.decoder.layers[0].feed_forward.up.weight
    before = weight.data.clone()
    weight.data.fill_(1e38)  # finite, but their products are not
    broken = NativeTranslator(by_torch.model, by_torch.tokenizers, dense_linear)
    weight.data.copy_(before)
    with pytest.raises(ModelError, match="the model gives no token a finite probability"):
        broken.translate(TEXTS)


def test_where_native_code_cannot_translate_it_says_why(by_torch: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native, "load_library", lambda: None)
    with pytest.raises(ConfigError, match=r"native code cannot .* with a C\+\+ compiler, `python -m regard.runtime"):
        NativeTranslator(by_torch.model, by_torch.tokenizers, dense_linear)
