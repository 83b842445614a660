"""Counting finds what belongs together, and does so by the textbook."""

from collections import defaultdict
from math import exp

import numpy as np
import pytest

from regard.data import ibm_model1
from regard.data.batch import pad
from regard.data.ibm_model1 import TranslationTable, fit
from regard.data.tokenizers.tokenizer import EOS, PAD

V = 97


def matrix(rows: list[list[int]]) -> np.ndarray:
    return pad([[*row, EOS] for row in rows]).numpy()


def corpus(shuffled: bool, pairs: int = 400) -> tuple[list[list[int]], list[list[int]]]:
    """Word w is translated as V - w; in another order, or in the same."""
    rng = np.random.default_rng(5)
    sources = [rng.integers(4, 50, rng.integers(2, 11)).tolist() for _ in range(pairs)]
    targets = [[V - w for w in (rng.permutation(s).tolist() if shuffled else s)] for s in sources]
    return sources, targets


@pytest.mark.parametrize("shuffled", [False, True])
def test_translations_are_found_whatever_the_order(shuffled: bool):
    sources, targets = corpus(shuffled)
    source, target = matrix(sources), matrix(targets)
    lexicon = fit(lambda: [(source, target)], V)
    best = np.take_along_axis(source, lexicon.align(source, target).argmax(-1), axis=1)
    real = (target != PAD) & (target != EOS)
    assert (best[real] == V - target[real]).mean() > 0.97


def test_the_diagonal_counts_as_far_as_the_corpus_shows_it():
    steep = [fit(lambda s=s: [tuple(map(matrix, corpus(s)))], V).diagonal_tension for s in (False, True)]
    assert steep[0] > 10 > 5 > steep[1] > 2


def test_chances_add_up_and_padding_has_none():
    source, target = matrix([[5, 7, 9], [11]]), matrix([[50], [51, 52, 53, 54]])
    shares = TranslationTable(np.ones(V, np.float32)).align(source, target)
    assert shares.shape == (2, 5, 4)
    np.testing.assert_allclose(shares.sum(-1), 1, rtol=1e-5)
    assert (shares[1][:, 2:] == 0).all()


def test_rounds_are_those_of_the_textbook(monkeypatch):
    """The same expectation-maximisation with dictionaries and loops."""
    monkeypatch.setattr(ibm_model1, "UNSEEN_PROBABILITY", 1e-12)
    sources, targets = corpus(True, 13)
    found = fit(lambda: [(matrix(sources), matrix(targets))], V)
    chance, steepness = defaultdict(lambda: 1.0), 0.0
    for number in range(1, ibm_model1.EM_ITERATIONS + 1):
        counts, totals, far, tokens = defaultdict(float), defaultdict(float), 0.0, 0
        for s, t in zip(([*s, EOS] for s in sources), ([*t, EOS] for t in targets), strict=True):
            for j, word in enumerate(t):
                apart = [abs((j + 0.5) / len(t) - (i + 0.5) / len(s)) for i in range(len(s))]
                shares = [chance[w, word] * exp(-steepness * d) for w, d in zip(s, apart, strict=True)]
                for w, d, share in zip(s, apart, shares, strict=True):
                    counts[w, word] += share / sum(shares)
                    totals[w] += share / sum(shares)
                    far += d * share / sum(shares)
                tokens += 1
        chance = defaultdict(float, {(w, word): c / totals[w] for (w, word), c in counts.items()})
        steepness = (
            0.0
            if number < ibm_model1.ITERATIONS_BEFORE_DIAGONAL
            else min(ibm_model1.MAX_DIAGONAL_TENSION, tokens / far)
        )
    assert found.diagonal_tension == pytest.approx(steepness, rel=1e-3)
    for (w, word), expected in chance.items():
        slot = ibm_model1.hash_slots(np.array([[w]]), np.array([[word]]))[0, 0, 0]
        assert found.counts[slot] / found.totals[w] == pytest.approx(expected, abs=1e-3)
