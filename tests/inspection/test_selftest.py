"""The self-tests hold for sound models, and fail for models that are broken on purpose."""

import math
from functools import partial

import pytest
import torch

from regard.data.tokenizers.tokenizer import BOS, EOS
from regard.inspection import selftest
from regard.inspection.planted import SENTENCE_LENGTH, planted_examples
from regard.inspection.trace import attention_sites
from regard.model.attention import Attention, attend, masked_softmax
from regard.model.transformer import EncoderDecoder

EXAMPLES = planted_examples(selftest.VOCAB_SIZE)
MEASURES = [
    selftest._fused_path_error,
    selftest._row_sum_error,
    selftest._score_terms_error,
    selftest._contribution_error,
    selftest._signed_share_error,
    selftest._pruning_error,
]


def with_attend(function, **overrides: object) -> EncoderDecoder:
    model = selftest.small_model("sinusoidal", "pre", torch.float64, **overrides)
    for module in model.modules():
        if isinstance(module, Attention):
            module.attend = function
    return model


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("measure", MEASURES)
def test_sound_models_have_no_error(measure, norm: str):
    for dtype, tolerance in selftest.TOLERANCE.items():
        make = partial(selftest.small_model, "relative", norm, dtype)
        assert measure(make, EXAMPLES[:3]) <= tolerance


def test_every_claim_is_tried_on_all_schemes_norms_and_types():
    made = []

    def measure(make, examples) -> float:
        model = make()
        made.append((next(model.parameters()).dtype, type(model.encoder.layers[0].self_attn_residual).__name__))
        assert examples == EXAMPLES[:3]
        return 1e-6 * (len(made) == 7)

    results = list(selftest._check_all_schemes("a claim", EXAMPLES, measure))
    assert [result.passed for result in results] == [True, True] and len(made) == 2 * 2 * len(selftest.SCHEMES)
    assert len(set(made)) == 4 and "largest error 1.0e-06 (concatenated, pre-norm)" in results[0].measurement
    results = list(selftest._check_all_schemes("a claim", EXAMPLES, lambda make, examples: 1.1e-12))
    assert [result.passed for result in results] == [True, False]
    results = list(selftest._check_all_schemes("a claim", EXAMPLES, lambda make, examples: 1e-12))
    assert [result.passed for result in results] == [True, True]  # what is allowed is no error


def test_weights_that_do_not_sum_to_one_or_see_the_future_are_an_error():
    half = partial(attend, normalizer=lambda scores, attn_mask: 0.7 * masked_softmax(scores, attn_mask))
    assert selftest._row_sum_error(lambda: with_attend(half), EXAMPLES[:3]) == pytest.approx(0.3)

    def blind(q, k, v, attn_mask=None, *rest, **options):
        return attend(q, k, v, None, *rest, **options)

    assert selftest._row_sum_error(lambda: with_attend(blind), EXAMPLES[:3]) > 0.01


def test_an_error_is_relative_to_numbers_above_one():
    expected = torch.tensor([0.5, -4.0, 2.0])
    assert selftest._relative_error(expected, expected) == 0
    assert selftest._relative_error(expected + torch.tensor([0.0, 0.0, 1.0]), expected) == pytest.approx(0.25)
    assert selftest._relative_error(torch.tensor([0.3]), torch.tensor([0.1])) == pytest.approx(0.2)
    assert selftest._relative_error(torch.tensor([-0.3, 0.1]), torch.tensor([0.1, 0.1])) == pytest.approx(0.4)
    trained = torch.tensor([2.0, 8.0], requires_grad=True)
    assert selftest._relative_error(trained * 2, trained) == pytest.approx(1)


def test_a_head_that_is_pruned_wrongly_is_an_error(monkeypatch):
    make = partial(selftest.small_model, "sinusoidal", "pre", torch.float64)
    assert selftest._pruning_error(make, EXAMPLES[:3]) <= 1e-12
    monkeypatch.setattr(selftest, "mask_heads", lambda model, heads: {})
    assert selftest._pruning_error(make, EXAMPLES[:3]) > 1e-3


def test_rollouts_and_receptive_fields_are_as_large_as_they_can_be():
    results = [*selftest._check_rollout(), *selftest._check_receptive_fields()]
    assert all(result.passed for result in results) and len(results) == 6
    assert [result.measurement for result in results[3:]] == ["32", "81", "64"]
    shifted = selftest._shifted_attention(5, 2)
    assert shifted.argmax(-1).tolist() == [0, 0, 0, 1, 2] and shifted.sum() == 5


def test_a_small_model_has_no_parameter_at_its_initial_value():
    model = selftest.small_model("learned", "post", torch.float64)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float64}
    assert all(float(parameter.detach().std()) > 0.01 for parameter in model.parameters() if parameter.numel() > 1)
    again = selftest.small_model("learned", "post", torch.float64)
    for one, two in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)
    assert not model.training
    tables = (model.encoder.embedding.tokens.weight, model.decoder.embedding.tokens.weight, model.output.weight)
    assert tables[0] is tables[1] is tables[2] and len(tables[0]) == selftest.VOCAB_SIZE
    assert all(site.attention.heads == 4 for site in attention_sites(model))  # as many as roles that are planted


def test_planted_sentences_have_words_commas_links_and_an_alignment():
    for example in EXAMPLES:
        for side in (example.source, example.decoder_input, example.target):
            assert side is not None and len(side) == SENTENCE_LENGTH
            assert side.tokens.count(",") == 2 and sum(side.special_tokens_mask) == 1
            assert max(side.ids) < selftest.VOCAB_SIZE and min(side.ids) >= 2
        assert example.source.ids[-1] == example.target.ids[-1] == EOS and example.decoder_input.ids[0] == BOS
        words = SENTENCE_LENGTH - 1
        assert sorted(t for _, t in example.alignment or ()) == list(range(words))
        for links in (example.source_links, example.target_links):
            assert all(link.head != link.dependent and max(link.head, link.dependent) < words for link in links)
            assert len(links) == 2 * len({link.kind for link in links})
    assert len({example.source.ids for example in EXAMPLES}) == len(EXAMPLES)
    assert planted_examples(selftest.VOCAB_SIZE) == EXAMPLES != planted_examples(selftest.VOCAB_SIZE, seed=2)
    assert math.isfinite(len(EXAMPLES))
