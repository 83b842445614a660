"""The most frequent answer: golden cases, ties, and independence of order and names."""

import numpy as np
import pytest

from regard.baselines import LABEL_OPPONENTS, TAG_OPPONENTS, MajorityClass, MajorityTag
from regard.data.tag_schemes import find_spans
from regard.errors import DataError
from regard.formats.labeled import LabeledText, TaggedSentence, read_labeled_texts, read_tagged_sentences
from regard.metrics.labels import count_confusion, count_spans, score_classes, score_spans


def texts(*labels):
    return [LabeledText(f"text {number}", tuple(one)) for number, one in enumerate(labels)]


def test_the_most_frequent_label_is_predicted():
    model = MajorityClass.fit(texts("b", "a", "b"))
    assert model.predict(texts("a", "a")) == [("b",)] * 2
    assert MajorityClass.fit(texts("b", "a")).labels == ("a",), "of equally frequent ones the first"


def test_of_sets_the_most_frequent_set_is_predicted():
    examples = texts("ab", "a", "ba", "", "", "")
    assert MajorityClass.fit(examples).labels == ()
    assert MajorityClass.fit(examples[:4]).labels == ("a", "b"), "in any order"
    assert MajorityClass.fit(texts("a", "", "")).labels == ("a",), "a text without a label is no example"


def test_texts_without_labels_are_refused():
    with pytest.raises(DataError, match="no labels to learn from"):
        MajorityClass.fit(texts("", ""))


SENTENCES = [
    TaggedSentence(("Ann", "met", "ann"), ("B-P", "O", "B-P")),
    TaggedSentence(("ANN", "Arbor"), ("B-L", "I-L")),
    TaggedSentence(("arbor", "met"), ("O", "O")),
]


def test_words_have_their_most_frequent_tag():
    model = MajorityTag.fit(SENTENCES)
    words = TaggedSentence(("aNN", "Arbor", "met", "Bob"), ())
    assert model.predict([words, TaggedSentence((), ())]) == [("B-P", "O", "O", "O"), ()]
    order = np.random.default_rng(3).permutation(3)
    assert MajorityTag.fit([SENTENCES[k] for k in order]) == model


@pytest.mark.parametrize(("others", "tag"), [("B-P B-P I-P O", "B-P"), ("B-P I-P I-P O", "I-P"), ("B-P I-P O", "B-P")])
def test_of_equally_frequent_tags_a_word_has_the_one_of_most_words(others, tag):
    sentences = [TaggedSentence(("ann", "ann"), ("I-P", "B-P"))]
    sentences += [TaggedSentence((f"w{n}",), (other,)) for n, other in enumerate(others.split())]
    assert MajorityTag.fit(sentences).tags["ann"] == tag, "of those the first one in alphabetical order"


def test_unknown_words_of_plain_tags_have_the_most_frequent_one():
    model = MajorityTag.fit([TaggedSentence(("a", "dog", "cat"), ("DET", "NOUN", "NOUN"))])
    assert model.predict([TaggedSentence(("the", "a"), ())]) == [("NOUN", "DET")]


def test_no_words_are_refused():
    with pytest.raises(DataError, match="no tagged words"):
        MajorityTag.fit([TaggedSentence((), ())])


def test_titles_are_the_names_of_the_opponents():
    assert MajorityClass.fit(texts("a")).name in LABEL_OPPONENTS
    assert MajorityTag.fit(SENTENCES).name == f"{next(iter(TAG_OPPONENTS))} (in lower case)"


def test_case_counts_where_it_helps_on_dev():
    training = [TaggedSentence(("Bill", "bill", "bill"), ("B-P", "O", "O"))] * 3
    dev = [TaggedSentence(("Bill",), ("B-P",))]
    model = MajorityTag.fit(training, dev)
    assert model.key == "as it is written" and model.predict(dev) == [("B-P",)]
    assert MajorityTag.fit(training, [TaggedSentence(("BILL",), ("B-P",))]).key == "in lower case", (
        "of equals the first"
    )
    assert MajorityTag.fit([TaggedSentence(("bill",), ("B-P",))], [TaggedSentence(("BILL",), ("B-P",))]).predict(
        [TaggedSentence(("BILL",), ())]
    ) == [("B-P",)]


@pytest.mark.corpora
def test_figures_of_real_corpora(corpora):
    """The anchor of SST-2 is a count, that of WNUT17 another program's: it is within the interval of ours."""
    training, test = (list(read_labeled_texts([corpora / "sst2" / f"{part}.tsv"])) for part in ("train", "test"))
    predicted = MajorityClass.fit(training).predict(test)
    confusion = count_confusion([one.labels[0] for one in test], [label for (label,) in predicted])
    assert score_classes(confusion)["accuracy"].value == pytest.approx(50.9, abs=0.05)
    training = list(read_tagged_sentences([corpora / "wnut17" / "wnut17train.conll"]))
    sentences = list(read_tagged_sentences([corpora / "wnut17" / "emerging.test.annotated"]))
    spans = [
        [find_spans(tags) for tags in all_tags]
        for all_tags in ([one.tags for one in sentences], MajorityTag.fit(training).predict(sentences))
    ]
    score = score_spans(count_spans(*spans), "conlleval")["f1"]
    assert score.low <= 9.0 <= score.high
