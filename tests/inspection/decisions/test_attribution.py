"""What a word contributes is what it was built to contribute."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.errors import DataError
from regard.inspection.decisions.attribution import (
    ATTENTION,
    ERASURE,
    GRADIENT,
    MASKING,
    ROLLOUT,
    attention_of_text,
    attribute_tokens,
    explain_decisions,
    main_label,
    merge_words,
    pooling_shares,
    tokenize_visible,
)
from regard.inspection.example import TokenizedText
from regard.model.single_stack import FirstTokenPooling, LastTokenPooling, MeanPooling, Pooler
from regard.tasks.classify.classifier import Classification, Classifier
from regard.tasks.classify.labels import LabelSet
from tests.inspection.decisions.conftest import make_linear_classifier
from tests.tasks.conftest import TOKENIZER, make_stack

LOG_ODDS = {"good": 1.3, "bad": -1.7, "fine": 0.4, "film": 0.0, "dull": -0.6}
TEXT = "good film bad fine good"


def test_in_a_linear_model_gradient_and_erasure_are_the_exact_contributions():
    (decision,) = explain_decisions(make_linear_classifier(LOG_ODDS), [TEXT], "yes")
    contributions = np.array([LOG_ODDS[word] for word in decision.text.words])
    total = contributions.sum()
    p = 1 / (1 + np.exp(-total))
    assert decision.log_prob == pytest.approx(np.log(p), abs=1e-6)
    np.testing.assert_allclose(decision.measures[GRADIENT], (1 - p) * contributions, atol=1e-6)  # d log p / d log-odds
    exact = np.log(p) + np.log1p(np.exp(-(total - contributions)))
    np.testing.assert_allclose(decision.measures[ERASURE], exact, atol=1e-6)
    np.testing.assert_allclose(decision.measures[MASKING], exact, atol=1e-6)
    irrelevant = decision.text.words.index("film")
    for measure in (GRADIENT, ERASURE, MASKING):
        assert decision.measures[measure][irrelevant] == pytest.approx(0, abs=1e-6)


def test_the_other_label_has_the_opposite_gradient_weighted_by_its_own_probability():
    classifier = make_linear_classifier(LOG_ODDS)
    (yes,), (no,) = (explain_decisions(classifier, [TEXT], label) for label in ("yes", "no"))
    p = np.exp(yes.log_prob)
    np.testing.assert_allclose(no.measures[GRADIENT] * (1 - p), -yes.measures[GRADIENT] * p, atol=1e-6)
    (predicted,) = explain_decisions(classifier, [TEXT])
    assert predicted.label == predicted.classification.label == "yes"
    with pytest.raises(DataError, match="no label 'maybe'; this classifier has no, yes"):
        explain_decisions(classifier, [TEXT], "maybe")


def make_classifier(stack: str, pooling: str = "mean", multi_label: bool = False) -> Classifier:
    labels = LabelSet(("a", "b", "c"), (2, 3, 5), 10, multi_label)
    return Classifier(make_stack(3, stack, pooling=pooling), TOKENIZER, labels, 29, temperature=1.7)


@pytest.mark.parametrize("multi_label", [False, True], ids=["one", "several"])
@pytest.mark.parametrize(("stack", "pooling"), [("encoder", "mean"), ("encoder", "first"), ("decoder", "last")])
def test_any_classifier_is_explained_alone_as_in_a_batch(stack, pooling, multi_label):
    classifier = make_classifier(stack, pooling, multi_label)
    texts = ["the kings sleep .", "cats", " ", "Paris sleeps in été .", "a dog " * 30]
    decisions = explain_decisions(classifier, texts)
    assert [decision.text.text for decision in decisions][:3] == [texts[0], texts[1], texts[3]]  # the empty one is not
    for decision in decisions:
        (alone,) = explain_decisions(classifier, [decision.text.text])
        assert alone.label == decision.label
        for measure, values in decision.measures.items():
            assert values.shape == (len(decision.text.words),)
            np.testing.assert_allclose(alone.measures[measure], values, atol=1e-6)
        for measure in (ATTENTION, ROLLOUT):
            assert (decision.measures[measure] >= 0).all() and decision.measures[measure].sum() <= 1 + 1e-9
        assert decision.special_attention == pytest.approx(1 - decision.measures[ATTENTION].sum())
        assert all(parameter.grad is None for parameter in classifier.model.parameters())


def test_the_gradient_is_that_of_small_changes_of_the_embedding():
    classifier = make_classifier("encoder")
    side = tokenize_visible(classifier, "the kings sleep .")
    (attribution,) = attribute_tokens(classifier, [side], [1])
    table = classifier.model.encoder.embedding.tokens.weight
    word, epsilon = side.ids[0], 1e-4
    assert side.ids.count(word) == 1
    original = table.data[word].clone()
    log_probs = []
    for sign in (1, -1):
        table.data[word] = original * (1 + sign * epsilon)
        log_probs.append(float(_log_prob_in_float64(classifier, side.ids, 1)))
    table.data[word] = original
    assert attribution.gradient[0] == pytest.approx((log_probs[0] - log_probs[1]) / (2 * epsilon), abs=1e-6)


@torch.no_grad()
def _log_prob_in_float64(classifier, ids, label):
    batch = torch.tensor([ids])
    return classifier.predict(classifier.model.pool(classifier.model(batch), batch >= 0))[0, label]


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (MeanPooling(), [1 / 3, 1 / 3, 1 / 3, 0, 0]),
        (FirstTokenPooling(), [1, 0, 0, 0, 0]),
        (Pooler(7), [1, 0, 0, 0, 0]),
        (LastTokenPooling(), [0, 0, 1, 0, 0]),
    ],
    ids=["mean", "first", "pooler", "last"],
)
def test_attention_comes_from_the_positions_that_are_pooled(pool, expected):
    torch.manual_seed(2)
    states = torch.randn(2, 5, 7, requires_grad=True)
    shares = pooling_shares(pool(states, torch.tensor([[True] * 3 + [False] * 2] * 2)), states)
    torch.testing.assert_close(shares, torch.tensor([expected] * 2, dtype=torch.float32))


def test_attention_of_words_is_that_of_the_heads_on_average():
    classifier = make_classifier("encoder")
    (decision,) = explain_decisions(classifier, ["Paris sleeps in été ."])
    heads = attention_of_text(classifier, decision.text)
    assert list(heads) == [f"encoder.{layer}.self.{head}" for layer in range(2) for head in range(2)]
    mean = np.mean(list(heads.values()), axis=0)  # (T, T)
    np.testing.assert_allclose(mean.sum(axis=1), 1)
    np.testing.assert_allclose(merge_words(decision.text, mean.mean(axis=0)), decision.measures[ATTENTION], atol=1e-9)


def test_the_tokens_of_a_word_are_summed_and_a_token_of_several_words_is_split():
    text = TokenizedText("ab cd", (1, 2, 3, 4), ("a", "b", "cd", "</s>"), (0, 0, 1, -1), ("ab", "cd"), ())
    np.testing.assert_allclose(merge_words(text, np.array([2.0, 3.0, 5.0, 7.0])), [5, 5])
    joint = replace(text, word_shares=({0: 1.0}, {0: 0.25, 1: 0.75}, {1: 1.0}, {}))
    np.testing.assert_allclose(merge_words(joint, np.array([2.0, 4.0, 5.0, 7.0])), [3, 8])


def test_of_a_text_that_is_too_long_only_whole_words_count_that_are_read():
    classifier = make_linear_classifier(LOG_ODDS)
    side = tokenize_visible(classifier, "good " * 100)
    assert len(side.words) == 29 and len(side.ids) == 31 and side.text.endswith("good")
    assert tokenize_visible(classifier, "good film ").words == ("good", "film")


def test_the_main_label_is_the_most_probable_one_that_was_chosen():
    probabilities = {"a": 0.2, "b": 0.9, "c": 0.7}
    assert main_label(Classification(("a", "c"), 0.2, probabilities)) == "c"
    assert main_label(Classification((), 0.2, probabilities)) == "b"
