"""The difference of two systems is the difference of their scores, and has its sign."""

import random

import pytest

from regard.metrics import corpus_bleu
from regard.metrics.paired import bleu_difference

WORDS = ["le", "la", "un", "une", "chien", "chat", "fille", "mange", "dort", "voit", "grand", "rouge", ".", ","]


def noisy(references: list[str], noise: float, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(w if rng.random() > noise else rng.choice(WORDS) for w in text.split()) for text in references]


def test_the_difference_is_that_of_the_scores_and_changes_its_sign_with_the_order():
    rng = random.Random(3)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(5, 11))) for _ in range(37)]
    good, bad = noisy(references, 0.1, 5), noisy(references, 0.4, 7)
    difference, reverse = bleu_difference(good, bad, references), bleu_difference(bad, good, references)
    expected = corpus_bleu(good, references).value - corpus_bleu(bad, references).value
    assert difference.value == pytest.approx(expected) and expected > 10
    assert reverse.value == pytest.approx(-difference.value)
    assert 0 < difference.low < difference.value < difference.high
    assert (reverse.low, reverse.high) == pytest.approx((-difference.high, -difference.low))


def test_a_system_does_not_differ_from_itself():
    texts = ["le chien dort .", "la fille mange une pomme .", "un chat"] * 5  # an interval needs ten sentences
    difference = bleu_difference(texts, texts, texts)
    assert (difference.value, difference.low, difference.high) == (0, 0, 0)
