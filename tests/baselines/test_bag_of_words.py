"""Bags of words: words in common, and TF-IDF as scikit-learn weighs it, with and without unknown words."""

import math

import numpy as np
import pytest

from regard.baselines import TfidfCosine, WordOverlap

TRAINING = ["the cat sat on the mat", "a dog sat", "the the dog", "birds sing in the tree", "Cats, dogs!"]
TEXTS = ["The cat sat on a dog.", "the the the cat", "an unknown zebra sat", "zebra", "???", ""]


def test_tfidf_is_that_of_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text", reason="scikit-learn is not installed")
    theirs = text.TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+").fit(TRAINING).transform(TEXTS)
    ours = TfidfCosine.fit(TRAINING, known_words_only=True).embed(TEXTS)
    np.testing.assert_allclose((ours @ ours.T).toarray(), (theirs @ theirs.T).toarray(), atol=1e-12)


def test_a_word_that_no_training_text_has_is_the_rarest():
    all_words, known = TfidfCosine.fit(TRAINING), TfidfCosine.fit(TRAINING, known_words_only=True)
    cosines = [(vectors @ vectors.T).toarray()[2, 3] for vectors in (one.embed(TEXTS) for one in (all_words, known))]
    rare, sat = math.log(6) + 1, math.log(6 / 3) + 1
    assert cosines == pytest.approx([rare / math.sqrt(3 * rare**2 + sat**2), 0])
    assert all_words.name != known.name


def test_words_in_common_are_divided_by_the_mean_number_of_words():
    vectors = WordOverlap().embed(["the cat sat", "The CAT, the dog", ""])
    products = (vectors @ vectors.T).toarray()
    assert products[0, 1] == pytest.approx(2 / math.sqrt(3 * 3)) and products[2].tolist() == [0, 0, 0]
    assert products[0, 0] == pytest.approx(1)
