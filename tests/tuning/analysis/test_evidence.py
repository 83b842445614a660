"""What a study calls significant: seldom where settings are equal, and nearly always where one is much worse."""

import numpy as np
import pytest

from regard.metrics import PairedTestResult
from regard.metrics.statistical_tests import tukey_p_value
from regard.tuning.analysis.effects import EffectTest
from regard.tuning.analysis.evidence import correct_claims
from tests.metrics.simulation import equal_systems
from tests.tuning.null_studies import (
    SIMULATIONS,
    claims,
    designs,
    false_claim_rate,
    false_label_rate,
    found_rate,
    found_worse_rate,
    study_of_seeds,
    study_of_statistics,
)


def test_claims_are_corrected_for_each_other():
    trials = {n: PairedTestResult("BLEU", 30.0, p / 2, "", -1.0, None, p) for n, p in ((2, 0.02), (3, 0.3))}
    effects = {"a": EffectTest(0.01), "b": EffectTest(0.2), "c": EffectTest(0.5, can_reach_significance=False)}
    corrected = correct_claims(trials, effects)
    assert corrected.effects["a"].p_value == pytest.approx(0.03) and corrected.effects["c"] == effects["c"]
    assert corrected.trials[2].decisive_p == pytest.approx(0.04)  # the second of three tests
    assert corrected.trials[3].decisive_p == pytest.approx(0.6) and corrected.num_tests == 4
    assert correct_claims({}, {}).num_tests == 0


def test_the_winner_of_many_equal_trials_is_no_better_than_the_last():
    rng = np.random.default_rng(5)
    analysis = study_of_statistics(designs(rng)[2], equal_systems(rng, 16, 97))
    last = analysis.claims.trials[analysis.ranking[-1].number]
    assert last.p < 0.05 < last.decisive_p  # by itself it would be a finding
    assert claims(analysis) == []


def test_seeds_that_were_lucky_together_do_not_make_a_winner():
    """The best of sixteen equal trials differs from the last by Welch's test; Tukey's knows that both were selected."""
    rng = np.random.default_rng(0)
    analysis = study_of_seeds(designs(rng)[2], rng.normal(30, 0.5, (16, 3)))
    tests = analysis.claims.trials.values()
    assert any(test.p < 0.01 for test in tests) and not any(test.significant for test in tests)


def test_a_trial_that_varies_more_than_the_others_is_not_worse_by_bad_luck():
    """Tukey's test, with the deviation of all trials, takes two bad seeds for a difference; Welch's does not."""
    scores = np.array([[30.4, 30.5, 30.6], [24.0, 24.0, 30.4], *[[30.3, 30.4, 30.5]] * 14])
    analysis = study_of_seeds(designs(np.random.default_rng(3))[2], scores)
    unlucky = analysis.ranking[-1].number
    assert unlucky == 1 and tukey_p_value([r.values for r in analysis.ranking], 0, 15) < 0.05
    assert analysis.claims.trials[unlucky].p > 0.05 and not analysis.claims.trials[unlucky].significant


def test_few_studies_of_equal_settings_claim_anything():
    assert false_label_rate(1, 60, num_sentences=53) <= 0.15 and false_label_rate(3, 60) <= 0.15


def test_a_trial_that_is_much_worse_is_found():
    assert found_rate(1, 4, gap=6) == 1 and found_rate(3, 10, gap=6) >= 0.9


@pytest.mark.parametrize("kind", SIMULATIONS)
def test_scores_of_other_tasks_claim_as_little_and_find_as_much(kind: str):
    assert false_claim_rate(kind, 24) <= 0.15 and found_worse_rate(kind, 3) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", SIMULATIONS)
def test_of_1000_studies_of_other_tasks_with_equal_settings_few_claim_anything(kind: str, record_property):
    false_claims, found = false_claim_rate(kind, 1000), found_worse_rate(kind, 50)
    record_property("false claims, found", f"{false_claims:.3f}, {found:.3f}")
    assert false_claims <= 0.065 and found >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("num_seeds", [1, 3])
def test_of_2000_studies_of_equal_settings_few_claim_anything(num_seeds: int, record_property):
    false_labels = false_label_rate(num_seeds, 2000)
    record_property("studies with a false label", f"{false_labels:.4f}")
    assert false_labels <= 0.065


@pytest.mark.slow
@pytest.mark.parametrize("num_seeds", [1, 3])
def test_a_difference_of_three_bleu_is_found(num_seeds: int, record_property):
    found = found_rate(num_seeds, 300)
    record_property("found", f"{found:.3f}")
    assert found >= 0.8
