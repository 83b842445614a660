"""A model beside its opponents, in one sentence."""

from collections.abc import Mapping, Sequence

from regard.baselines import OpponentResult
from regard.metrics import Score


def describe_opponents(scores: Mapping[str, Score], opponents: Sequence[OpponentResult], measure: str) -> str:
    """The main score, and whether the model differs from the best opponent by a paired test."""
    if measure not in scores:
        measure = next(iter(scores))
    main = scores[measure]
    sentence = f"{main.name} {main.format_margin(1)}"
    scored = [one for one in opponents if measure in one.scores]
    if not scored:
        return f"{sentence}."
    best = max(scored, key=lambda one: one.scores[measure].value)
    test = best.tests.get(measure)
    rival = f"the {best.scores[measure].value:.1f} of the best cheap opponent, {best.name}"
    if test is None:
        return f"{sentence}; {rival} stands beside it."
    p = min(1.0, max(test.p_bootstrap, test.p_randomized))
    if p >= 0.05:
        return f"{sentence}: no significant difference from {rival} (p = {p:.3f})."
    relation = "significantly above" if test.difference > 0 else "significantly below"
    return f"{sentence}: {relation} {rival} (p = {p:.3f})."
