"""Bits per byte: sums, not means of ratios; and a compressor that has read the training text."""

import numpy as np
import pytest

from regard.baselines import score_bits, score_bz2
from regard.baselines.language import bits_per_byte


def test_bits_per_byte_is_a_ratio_of_sums():
    score = score_bits([10, 2, 30], [5, 11, 7])
    assert score.value == pytest.approx(42 / 23) and "bytes:23|documents:3" in score.signature
    assert bits_per_byte(np.array([[42.0, 23.0]])) == pytest.approx([42 / 23])


def test_the_golden_value_of_four_tokens():
    nats, text = np.array([1.2, 0.7, 2.1, 0.4]), "ab c\n"
    assert score_bits([nats.sum() / np.log(2)], [len(text)]).value == pytest.approx(1.269572, abs=1e-6)


def test_the_interval_is_over_documents():
    rng = np.random.default_rng(3)
    sizes = rng.integers(50, 500, size=41).astype(float)
    score = score_bits(sizes * rng.normal(2, 0.2, size=41), sizes)
    assert 1.8 < score.low < score.value < score.high < 2.2 and "ci:jackknife" in score.signature


def test_known_text_needs_fewer_bits():
    rng = np.random.default_rng(5)
    text, other = ("".join(rng.choice(list("abcdefgh"), size=5003)) for _ in range(2))
    known, unknown = score_bz2([text], [text]), score_bz2([other], [text])
    assert known.value < 2 < 2.9 < unknown.value < 4
    assert "given:train" in known.signature and known.low is None
    assert score_bz2([text[:2000], text[2000:]], [text[:700], text[700:]]).value == known.value
    assert score_bz2([], ["é"]).signature.startswith("unit:byte|bytes:2")
