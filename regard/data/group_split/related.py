"""Holding out texts that belong together: no held-out text is on the side of training, too."""

from collections.abc import Mapping, Sequence

from regard.data.group_split.choose import choose_groups
from regard.data.group_split.labeled import TRAIN, GroupSplit, collect_split
from regard.data.normalization import hash_source


def hold_out_related(examples: Sequence[Sequence[str]], seed: int, fractions: Mapping[str, float]) -> GroupSplit:
    """Hold out sets of these fractions, such as {"dev": 0.05}, of examples that have several texts each.

    Examples with a text in common are in one group, and so are those that are connected by others. The split depends on
    the texts and the seed, not on the order of the examples.
    """
    parents: dict[int, int] = {}
    hashes = [[hash_source(text, seed) for text in texts] for texts in examples]
    for keys in hashes:
        for key in keys:
            _join(parents, keys[0], key)
    groups_of_examples = [_find(parents, keys[0]) for keys in hashes]
    sizes: dict[int, dict[str, int]] = {}
    for group in groups_of_examples:
        sizes.setdefault(group, {"": 0})[""] += 1
    order = sorted(sizes, key=lambda group: hash_source(str(group), seed))  # the smallest hash of many is small
    chosen = choose_groups(sizes, order, fractions, {"": len(examples)})
    return collect_split([chosen.get(group, TRAIN) for group in groups_of_examples], list(fractions), len(sizes))


def _find(parents: dict[int, int], key: int) -> int:
    """The number of the group of a text: the smallest hash of all its texts."""
    parents.setdefault(key, key)
    while parents[key] != key:
        parents[key] = parents[parents[key]]
        key = parents[key]
    return key


def _join(parents: dict[int, int], first: int, second: int) -> None:
    low, high = sorted((_find(parents, first), _find(parents, second)))
    parents[high] = low
