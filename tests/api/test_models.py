"""A model in Python: the form of the input is the form of the output."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard.errors import ModelError


@pytest.fixture(scope="module")
def model(trained: Path) -> regard.TranslationModel:
    return regard.load(trained / "runs" / "mine")


def test_a_text_gives_a_text_and_a_list_gives_a_list(model):
    one, many = model.translate("I love dogs."), model.translate(["I love dogs.", "", "The queen sings."])
    assert isinstance(one, str) and many[0] == one and many[1] == "" and len(many) == 3
    assert model.translate(("I love dogs.",)) == [one] and model.translate([]) == []


@pytest.mark.parametrize("texts", [b"I love dogs.", 7, None, {"a": 1}, (t for t in ("a", "b")), np.array(["a"])])
def test_another_type_is_a_type_error_with_a_sentence(model, texts):
    with pytest.raises(TypeError, match=r"translate\(\) takes a str or a list of str, got \w+"):
        model.translate(texts)


def test_attention_is_of_one_sentence(model):
    with pytest.raises(TypeError, match=r"attention\(\) takes one sentence as a str, got list"):
        model.attention(["I love dogs."])


def test_an_item_of_another_type_is_named(model):
    with pytest.raises(TypeError, match="takes a list of str, but item 1 is of type int"):
        model.translate(["a", 2])


def test_scores_and_nbest_are_translations(model):
    best = model.translate("I love dogs.", scores=True)
    candidates = model.translate("I love dogs.", nbest=3)
    assert isinstance(best, regard.Translation) and candidates[0] == best
    assert model.translate(["I love dogs."], beam=5, nbest=3, scores=True) == [candidates]
    assert len(candidates) == 3 and model.translate("I love dogs.") == best.text


def test_greedy_search_is_a_beam_of_one(model):
    texts = ["I love dogs.", "The old queen sings."]
    assert model.translate(texts, beam=1) == model.translate(texts, search=regard.GreedySearch())
    scored = model.translate(texts, beam=1, scores=True)
    assert all(math.isfinite(translation.score) for translation in scored)


def test_a_search_is_handed_in(model):
    sampling = regard.SamplingSearch(temperature=2.0, seed=3)
    assert model.translate("I love dogs.", search=sampling) == model.translate("I love dogs.", search=sampling)
    other = regard.SamplingSearch(temperature=2.0, seed=4)
    assert model.translate("I love dogs.", search=sampling) != model.translate("I love dogs.", search=other)


def test_options_that_contradict_each_other_are_refused(model):
    with pytest.raises(ValueError, match="nbest is part of a search"):
        model.translate("I love dogs.", nbest=3, search=regard.GreedySearch())
    with pytest.raises(ValueError, match="nbest=0: expected 1 or more"):
        model.translate("I love dogs.", nbest=0)


def test_loading_draws_no_random_number_of_the_program(trained: Path):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    regard.load(trained / "runs" / "mine")
    assert torch.equal(torch.rand(1), expected)


def test_line_ends_are_kept(model):
    lines = ["I love dogs.", "", "The queen sings."]
    assert model.translate("\n".join(lines)) == "\n".join(model.translate(lines))
    assert len(model.translate("I love dogs.\n\nThe queen sings.", nbest=3)) == 3  # a blank line has one candidate


def test_a_score_is_the_sum_of_log_probabilities(model):
    source, target = "The queen sings.", "La reine chante."
    score = model.score(source, target)
    assert score < 0 and math.isclose(model.score([source, source], [target, "Non."])[0], score, rel_tol=1e-5)
    best = model.translate(source, scores=True, beam=5, alpha=0.0)
    # A search never writes padding or <s>, so it has a little less to choose from.
    assert math.isclose(model.score(source, best.text), best.score, rel_tol=0.05)


def test_scores_need_as_many_targets_as_sources(model):
    with pytest.raises(ValueError, match="2 sources and 1 targets; every source needs one"):
        model.score(["a", "b"], ["c"])
    with pytest.raises(TypeError, match=r"score\(\) takes a str or a list of str, got int"):
        model.score(["a"], 3)


def test_attention_has_a_matrix_for_every_head(model):
    attention = model.attention("I love dogs.", "J'adore les chiens.")
    assert attention.heads == [
        f"{site}.{head}" for site in ("encoder.0.self", "decoder.0.self", "decoder.0.cross") for head in (0, 1)
    ]
    queries, keys = len(attention.target_tokens), len(attention.source_tokens)
    assert attention["decoder.0.cross.1"].shape == (queries, keys)
    assert attention["encoder.0.self.0"].shape == (keys, keys)
    for head in attention.heads:
        np.testing.assert_allclose(attention[head].sum(axis=1), 1.0, rtol=1e-5)
    assert attention.source_tokens[-1] == attention.target_tokens[-1] == "</s>"
    assert attention.source_words == ("I", "love", "dogs", ".")


def test_attention_by_words_sums_the_keys_of_a_word(model):
    attention = model.attention("I love dogs.", "J'adore les chiens.")
    by_words = attention.by_words("decoder.0.cross.0")
    assert by_words.shape == (len(attention.target_words), len(attention.source_words))
    np.testing.assert_allclose(by_words.sum(axis=1), 1.0, rtol=1e-5)


def test_a_heat_map_names_its_head_and_tokens(model):
    attention = model.attention("I love dogs.", "J'adore les chiens.")
    svg = attention.heatmap("decoder.0.cross.1")._repr_html_()
    assert svg.startswith("<svg") and "decoder.0.cross.1" in svg and "&lt;/s&gt;" in svg
    words = attention.heatmap("decoder.0.cross.1", words=True).to_svg()
    assert "love" in words and "&lt;/s&gt;" not in words and "source word" in words and "token" not in words
    assert "<svg" in attention._repr_html_()
    with pytest.raises(
        ModelError, match=r"there is no head decoder\.9\.cross\.1: this model has encoder\.0\.self\.0 to"
    ):
        attention.heatmap("decoder.9.cross.1")


def test_attention_without_a_target_is_that_of_the_translation(model):
    attention = model.attention("I love dogs.")
    assert attention.target == model.translate("I love dogs.")


def test_a_translation_without_words_has_nothing_to_draw(model):
    assert "No words to draw" in model.attention("I love dogs.", "")._repr_html_()


def test_int8_is_loaded_by_name(trained: Path):
    assert isinstance(regard.load(trained / "runs" / "mine", quantize="int8").translate("I love dogs."), str)
    with pytest.raises(regard.RegardError, match="expected one of auto, none, int8"):
        regard.load(trained / "runs" / "mine", quantize="int4")


def test_a_model_says_what_it_is(model):
    assert "en → fr" in repr(model) and "parameters" in repr(model)
