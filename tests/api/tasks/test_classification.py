"""Classifiers as objects of Python."""

from pathlib import Path

import pytest

import regard


def test_the_result_has_the_form_of_the_input(classifier: Path):
    model = regard.load(classifier)
    one, (same, other) = model.classify("the play was superb"), model.classify(["the play was superb", "a dull walk"])
    assert one.label == same.label == "pos" and other.probabilities.keys() == set(model.labels) == {"neg", "pos"}
    assert one.probability == pytest.approx(same.probability, abs=1e-5)
    assert len(repr(one)) < 60 and "2 labels" in repr(model) and "pos" in one._repr_html_()
    assert regard.open_run(classifier).load().labels == model.labels
    with pytest.raises(AttributeError):
        one.labels = ("neg",)


def test_wrong_inputs_are_refused(classifier: Path):
    model = regard.load(classifier)
    with pytest.raises(TypeError, match="takes str, or a list of them; item 1 is int"):
        model.classify(["a", 7])
    with pytest.raises(TypeError, match="item 0 is tuple"):
        model.classify(("a", "b"))
    with pytest.raises(regard.RegardError, match="from 0 to 1"):
        model.classify("a", reject=1.5)
    with pytest.raises(regard.RegardError, match="quantize=int8"):
        regard.load(classifier, quantize="int8")
    with pytest.raises(TypeError, match="got one str"):
        regard.classify_stream(classifier, "a text")


def test_a_stream_of_lines_is_classified_as_the_texts_are(classifier: Path):
    texts = ["the play was superb", "the walk was awful"]
    lines = list(regard.classify_stream(classifier, (f"{text}\n" for text in texts)))
    assert [line.text for line in lines] == texts
    assert [line.classification.label for line in lines] == [
        one.label for one in regard.load(classifier).classify(texts)
    ]
