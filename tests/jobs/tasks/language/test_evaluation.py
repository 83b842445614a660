"""Bits per byte are those of the likelihood; a document's do not depend on its neighbors."""

import dataclasses
import math

import pytest

from regard.baselines import ByteNGram, OpponentResult
from regard.data.store import Texts
from regard.jobs.load import load_language_model
from regard.jobs.tasks.language.evaluation import evaluate_language_model
from regard.jobs.tasks.language.opponents import read_opponent_bits
from regard.jobs.tasks.reporting.verdict import describe_opponents
from tests.jobs.tasks.language.conftest import write_text

TEXTS = [write_text(seed, 3 + 4 * seed) for seed in range(7)] + ["é€🙂\n▁ x\n" * 5, "a"]


def test_bits_per_byte_are_those_of_the_likelihood(run_of):
    model = load_language_model(run_of("causal-lm").folder, "cpu")
    evaluation, likelihood = evaluate_language_model(model, TEXTS), model.likelihood(TEXTS)
    assert evaluation.scores["bits_per_byte"].value == pytest.approx(likelihood.bits_per_byte)
    assert evaluation.scores["perplexity"].value == pytest.approx(likelihood.token_perplexity)
    assert evaluation.loss == pytest.approx(math.log(likelihood.token_perplexity))
    perplexity = evaluation.scores["perplexity"]
    assert perplexity.low is not None and perplexity.high is not None
    assert perplexity.low < perplexity.value < perplexity.high


def test_a_document_does_not_depend_on_its_neighbors(run_of):
    model = load_language_model(run_of("causal-lm").folder, "cpu")
    together = list(evaluate_language_model(model, TEXTS).segments)
    assert "".join(one.text for one in together) == "".join(TEXTS)
    for text in TEXTS:
        own = ""
        bits = 0.0
        while own != text:
            segment = together.pop(0)
            own, bits = own + segment.text, bits + segment.bits
        alone = evaluate_language_model(model, [text]).segments
        assert bits == pytest.approx(sum(one.bits for one in alone), rel=1e-5)
        assert sum(one.num_bytes for one in alone) == len(text.encode())


def test_the_n_gram_is_fitted_on_train_alone(run_of):
    run = run_of("causal-lm")
    ngram = ByteNGram.choose(*(list(Texts(run.store, f"{name}.source")) for name in ("train", "dev")))
    for name in ("dev", "test"):
        (bits,) = read_opponent_bits(run, name).bits.values()
        assert sum(bits) == pytest.approx(sum(map(ngram.bits, Texts(run.store, f"{name}.source"))))
        assert len(bits) > 0


def test_the_best_opponent_has_the_fewest_bits(run_of):
    model = load_language_model(run_of("causal-lm").folder, "cpu")
    scores = evaluate_language_model(model, TEXTS).scores
    bits = scores["bits_per_byte"]
    rivals = [
        OpponentResult(name, {"bits_per_byte": dataclasses.replace(bits, value=bits.value + amount)})
        for name, amount in (("far", 2.0), ("near", 0.5))
    ]
    sentence = describe_opponents(scores, rivals, "bits_per_byte")
    assert "near" in sentence and ", better than" in sentence
    accuracy = {"accuracy": dataclasses.replace(bits, name="accuracy", value=50.0)}
    rivals = [
        OpponentResult(name, {"accuracy": dataclasses.replace(bits, name="accuracy", value=value)})
        for name, value in (("far", 20.0), ("near", 60.0))
    ]
    sentence = describe_opponents(accuracy, rivals, "accuracy")
    assert "near" in sentence and "no better than" in sentence
