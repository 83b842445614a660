"""The stems of the Porter stemmer with NLTK's extensions."""

import itertools

import pytest

from regard.languages.porter import DERIVED, PLURALS, REMOVED, SUFFIX_PAIRS, measure, shape, stem


def test_words_of_the_paper_have_its_stems():
    pairs = (
        "caresses caress, ponies poni, cats cat, feed feed, agreed agre, plastered plaster, bled bled, motoring motor, "
    )
    pairs += "sing sing, hopping hop, tanned tan, falling fall, hissing hiss, failing fail, filing file, happy happi, "
    pairs += (
        "relational relat, valenci valenc, hopefulness hope, triplicate triplic, electrical electr, goodness good, "
    )
    pairs += "revival reviv, adjustment adjust, adoption adopt, probate probat, rate rate, cease ceas, controll control"
    for pair in pairs.split(", "):
        word, expected = pair.split()
        assert stem(word) == expected, word
    assert [measure(word) for word in ("tree", "by", "trouble", "oats", "private", "orrery")] == [0, 0, 1, 1, 2, 2]
    assert shape("syzygy") == "cvcvcv" and shape("toy") == "cvc"


def test_extensions_are_those_of_nltk():
    pairs = (
        "day day, enjoy enjoy, dies die, died die, spied spi, flies fli, skies sky, dying die, news news, thankfully "
    )
    pairs += "thank, computationally comput, geology geolog, proceed proceed, it it, owing owe"
    for pair in pairs.split(", "):
        word, expected = pair.split()
        assert stem(word) == expected, word


def test_any_word_has_the_stem_that_nltk_has():
    nltk = pytest.importorskip("nltk.stem.porter", reason="nltk is not installed: pip install rouge-score")
    stemmer = nltk.PorterStemmer()
    starts = ("", "b", "ab", "tr", "rel", "x1y", "yy", "geo", "hopp", "control")
    suffixes = {*REMOVED, *(suffix for suffix, _ in (*PLURALS, *SUFFIX_PAIRS, *DERIVED))}
    suffixes |= {"", "ed", "ing", "eed", "ied", "y", "e", "logy", "fully", "ally"}
    words = {"".join(parts) for parts in itertools.product(starts, suffixes, ("", "s", "ed", "ing", "y", "er", "ly"))}
    words |= {"".join(letters) for letters in itertools.product("aeyblst", repeat=4)}
    assert [word for word in words if word and stem(word) != stemmer.stem(word)] == []
