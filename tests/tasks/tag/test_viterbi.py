"""The best allowed path is the best of all allowed paths."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.tasks.tag.tags import TagSet
from regard.tasks.tag.viterbi import viterbi

TAGS = TagSet.of([["B-x", "I-x", "O"], ["B-y"]])
K = len(TAGS.tags)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_it_equals_brute_force(seed: int, length: int):
    rng = np.random.default_rng(seed)
    log_probs = np.log(rng.dirichlet(np.full(K, 0.5), length) + 1e-9)
    transitions, starts = TAGS.transitions, TAGS.starts
    if seed % 2:  # any rules
        transitions, starts = rng.random((K, K)) < 0.7, rng.random(K) < 0.7
        transitions[0], starts[0] = True, True
        transitions[:, 0] = True
    best = max(path_score(path, log_probs, transitions, starts) for path in itertools.product(range(K), repeat=length))
    path = viterbi(log_probs, transitions, starts)
    assert path_score(path, log_probs, transitions, starts) == pytest.approx(best)


def path_score(path, log_probs, transitions, starts) -> float:
    allowed = starts[path[0]] and all(transitions[a, b] for a, b in itertools.pairwise(path))
    return sum(row[tag] for row, tag in zip(log_probs, path, strict=True)) if allowed else -np.inf


def test_without_rules_it_is_the_best_tag_of_each_word():
    log_probs = np.random.default_rng(3).normal(size=(11, 7))
    assert viterbi(log_probs, np.ones((7, 7), bool), np.ones(7, bool)) == log_probs.argmax(1).tolist()
    assert viterbi(log_probs[:0], np.ones((7, 7), bool), np.ones(7, bool)) == []


def test_a_certain_word_is_never_passed_over():
    certain = np.where(np.array(TAGS.tags) == "O", 0.0, -np.inf)
    inside = np.where(np.array(TAGS.tags) == "I-x", -0.001, -20.0)
    begin = np.where(np.array(TAGS.tags) == "B-x", -0.001, -20.0)
    path = viterbi(np.stack((certain, begin, certain, inside)), TAGS.transitions, TAGS.starts)
    assert [TAGS.tags[i] for i in path][:3] == ["O", "B-x", "O"] and TAGS.tags[path[3]] != "I-x"
