"""Words that matter by construction are above random words of the same frequency; words that do not are at chance."""

import numpy as np
import pytest

from regard.inspection.decisions.attribution import ERASURE, GRADIENT, explain_decisions
from regard.inspection.decisions.listed_words import measure_listed_words
from tests.inspection.decisions.conftest import make_linear_classifier

DECISIVE = [f"good{n}" for n in range(7)]
FILLERS = [f"filler{n}" for n in range(61)]
LOG_ODDS = dict.fromkeys(DECISIVE, 1.1) | dict.fromkeys(FILLERS, 0.1)


def make_decisions(num_texts: int = 97):
    rng = np.random.default_rng(3)
    words = [[*rng.choice(FILLERS, 7), rng.choice([*DECISIVE, *FILLERS[:7]])] for _ in range(num_texts)]
    return explain_decisions(make_linear_classifier(LOG_ODDS), [" ".join(rng.permutation(row)) for row in words])


def test_words_that_decide_are_above_chance():
    decisions = make_decisions()
    result = measure_listed_words(decisions, [word.upper() for word in DECISIVE])
    assert result.words == tuple(sorted(DECISIVE))
    assert result.num_texts == sum(any(w in DECISIVE for w in one.text.words) for one in decisions)
    assert result.num_occurrences == sum(w in DECISIVE for one in decisions for w in one.text.words)
    shares = {share.measure: share for share in result.shares}
    assert set(shares) == set(decisions[0].measures)
    for measure in (GRADIENT, ERASURE):
        share = shares[measure]
        assert share.uniform_share == pytest.approx(1 / 8)
        assert share.lift.value == pytest.approx(share.share / share.uniform_share)
        assert share.p_value == pytest.approx(1 / 1001) and share.lift.value > 2 * share.random_interval[1]
    exact = 1.1 / (1.1 + 7 * 0.1)  # the gradient is in proportion to the log-odds of words
    assert shares[GRADIENT].share == pytest.approx(exact, abs=1e-6)
    assert result.cost_difference.low > 0
    difference = [
        one.measures[ERASURE][listed].mean() - one.measures[ERASURE][~listed].mean()
        for one in decisions
        if (listed := np.array([w in DECISIVE for w in one.text.words])).any()
    ]
    assert result.cost_difference.value == pytest.approx(np.mean(difference))


def test_words_that_do_not_matter_more_are_at_chance():
    result = measure_listed_words(make_decisions(), FILLERS[11:18])
    for share in result.shares:
        assert share.p_value > 0.05 and share.random_interval[0] < share.lift.value < share.random_interval[1]
    again = measure_listed_words(make_decisions(), FILLERS[11:18])
    assert again == result  # random lists are the same every time


def test_a_list_without_any_word_of_the_texts_measures_nothing():
    decisions = make_decisions(5)
    assert measure_listed_words(decisions, ["absent"]) is None
    assert measure_listed_words(decisions, {w for one in decisions for w in one.text.words}) is None
