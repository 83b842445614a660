"""Rank correlations: of equal rankings 1, of reversed ones -1, by size where a measure has no sign."""

import math

import numpy as np
import pytest

from regard.inspection.decisions.agreement import MIN_WORDS, mean_agreements, rank_agreement
from regard.inspection.decisions.attribution import ATTENTION, ERASURE, GRADIENT, Decision
from regard.inspection.example import TokenizedText
from regard.tasks.classify.classifier import Classification


def make_decision(**values) -> Decision:
    words = tuple(f"w{n}" for n in range(len(values["erasure"])))
    text = TokenizedText(" ".join(words), tuple(range(len(words))), words, tuple(range(len(words))), words, ())
    names = {"erasure": ERASURE, "gradient": GRADIENT, "attention": ATTENTION}
    measures = {names[name]: np.array(row, float) for name, row in values.items()}
    return Decision(text, Classification(("yes",), 0.9, {"yes": 0.9, "no": 0.1}), "yes", -0.1, measures, 0.0)


def test_equal_rankings_agree_and_reversed_ones_disagree():
    decision = make_decision(erasure=[-3, -1, 0, 2, 7], gradient=[-9, -4, 1, 2, 3])
    assert rank_agreement(decision, (ERASURE, GRADIENT)) == pytest.approx(1)
    reversed_decision = make_decision(erasure=[-3, -1, 0, 2, 7], gradient=[9, 4, 1, -2, -3])
    assert rank_agreement(reversed_decision, (ERASURE, GRADIENT)) == pytest.approx(-1)


def test_attention_is_compared_with_sizes():
    decision = make_decision(erasure=[-9, -1, 0, 2, 7], attention=[0.5, 0.1, 0.02, 0.12, 0.26])
    assert rank_agreement(decision, (ATTENTION, ERASURE)) == pytest.approx(1)
    assert rank_agreement(decision, (ERASURE, ATTENTION)) == pytest.approx(1)


def test_few_words_and_constant_measures_have_no_ranks():
    few = make_decision(erasure=range(MIN_WORDS - 1), gradient=range(MIN_WORDS - 1))
    constant = make_decision(erasure=[1] * 7, gradient=range(7))
    enough = make_decision(erasure=range(MIN_WORDS), gradient=range(MIN_WORDS))
    assert math.isnan(rank_agreement(few, (ERASURE, GRADIENT)))
    assert math.isnan(rank_agreement(constant, (ERASURE, GRADIENT)))
    agreements = mean_agreements([few, constant, enough])
    assert agreements[ERASURE, GRADIENT].value == pytest.approx(1) and "n:1" in agreements[ERASURE, GRADIENT].signature
    assert mean_agreements([few]) == {} == mean_agreements([])


def test_the_mean_over_texts_has_an_interval_that_holds_chance_where_there_is_nothing_else():
    rng = np.random.default_rng(11)
    decisions = [make_decision(erasure=rng.normal(size=13), gradient=rng.normal(size=13)) for _ in range(101)]
    (score,) = mean_agreements(decisions).values()
    assert score.low < 0 < score.high and score.high - score.low < 0.3
    assert score.value == pytest.approx(np.mean([rank_agreement(one, (ERASURE, GRADIENT)) for one in decisions]))
