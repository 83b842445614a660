"""The most probable sequence of tags in which every tag may follow the one before it."""

import numpy as np

from regard.data.store import Array


def viterbi(log_probs: Array, transitions: Array, starts: Array) -> list[int]:
    """The best path through log-probabilities (T, K) by allowed transitions (K, K) and beginnings (K,).  Viterbi 1967.

    The first of several paths that are equally probable.
    """
    if not len(log_probs):
        return []
    penalties = np.where(transitions, 0.0, -np.inf)  # (K, K)
    scores = np.where(starts, log_probs[0], -np.inf)  # (K,) of the best path to each tag
    previous_tags = []
    for row in log_probs[1:]:
        paths = scores[:, None] + penalties  # (K, K)
        previous_tags.append(paths.argmax(axis=0))
        scores = paths.max(axis=0) + row
    path = [int(scores.argmax())]
    for pointers in reversed(previous_tags):
        path.append(int(pointers[path[-1]]))
    return path[::-1]
