"""Numbers that documents and papers give: what is measured depends on them."""

import inspect

from regard.inspection import embeddings, example, planted
from regard.inspection.flow import attribution, decompose, rollout
from regard.inspection.heads import copying, faithfulness, patterns, roles
from regard.inspection.pruning import gates, order


def test_limits_that_users_are_told_of():
    assert (example.MAX_TOKENS, rollout.MAX_FLOW_TOKENS, decompose.MIN_POSITION_SENTENCES) == (512, 32, 12)
    assert (patterns.LOCAL_WINDOW, patterns.NUM_FREQUENT) == (2, 500)
    assert (roles.MIN_LIFT, roles.BASELINE_MARGIN, roles.NEAR_BEST_RATIO, roles.OFFSET_MARGIN) == (
        0.35,
        0.15,
        0.75,
        0.10,
    )
    assert (roles.NUM_PROBES, roles.PROBE_LENGTH, roles.BASELINE_SENTENCES) == (12, 11, 64)
    assert (embeddings.NUM_PERMUTATIONS, attribution.NUM_PERMUTATIONS, faithfulness.NUM_PERMUTATIONS) == (999, 7, 7)
    assert faithfulness.MAX_PROBABILITIES == 2**24  # of which fewer permutations follow for many tokens
    assert (planted.SENTENCE_LENGTH, planted.NUM_SENTENCES, planted.PATTERN_WEIGHT) == (17, 40, 0.85)


def test_numbers_of_papers():
    """Louizos et al. 2018 as Voita et al. 2019 use them; Michel et al. 2019."""
    assert (gates.TEMPERATURE, gates.STRETCH_LOW, gates.STRETCH_HIGH, gates.INITIAL_LOG_ALPHA) == (0.33, -0.1, 1.1, 2)
    assert order.PRUNED_FRACTION == 0.1


def test_what_is_random_has_the_same_first_seed_everywhere():
    for function in (
        gates.learn_gates,
        copying.max_random_copying,
        patterns.repeated_random_probes,
        embeddings.permutation_p_value,
        embeddings.collect_word_vectors,
    ):
        assert inspect.signature(function).parameters["seed"].default == 1, function
    assert inspect.signature(gates.learn_gates).parameters["learning_rate"].default == 0.1
    assert inspect.signature(rollout.add_residual).parameters["mixing_ratio"].default == 0.5
