"""Strings in, labels out: alone as in a batch, in the order of the texts."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from regard.errors import DataError
from regard.tasks import text_batch
from regard.tasks.classify.classifier import Classifier
from regard.tasks.classify.labels import LabelSet
from tests.tasks.conftest import TOKENIZER, make_stack, make_wordpiece

LABELS = LabelSet(("a", "b", "c", "d", "e"), (40, 1, 7, 3, 11), 62)
SEVERAL = replace(LABELS, multi_label=True)
TEXTS = ["the kings sleep .", "", "cats", "a dog " * 30, "été", "Paris sleeps", " ", "see"]
PAIRS = [("the kings", "sleep"), ("", ""), ("cats", "a dog " * 30), ("see", "")]


def make_classifier(labels: LabelSet = LABELS, stack: str = "encoder", **settings) -> Classifier:
    options = {name: settings.pop(name) for name in ("temperature", "thresholds") if name in settings}
    return Classifier(make_stack(5, stack, **settings), TOKENIZER, labels, 29, **options)


@pytest.mark.parametrize("labels", [LABELS, SEVERAL], ids=["one", "several"])
@pytest.mark.parametrize("texts", [TEXTS, PAIRS], ids=["texts", "pairs"])
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_a_text_alone_is_classified_as_in_a_batch(labels, texts, stack, monkeypatch):
    classifier = make_classifier(labels, stack)
    together = classifier.log_probs(texts)
    assert together.shape == (len(texts), 5) and together.isfinite().all()
    for text, row in zip(texts, together, strict=True):
        assert_close(classifier.log_probs([text])[0], row)
    assert_close(classifier.log_probs(texts[::-1]).flip(0), together)
    monkeypatch.setattr(text_batch, "MAX_TOKENS", 31)
    assert_close(classifier.log_probs(texts), together)
    assert classifier.log_probs([]).shape == (0, 5) and classifier.classify([]) == []


def test_the_numbers_are_those_of_the_model():
    classifier = make_classifier(dropout=0.3)
    classifier.model.train()
    (ids,) = TOKENIZER.encode(TEXTS[:1], 29)
    log_probs = classifier.log_probs(TEXTS[:1])
    assert classifier.model.training
    model = classifier.model.eval()
    logits = model.output(model(torch.tensor([ids])).mean(1))
    assert_close(log_probs, logits.log_softmax(-1).float())
    several = make_classifier(SEVERAL)
    assert_close(several.log_probs(TEXTS[:1]), logits.sigmoid().log().float())
    for warm in (make_classifier(temperature=2.5), make_classifier(SEVERAL, temperature=2.5)):
        expected = (logits / 2.5).log_softmax(-1) if warm.labels is LABELS else (logits / 2.5).sigmoid().log()
        assert_close(warm.log_probs(TEXTS[:1]), expected.float())
    assert_close(classifier.log_probs(["a dog " * 30]), classifier.log_probs(["a dog " * 40]))  # both are truncated


def test_the_label_is_the_most_probable_one_or_a_question_mark():
    classifier = make_classifier()
    probabilities = classifier.log_probs(TEXTS).exp()
    certain = float(probabilities.amax(1).median())
    results, rejected = classifier.classify(TEXTS), classifier.classify(TEXTS, reject=certain)
    assert len({result.label for result in results}) > 1
    for row, result, careful in zip(probabilities, results, rejected, strict=True):
        assert result.label == LABELS.labels[row.argmax()] and result.labels == (result.label,)
        assert result.probability == max(result.probabilities.values()) == float(row.max())
        assert list(result.probabilities) == list(LABELS.labels)
        assert sum(result.probabilities.values()) == pytest.approx(1)
        assert careful.label == (result.label if result.probability >= certain else "?")
        assert careful.probability == result.probability
    assert {"?"} < {result.label for result in rejected}


def test_several_labels_are_those_above_their_thresholds():
    classifier = make_classifier(SEVERAL, thresholds={"b": 0.0, "c": 1.0})
    for text, result in zip(TEXTS, classifier.classify(TEXTS), strict=True):
        p = result.probabilities
        expected = [k for k in SEVERAL.labels if k == "b" or (p[k] >= 0.5 and k != "c")]
        assert list(result.labels) == expected and result.label == ", ".join(expected)
        assert result.probability == pytest.approx(min(p[k] if k in expected else 1 - p[k] for k in p))
        (careful,) = classifier.classify([text], reject=result.probability + 1e-3)
        assert careful.labels == ("?",)


def test_wordpiece_pairs_have_types_where_the_encoder_has_them():
    pytest.importorskip("tokenizers")
    tokenizer = make_wordpiece()
    settings = {"vocab_size": tokenizer.vocab_size, "architecture": "encoder", "pooling": "pooler"}
    typed, single = (
        Classifier(make_stack(5, **settings, token_types=types), tokenizer, LABELS, 29) for types in (2, 1)
    )
    pair, text = [("the kings", "sleep .")], ["the kings"]
    (ids,) = tokenizer.encode_pairs(pair, 29)
    types = torch.tensor([tokenizer.token_type_ids(ids)])
    model, states = typed.model, typed.model(torch.tensor([ids]), token_type_ids=types)
    pooled = model.pool(states, torch.ones_like(types))
    assert_close(typed.log_probs(pair), model.output(pooled).log_softmax(-1).float())
    model.encoder.embedding.token_types.table.data[1] += torch.randn(22)  # all alike would be normalized away
    assert not torch.allclose(typed.log_probs(pair), model.output(pooled).log_softmax(-1).float())
    before = typed.log_probs(text)
    model.encoder.embedding.token_types.table.data[1] += torch.randn(22)  # all alike would be normalized away
    assert_close(typed.log_probs(text), before)  # a single text is of the first type
    assert single.log_probs(pair).isfinite().all()


def test_texts_and_pairs_are_not_mixed():
    with pytest.raises(DataError, match="1 of 2 inputs are pairs of texts; expected all of them, or none"):
        make_classifier().classify(["cats", ("see", "dogs")])
