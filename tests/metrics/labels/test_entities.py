"""Scores of spans equal those of CoNLL's script: on golden sentences, and on the published systems of WNUT 2017."""

import numpy as np
import pytest

from regard.data.tag_schemes import find_spans, find_valid_spans
from regard.errors import DataError
from regard.formats.labeled import read_tagged_sentences
from regard.metrics.intervals import PERCENT, jackknife_interval
from regard.metrics.labels import count_spans, score_spans

GOLDEN = [
    ("BIO", "O O O B-M I-M I-M O|B-P I-P O", "O O B-M I-M I-M I-M O|B-P I-P O", 50, 50),
    ("BIO", "B-P I-P O B-L", "I-P I-P O I-L", 100, 0),
    ("BIO", "B-P I-P I-P", "B-P I-L I-P", 0, 0),
    ("BIO", "I-P B-P O", "I-P I-P O", 0, 0),
    ("BIO", "I-L I-L O I-P", "B-L I-L O B-P", 100, 0),
    ("BIOES", "B-L E-L O S-P", "B-L I-L O S-P", 100, 66.6667),
    ("BIO", "B-P|I-P", "B-P|B-P", 100, 66.6667),
    ("BIO", "O O", "O O", 0, 0),
]
PUBLISHED = {
    "uh_ritual": (57.54, 32.90, 41.86),
    "spinningbytes.txt": (47.09, 35.96, 40.78),
    "sjtu_adapt.txt": (None, None, 40.42),
    "arcada": (None, None, 39.98),
    "flytxt": (None, None, 38.35),
    "mic-cis.txt": (None, None, 37.06),
    "drexel_cci": (None, None, 26.30),
}
STRICT = {"spinningbytes.txt": 41.31, "mic-cis.txt": 37.30}


def f1(gold, predicted, find):
    counts = count_spans([find(tags) for tags in gold], [find(tags) for tags in predicted])
    return score_spans(counts, "test")["f1"].value


@pytest.mark.parametrize(("scheme", "gold", "predicted", "default", "strict"), GOLDEN)
def test_golden_values(scheme, gold, predicted, default, strict):
    sentences = [[sentence.split() for sentence in text.split("|")] for text in (gold, predicted)]
    assert f1(*sentences, find_spans) == pytest.approx(default, abs=1e-3)
    assert f1(*sentences, lambda tags: find_valid_spans(tags, scheme)) == pytest.approx(strict, abs=1e-3)


def test_spans_never_cross_sentences_and_wrong_counts_are_refused():
    assert find_spans(["B-x"]) == [("x", 0, 1)] and find_spans(["I-x", "I-x", "B-x"]) == [("x", 0, 2), ("x", 2, 3)]
    assert find_spans(["S-x", "I-x"]) == [("x", 0, 1), ("x", 1, 2)]
    with pytest.raises(DataError, match="1 predicted sentences but 2 with gold tags"):
        count_spans([[], []], [[]])
    with pytest.raises(DataError, match="nothing to score"):
        count_spans([], [])


@pytest.mark.corpora
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_systems_have_their_published_scores(corpora, name):
    folder = corpora / "wnut17"
    gold = [sentence.tags for sentence in read_tagged_sentences([folder / "emerging.test.annotated"])]
    predicted = [sentence.tags for sentence in read_tagged_sentences([folder / "submissions" / name])]
    counts = count_spans([find_spans(tags) for tags in gold], [find_spans(tags) for tags in predicted])
    scores = score_spans(counts, "conlleval")
    expected = dict(zip(("precision", "recall", "f1"), PUBLISHED[name], strict=True))
    assert {key: round(scores[key].value, 2) for key, value in expected.items() if value} == {
        key: value for key, value in expected.items() if value
    }
    strict = f1(gold, predicted, lambda tags: find_valid_spans(tags, "BIO"))
    assert round(strict, 2) == STRICT.get(name, round(scores["f1"].value, 2))


def test_scores_and_intervals_are_those_of_leaving_out_each_sentence():
    rng = np.random.default_rng(3)
    gold = [[("x", n, n + 1) for n in range(rng.integers(0, 5))] for _ in range(13)]
    predicted = [[span for span in [*spans, ("y", 9, 11)] if rng.random() < 0.6] for spans in gold]

    def percent(name, without=None):
        kept = [n for n in range(13) if n != without]
        right = sum(len({*gold[n]} & {*predicted[n]}) for n in kept)
        ours, theirs = (sum(len(side[n]) for n in kept) for side in (gold, predicted))
        return 100 * {"f1": 2 * right / (ours + theirs), "precision": right / theirs, "recall": right / ours}[name]

    sizes = np.array([len(one) + len(two) for one, two in zip(gold, predicted, strict=True)], dtype=float)
    for name, score in score_spans(count_spans(gold, predicted), "strict").items():
        without = np.array([percent(name, n) for n in range(13)])
        low, high = jackknife_interval(np.array(percent(name)), without, sizes, PERCENT)
        assert score.value == pytest.approx(percent(name))
        assert (score.low, score.high) == pytest.approx((float(low), float(high)))
        assert score.signature == f"unit:span|average:micro|mode:strict|sentences:13|{PERCENT.signature}"


def test_a_span_that_is_listed_twice_is_right_once():
    ((right, gold, predicted),) = count_spans([[("x", 0, 1)]], [[("x", 0, 1), ("x", 0, 1)]]).table
    assert (right, gold, predicted) == (1, 1, 2)
