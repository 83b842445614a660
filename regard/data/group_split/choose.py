"""Choosing groups for dev and test: as large as wanted, with the labels in the proportions of the whole."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from regard.errors import DataError

Group = TypeVar("Group", bound=Hashable)
Weights = Mapping[str, int]
"""How much of each label a group has."""


def choose_groups(
    groups: Mapping[Group, Weights], order: Sequence[Group], fractions: Mapping[str, float], totals: Weights
) -> dict[Group, str]:
    """The set of each group that is held out; a set has its fraction of the total weight of every label.

    Groups are taken in the order that is passed, each if it brings the labels of its set closer to their targets:
    if it reduces Σ (weight - target)² / target. So large groups are passed over, and rare labels stay in train.
    """
    chosen: dict[Group, str] = {}
    for name, fraction in fractions.items():
        targets = {label: fraction * total for label, total in totals.items()}
        rest = [group for group in order if group not in chosen]
        members = _fill(groups, rest, targets)
        if not members and len(rest) > 1:  # a set of few texts has at least one
            members = [min(rest, key=lambda group: _cost(groups[group], Counter(), targets))]
        if not members or len(members) == len(rest):
            raise DataError(
                f"{len(groups)} groups of texts are too few to hold out {name}; give a file for it, or more texts"
            )
        chosen |= dict.fromkeys(members, name)
    return chosen


def _fill(groups: Mapping[Group, Weights], order: Sequence[Group], targets: Mapping[str, float]) -> list[Group]:
    weights: Counter[str] = Counter()
    members = []
    missing = sum(targets.values())
    for group in order:
        if missing <= 0:
            break
        if _cost(groups[group], weights, targets) < 0:
            weights.update(groups[group])
            missing -= sum(groups[group].values())
            members.append(group)
    return members


def _cost(group: Weights, weights: Counter[str], targets: Mapping[str, float]) -> float:
    """How much farther from its targets a set is with a group than without it."""
    return sum(
        weight * (2 * (weights[label] - targets[label]) + weight) / targets[label] for label, weight in group.items()
    )
