"""A model beside its opponents, in one sentence."""

from collections.abc import Mapping, Sequence

from regard.baselines import OpponentResult
from regard.metrics import Score


def describe_opponents(scores: Mapping[str, Score], opponents: Sequence[OpponentResult], measure: str) -> str:
    """The main score, and whether the model differs from the best opponent by a paired test."""
    if measure not in scores:
        measure = next(iter(scores))
    main = scores[measure]
    hint = " (lower is better)" if main.lower_is_better else ""
    sentence = f"{main.name} {main.format_margin(main.digits)}{hint}"
    scored = [one for one in opponents if measure in one.scores]
    if not scored:
        return f"{sentence}."
    sign = -1 if main.lower_is_better else 1
    best = max(scored, key=lambda one: sign * one.scores[measure].value)
    test = best.tests.get(measure)
    rival = f"the {best.scores[measure].value:.{main.digits}f} of the best cheap opponent, {best.name}"
    if test is None:
        relation = "better than" if main.is_better_than(best.scores[measure]) else "no better than"
        return f"{sentence}, {relation} {rival}."
    p = min(1.0, max(test.p_bootstrap, test.p_randomized))
    if p >= 0.05:
        return f"{sentence}: no significant difference from {rival}; p = {p:.3f}."
    relation = "better" if (test.difference > 0) is not main.lower_is_better else "worse"
    return f"{sentence}: significantly {relation} than {rival}; p = {p:.3f}."
