"""Holding out labeled texts and tagged sentences, so that no held-out text is part of a training text, or has one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.group_split.choose import choose_groups
from regard.data.group_split.phrases import PhraseGroups, WordEncoder
from regard.data.label_doctor.parts import MIN_WORDS
from regard.data.normalization import hash_source
from regard.data.store import Array
from regard.formats.labeled import LabeledText, TaggedSentence

TRAIN, DROPPED = "train", "dropped"


@dataclass(frozen=True)
class GroupSplit:
    """The rows of each set, and of those that are in none, because they are parts of texts of different sets."""

    rows: Mapping[str, Array]
    dropped: Array
    num_groups: int


def hold_out_texts(examples: Sequence[LabeledText], seed: int, fractions: Mapping[str, float]) -> GroupSplit:
    """Hold out sets of these fractions, such as {"dev": 0.05}: whole groups of texts that are parts of one another.

    A phrase that is part of texts of two sets is dropped; one of fewer than MIN_WORDS words, which occurs in many texts
    by chance, is in train instead. The split depends on the texts and the seed, not on the order of the texts.
    """
    texts = [f"{example.text} {example.text_pair}" if example.text_pair else example.text for example in examples]
    encode = WordEncoder()
    phrases = PhraseGroups([encode(text) for text in texts])
    groups = {number: Counter[str]() for number in phrases}
    names: dict[int, str] = {}
    for text, number, example in zip(texts, phrases.numbers.tolist(), examples, strict=True):
        group = int(phrases.groups[number])
        if group >= 0:
            groups[group].update(_labels_of_text(example))
            names.setdefault(number, text)
    order = sorted(groups, key=lambda group: hash_source(names[group], seed))
    totals = Counter(label for example in examples for label in _labels_of_text(example))
    chosen = choose_groups(groups, order, fractions, totals)
    sets = _assign_texts(phrases, chosen, list(fractions))
    return collect_split([sets[number] for number in phrases.numbers.tolist()], list(fractions), len(groups))


def _labels_of_text(example: LabeledText) -> Sequence[str]:
    return example.labels or ("",)


def _assign_texts(phrases: PhraseGroups, chosen: Mapping[int, str], names: Sequence[str]) -> list[str]:
    """The set of each distinct text."""
    sets = [chosen.get(group, TRAIN) for group in phrases.groups.tolist()]
    shared = np.flatnonzero(phrases.groups < 0).tolist()
    counts = {name: phrases.count_containers(g for g, n in chosen.items() if n == name) for name in names}
    counts[TRAIN] = phrases.num_containers - sum(counts.values())
    for number in shared:
        containing_sets = [name for name, values in counts.items() if values[number]]
        is_short = phrases.sizes[number] < MIN_WORDS
        sets[number] = containing_sets[0] if len(containing_sets) == 1 else TRAIN if is_short else DROPPED
    return sets


def hold_out_sentences(sentences: Sequence[TaggedSentence], seed: int, fractions: Mapping[str, float]) -> GroupSplit:
    """Hold out sets of these fractions: whole sentences, those with the same words together."""
    hashes = [hash_source(" ".join(sentence.words), seed) for sentence in sentences]
    groups: dict[int, Counter[str]] = {}
    totals: Counter[str] = Counter()
    for sentence, key in zip(sentences, hashes, strict=True):
        labels = _labels_of_sentence(sentence)
        groups.setdefault(key, Counter()).update(labels)
        totals.update(labels)
    chosen = choose_groups(groups, sorted(groups), fractions, totals)
    return collect_split([chosen.get(key, TRAIN) for key in hashes], list(fractions), len(groups))


def _labels_of_sentence(sentence: TaggedSentence) -> Sequence[str]:
    """What is to be distributed evenly: the sentence itself, and the kinds of its entities."""
    return ["", *(tag.partition("-")[2] for tag in sentence.tags if "-" in tag)]


def collect_split(sets: Sequence[str], names: Sequence[str], num_groups: int) -> GroupSplit:
    """The rows of each set, from the set of each row."""
    of_row = np.array(sets)
    rows = {name: np.flatnonzero(of_row == name) for name in (TRAIN, *names)}
    return GroupSplit(rows, np.flatnonzero(of_row == DROPPED), num_groups)
