"""Limits of what opponents learn from: the examples that are taken are spread over all, and never none."""

import pytest

from regard.baselines import TfidfLogisticRegression, byte_ngram, tfidf
from regard.baselines.byte_ngram import ByteNGram
from regard.baselines.selection import spaced
from regard.formats.labeled import LabeledText

EXAMPLES = [LabeledText(f"{word} {n}", (label,)) for n in range(7) for word, label in (("fine", "x"), ("dull", "y"))]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 12, 13, 14])
def test_items_are_taken_at_even_distances(count: int):
    numbers = spaced(range(13), count)
    assert len(numbers) == min(count, 13) and numbers[0] == 0
    distances = {later - earlier for earlier, later in zip(numbers, [*numbers[1:], 13], strict=True)}
    assert max(distances) - min(distances) <= 1


def test_something_is_learned_within_the_smallest_limit(monkeypatch):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `baselines`)")
    monkeypatch.setattr(tfidf, "MAX_WEIGHTS", 1)
    assert len(TfidfLogisticRegression.fit(EXAMPLES).vectorizer.vocabulary_) == 1
    monkeypatch.setattr(byte_ngram, "MAX_TRAINING_BYTES", 2)
    first_alone, both = ByteNGram.fit(["ab", "cdefgh"]), ByteNGram.fit(["ab"])
    assert first_alone.bits("abc") == both.bits("abc")


def test_a_text_without_words_is_one_among_others():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `baselines`)")
    model = TfidfLogisticRegression.fit([*EXAMPLES, LabeledText(" ", ("x",))])
    assert model.predict([LabeledText("fine", ()), LabeledText("dull", ())]) == [("x",), ("y",)]


def test_settings_are_chosen_up_to_the_limit_and_not_above(monkeypatch):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `baselines`)")
    monkeypatch.setattr(tfidf, "INVERSE_REGULARIZATIONS", (7.0, 10.0))
    dev = [LabeledText("", ("C=10",))]
    vectorizer = TfidfLogisticRegression.fit(EXAMPLES).vectorizer
    monkeypatch.setattr(TfidfLogisticRegression, "predict", lambda one, dev: [(f"C={one.inverse_regularization:g}",)])
    size = vectorizer.transform([example.text for example in EXAMPLES]).nnz * 2  # for each of two classes
    for limit, expected in ((size, 10), (size - 1, 7)):
        monkeypatch.setattr(tfidf, "MAX_CHOICE_SIZE", limit)
        assert TfidfLogisticRegression.fit(EXAMPLES, dev).inverse_regularization == expected
