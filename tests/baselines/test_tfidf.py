"""TF-IDF and logistic regression: scikit-learn's own numbers, independent of order, names and the caller's labels."""

import sys

import numpy as np
import pytest

from regard.baselines import LABEL_OPPONENTS, TfidfLogisticRegression, tfidf
from regard.errors import ConfigError, DataError
from regard.formats.labeled import LabeledText, read_labeled_texts

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `baselines`)")
WORDS = {"good": "fine great love joy", "bad": "poor awful hate dull", "odd": "weird quirky strange novel"}
FILLERS = ["the", "a", "film", "was", "and", "of", "it", "in"]


def sentences(count, seed, num_labels=1):
    rng = np.random.default_rng(seed)
    examples = []
    for _ in range(count):
        labels = tuple(
            sorted(rng.choice(list(WORDS), size=num_labels if num_labels == 1 else rng.integers(4), replace=False))
        )
        words = [*rng.choice(FILLERS, size=3), *(rng.choice(WORDS[label].split()) for label in labels)]
        examples.append(LabeledText(" ".join(rng.permutation(words)), tuple(map(str, labels))))
    return examples


def test_predictions_are_those_of_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(1)
    training, test = (
        [
            LabeledText(one.text, (str(rng.choice(list(WORDS))),) if rng.random() < 0.3 else one.labels)
            for one in sentences(count, seed)
        ]
        for count, seed in ((211, 3), (97, 5))
    )
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\w+|[^\w\s]", sublinear_tf=True)
    pipeline = make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=1000))
    pipeline.fit([one.text for one in training], [one.labels[0] for one in training])
    predicted = TfidfLogisticRegression.fit(training).predict(test)
    assert [label for (label,) in predicted] == pipeline.predict([one.text for one in test]).tolist()


def test_the_regularization_is_the_best_one_on_dev_and_nothing_else_of_dev_is_learned(monkeypatch):
    rng = np.random.default_rng(1)
    training = [
        LabeledText(one.text, (str(rng.choice(list(WORDS))),) if rng.random() < 0.4 else one.labels)
        for one in sentences(211, 2)
    ]
    dev = sentences(97, 52)
    general, memorizing = (TfidfLogisticRegression.fit(training, one) for one in (dev, training))
    assert general.inverse_regularization == 1 < memorizing.inverse_regularization, "many labels are wrong"
    monkeypatch.setattr(tfidf, "INVERSE_REGULARIZATIONS", (1.0,))
    monkeypatch.setattr(tfidf, "MAX_WORDS", (general.max_words,))
    assert np.array_equal(TfidfLogisticRegression.fit(training).classifiers[0].coef_, general.classifiers[0].coef_)


def test_pairs_of_words_count_where_they_help_on_dev():
    """The answer is whether `not` stands before `good`, or which words a text has."""
    order = [("not good x", "no"), ("good x not", "yes"), ("x not good", "no"), ("not x good", "yes")]
    bag = [("x y", "a"), ("y x", "a"), ("x z", "b"), ("z x", "b"), ("z y", "b")]
    by_order, by_words = ([LabeledText(text, (label,)) for text, label in rows] for rows in (order, bag))
    assert TfidfLogisticRegression.fit(by_order, by_order).max_words == 2
    assert TfidfLogisticRegression.fit(by_words, by_words).max_words == 2, "of equals, the first"


def test_the_length_of_ngrams_is_that_which_is_right_on_dev(monkeypatch):
    training = sentences(61, 3)
    monkeypatch.setattr(TfidfLogisticRegression, "predict", lambda model, dev: [(str(model.max_words),)])
    for max_words in ("1", "2"):
        assert TfidfLogisticRegression.fit(training, [LabeledText("", (max_words,))]).max_words == int(max_words)
    one = TfidfLogisticRegression.fit(training, [LabeledText("", ("1",))])
    assert "(1 word, C=10)" in one.name and not any(" " in name for name in one.vectorizer.vocabulary_)


def test_without_dev_and_for_much_data_the_regularization_is_not_chosen(monkeypatch):
    training = sentences(61, 3)
    monkeypatch.setattr(tfidf, "INVERSE_REGULARIZATIONS", (7.0, 10.0))
    assert TfidfLogisticRegression.fit(training).inverse_regularization == 7
    assert TfidfLogisticRegression.fit(training, training).inverse_regularization == 7, "of equals, the first"
    monkeypatch.setattr(
        TfidfLogisticRegression, "predict", lambda model, dev: [(f"C={model.inverse_regularization:g}",)]
    )
    dev = [LabeledText("", ("C=10",))]
    assert TfidfLogisticRegression.fit(training, dev).inverse_regularization == 10
    monkeypatch.setattr(tfidf, "MAX_CHOICE_SIZE", 1)
    assert TfidfLogisticRegression.fit(training, dev).inverse_regularization == 7


def test_words_decide_and_labels_of_the_test_texts_are_not_read():
    model = TfidfLogisticRegression.fit(sentences(101, 3))
    test = sentences(53, 7)
    assert model.predict(test) == [one.labels for one in test]
    assert model.predict([LabeledText(one.text, ()) for one in test]) == [one.labels for one in test]
    assert model.predict([]) == []
    assert model.name == f"{list(LABEL_OPPONENTS)[1]} (1 to 2 words, C=10)"


def test_the_order_of_examples_and_the_names_of_labels_change_nothing():
    training, test = sentences(61, 3), sentences(23, 5)
    order = np.random.default_rng(9).permutation(61)
    model, permuted = (TfidfLogisticRegression.fit(one) for one in (training, [training[k] for k in order]))
    assert np.array_equal(model.classifiers[0].coef_, permuted.classifiers[0].coef_), "to the last bit"
    expected = model.predict(test)
    names = {"good": "z", "bad": "y", "odd": "x"}
    renamed = [LabeledText(one.text, tuple(names[label] for label in one.labels)) for one in training]
    assert TfidfLogisticRegression.fit(renamed).predict(test) == [(names[label],) for (label,) in expected]


def test_several_labels_are_predicted_one_by_one():
    training, test = sentences(307, 3, num_labels=3), sentences(53, 5, num_labels=3)
    model = TfidfLogisticRegression.fit(training)
    predicted = model.predict(test)
    right = sum(set(a) == set(one.labels) for a, one in zip(predicted, test, strict=True))
    assert right >= 48 and {len(answer) for answer in predicted} >= {0, 1, 2}
    everywhere = [LabeledText(one.text, (*one.labels, "always")) for one in training]
    assert all("always" in answer for answer in TfidfLogisticRegression.fit(everywhere).predict(test))


def test_both_texts_of_a_pair_count():
    training = [LabeledText("same", (word,), text_pair=word) for word in ("yes", "no")] * 3
    test = [LabeledText("same", (), word) for word in ("no", "yes")]
    assert TfidfLogisticRegression.fit(training).predict(test) == [("no",), ("yes",)]
    assert tfidf.split_ngrams(tfidf._join_pair(LabeledText("a b", (), "c"))) != tfidf.split_ngrams("a b c")


def test_words_of_all_scripts_are_split():
    assert tfidf.split_ngrams("So GOOD!") == ["so", "good", "!", "so good", "good !"]
    assert tfidf.split_ngrams("It's") == ["it", "'", "s", "it '", "' s"]
    assert tfidf.split_ngrams("हिन्दी") == ["हिन्दी"]
    assert len(tfidf.split_ngrams("我喜欢这部电影")) > 3
    assert tfidf.split_ngrams(" \t ") == []


def test_large_data_is_taken_at_even_distances(monkeypatch):
    training = sentences(60, 3)
    monkeypatch.setattr(tfidf, "MAX_EXAMPLES", 20)
    model = TfidfLogisticRegression.fit(training)
    assert model.name == "TF-IDF + logistic regression (1 to 2 words, C=10, 20 of 60 texts)"
    assert model.predict(training) == TfidfLogisticRegression.fit(training[::3]).predict(training)
    monkeypatch.setattr(tfidf, "MAX_CHARACTERS", sum(len(one.text) for one in training) // 6)
    assert TfidfLogisticRegression.fit(training).num_examples in (9, 10)
    monkeypatch.setattr(tfidf, "MAX_WEIGHTS", 15)
    small = TfidfLogisticRegression.fit(training)
    assert len(small.vectorizer.vocabulary_) == 15 // len(small.classes)
    monkeypatch.setattr(tfidf, "CHUNK", 7)
    assert model.predict(training) == [label for one in training for label in model.predict([one])]


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([LabeledText("a", ("x",)), LabeledText("b", ("x",))], "all training texts have the label 'x'"),
        ([LabeledText(" ", ("x",)), LabeledText("", ("y",))], "no words"),
        ([LabeledText("a", ())], "no labels"),
    ],
)
def test_what_nothing_can_be_learned_from_is_refused(examples, message):
    with pytest.raises(DataError, match=message):
        TfidfLogisticRegression.fit(examples)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ConfigError, match=r"scikit-learn is not installed; .* pip install '\.\[baselines\]'"):
        TfidfLogisticRegression.fit(sentences(5, 1))


@pytest.mark.corpora
@pytest.mark.slow
@pytest.mark.parametrize(
    ("training", "test", "anchor"),
    [("sst2/train.tsv", "sst2/test.tsv", 82.22), ("banking77/train.csv", "banking77/test.csv", 89.45)],
)
def test_figures_of_real_corpora(corpora, training, test, anchor):
    """The anchors are scikit-learn's with other tokens; two such systems differ by less than the interval of test."""
    model = TfidfLogisticRegression.fit(list(read_labeled_texts([corpora / training])))
    examples = list(read_labeled_texts([corpora / test]))
    right = sum(a == one.labels for a, one in zip(model.predict(examples), examples, strict=True))
    half_width = 1.96 * (anchor * (100 - anchor) / len(examples)) ** 0.5
    assert 100 * right / len(examples) == pytest.approx(anchor, abs=half_width)
