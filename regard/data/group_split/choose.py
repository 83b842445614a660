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

    Groups are taken in the order that is passed, each if it brings all of its labels closer to their targets. So large
    groups are passed over, and rare labels stay in train.
    """
    chosen: dict[Group, str] = {}
    for name, fraction in fractions.items():
        targets = {label: fraction * total for label, total in totals.items()}
        rest = [group for group in order if group not in chosen]
        members = _fill(groups, rest, targets)
        if not members and len(rest) > 1:  # a set of few texts has at least one
            members = [min(_spare(groups, rest, name), key=lambda group: sum(groups[group].values()))]
        if not members or len(members) == len(rest):
            count = "1 group of texts is" if len(groups) == 1 else f"{len(groups)} groups of texts are"
            raise DataError(f"{count} too few to hold out {name}; give a file for it, or more texts")
        chosen |= dict.fromkeys(members, name)
    return chosen


def _spare(groups: Mapping[Group, Weights], rest: Sequence[Group], name: str) -> list[Group]:
    """The groups of the rest whose labels others of it have, too: what only a held-out text has is never learned."""
    totals: Counter[str] = Counter()
    for group in rest:
        totals.update(groups[group])
    spare = [group for group in rest if all(totals[label] > weight for label, weight in groups[group].items())]
    if not spare:
        raise DataError(
            f"no text can be held out for {name}: each has a label that no other text has. Check which column the "
            f"label is, or give a file for {name}"
        )
    return spare


def _fill(groups: Mapping[Group, Weights], order: Sequence[Group], targets: Mapping[str, float]) -> list[Group]:
    weights: Counter[str] = Counter()
    members = []
    for group in order:
        if _improves(groups[group], weights, targets):
            weights.update(groups[group])
            members.append(group)
    return members


def _improves(group: Weights, weights: Counter[str], targets: Mapping[str, float]) -> bool:
    """Whether |weight - target| of each label of a group is smaller with the group than without it."""
    return all(2 * (targets[label] - weights[label]) > weight for label, weight in group.items())
