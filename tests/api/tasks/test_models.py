"""Taggers and language models as objects of Python."""

from pathlib import Path

import pytest

import regard
from tests.jobs.tasks.conftest import SENTENCES


def test_a_tagger_gives_the_form_of_its_input(tagger_run: Path):
    model = regard.load(tagger_run)
    text = " ".join(SENTENCES[0].words)
    one, (same, other) = model.tag(text), model.tag([text, ""])
    assert one == same and one.tags == SENTENCES[0].tags and other.words == ()
    assert [text[e.start : e.end] for e in one.entities] == [e.text for e in one.entities] != []
    assert "TaggingModel" in repr(model) and len(repr(model)) < 160
    with pytest.raises(TypeError, match="takes str, or a list of them; item 0 is int"):
        model.tag([7])
    assert type(regard.load(tagger_run, task="tag")) is type(model)
    with pytest.raises(regard.RegardError, match=r"\(--task tag\), and cannot classify"):
        regard.load(tagger_run, task="classify")
    with pytest.raises(regard.RegardError, match="quantize=int8: is for translators and causal language models"):
        regard.load(tagger_run, quantize="int8")


def test_a_language_model_generates_and_knows_how_probable_texts_are(run_of):
    folder = run_of("causal-lm").folder
    model = regard.load(folder)
    options = {"max_new_tokens": 7, "temperature": 0.5, "stop": "zz"}
    assert model.generate("the", **options) == model.generate(["the"], **options)[0]
    assert (
        model.generate("the", max_new_tokens=7, seed=2).text
        == regard.generate(folder, "the", max_tokens=7, seed=2)[0].text
    )
    likelihood = model.likelihood(["the cat", "a dog"])
    assert likelihood.num_bytes == 12 and likelihood.words == 4 and likelihood.bits_per_byte > 0
    assert str(likelihood).startswith(f"{likelihood.bits_per_byte:.4f} bits per byte, perplexity ")
    assert likelihood.token_perplexity ** (likelihood.tokens / 4) == pytest.approx(likelihood.word_perplexity)


def test_a_masked_language_model_fills_masks(run_of):
    folder = run_of("masked-lm").folder
    (candidates,) = regard.load(folder).fill("the [MASK] sat", top=3)
    assert [one.text for one in candidates] == [one.text for one in regard.fill(folder, "the [MASK] sat", top=3)[0]]
    assert len(candidates) == 3
