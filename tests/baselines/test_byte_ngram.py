"""The byte n-gram: equal to an explicit loop, a distribution, independent of order and chunks."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.baselines import ByteNGram, byte_ngram, score_bz2
from regard.errors import DataError

DOCUMENTS = ["to be, or not to be", "été à Noël", "", "b", "question: that is the\n"]


def loop_bits(training, document, order):
    """Witten-Bell smoothing, one symbol at a time, with dictionaries."""
    followers = {}

    def histories(text):
        symbols = [256] * (order - 1) + list(text.encode()) + [256]
        for end in range(order - 1, len(symbols)):
            yield symbols[end], [tuple(symbols[end - length : end]) for length in range(order)]

    for text in training:
        for symbol, contexts in histories(text):
            for context in contexts:
                followers.setdefault(context, Counter())[symbol] += 1
    bits = []
    for symbol, contexts in histories(document):
        probability = 1 / 257
        for context in contexts:
            if counts := followers.get(context):
                probability = (counts[symbol] + len(counts) * probability) / (counts.total() + len(counts))
        bits.append(-math.log2(probability))
    return bits


@pytest.mark.parametrize("order", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("document", ["not that", "", "é", "\x00 zzz", "to be, or not to be"])
def test_bits_are_those_of_an_explicit_loop(order, document):
    model = ByteNGram.fit(DOCUMENTS, order)
    assert model.byte_bits(document) == pytest.approx(loop_bits(DOCUMENTS, document, order))
    assert model.name == f"byte {order}-gram, Witten-Bell"


@given(st.lists(st.text("ab c", max_size=9), min_size=1, max_size=5).filter(any), st.text("ab cé", max_size=11))
def test_bits_of_any_text_are_those_of_an_explicit_loop(training, document):
    assert ByteNGram.fit(training, 3).byte_bits(document) == pytest.approx(loop_bits(training, document, 3))


def test_probabilities_of_all_next_bytes_sum_to_one():
    model = ByteNGram.fit(["to be or not", "to bed"])
    for prefix in ("", "to b", "zz", "to bed"):
        ascii_bytes = [2.0 ** -model.byte_bits(prefix + chr(byte))[len(prefix)] for byte in range(128)]
        end = 2.0 ** -model.byte_bits(prefix)[len(prefix)]
        # Bytes from 128 on never occur in training, so each has the probability of any other that does not.
        assert sum(ascii_bytes) + end + 128 * ascii_bytes[0] == pytest.approx(1)


def test_the_order_of_documents_changes_nothing_and_chunks_neither(monkeypatch):
    texts = ["the quick brown fox", "été", "", "jumps over the lazy dog"]
    model = ByteNGram.fit(DOCUMENTS)
    expected = [model.bits(text) for text in texts]
    monkeypatch.setattr(byte_ngram, "CHUNK", 7)
    chunked = ByteNGram.fit(DOCUMENTS[::-1])
    for one, other in zip(model.tables, chunked.tables, strict=True):
        assert np.array_equal(one.ngrams, other.ngrams) and np.array_equal(one.counts, other.counts)
    assert [chunked.bits(text) for text in texts] == pytest.approx(expected)


def test_the_bits_of_a_document_are_those_of_its_bytes():
    model = ByteNGram.fit(DOCUMENTS)
    assert model.bits("be that") == pytest.approx(model.byte_bits("be that").sum())


def test_no_more_than_the_limit_is_counted(monkeypatch):
    monkeypatch.setattr(byte_ngram, "MAX_TRAINING_BYTES", 50)
    many = ByteNGram.fit([f"{number:05d}" for number in range(100)], 1)
    assert many.tables[0].totals.sum() == 10 * 6, "ten documents of five bytes and an end"
    assert ByteNGram.fit(["x" * 1000], 1).tables[0].totals.sum() == 51


def test_the_order_is_that_of_the_fewest_bits_on_dev():
    rng = np.random.default_rng(3)
    training = ["".join(rng.choice(list("ab c"), size=401)) + DOCUMENTS[0] * 3]
    for dev in ([DOCUMENTS[0] * 3], ["".join(rng.choice(list("ab c"), size=97))]):
        bits = {order: sum(map(ByteNGram.fit(training, order).bits, dev)) for order in byte_ngram.ORDERS}
        chosen = ByteNGram.choose(training, dev)
        assert chosen.order == min(bits, key=bits.__getitem__) and chosen.bits(dev[0]) == bits[chosen.order]
    assert chosen.order == 3, "noise has no contexts"
    assert ByteNGram.choose(training, []).order == ByteNGram.choose(training, [""]).order == 5


@pytest.mark.parametrize(("documents", "order", "message"), [([""], 5, "no text"), (["a"], 8, "1 to 7")])
def test_what_cannot_be_counted_is_refused(documents, order, message):
    with pytest.raises(DataError, match=message):
        ByteNGram.fit(documents, order)


@pytest.mark.corpora
def test_figures_of_shakespeare(corpora):
    text = (corpora / "novels" / "shakespeare.txt").read_text(encoding="utf-8")
    start = len(text) * 9 // 10
    training, test = [text[:start]], text[start:]
    figures = [ByteNGram.fit(training, order).bits(test) / len(test) for order in (1, 2, 3, 5, 6)]
    assert figures == pytest.approx([4.829, 3.586, 2.956, 2.408, 2.450], abs=1e-3)
    assert score_bz2(training, [test]).value == pytest.approx(2.398, abs=1e-3)
