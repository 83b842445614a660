"""Holding out documents: whole ones or, where there are few, the end of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from regard.data.group_split.choose import choose_groups
from regard.data.normalization import hash_source
from regard.errors import DataError
from regard.formats.document_texts import DocumentText

MIN_DOCUMENTS = 20
"""With fewer, whole documents would be a poor sample, or most of the text: the end of each is held out instead."""
MAX_SHIFT = 1000
"""Characters by which a border may move back to a line end."""


def hold_out_documents(
    documents: Sequence[DocumentText], seed: int, fractions: Mapping[str, float]
) -> dict[str, list[DocumentText]]:
    """The documents of train and of the sets of these fractions, such as {"dev": 0.05, "test": 0.05}.

    Whole documents, the same text always on one side; or the last parts of each document, contiguous, in the order of
    the fractions: what is interleaved with the training text would be easy to predict.
    """
    sets = _split_whole(documents, seed, fractions) if len(documents) >= MIN_DOCUMENTS else {}
    total = sum(len(document.text) for document in documents)
    if any(_size(sets, name) < fraction * total / 2 for name, fraction in fractions.items()):
        sets = _split_ends(documents, fractions)  # one of the documents is most of the text
    for name in ("train", *fractions):
        if not sets[name]:
            raise DataError(f"{total:,} characters are too few to hold out {name}; give a file for it, or more text")
    return sets


def _split_whole(
    documents: Sequence[DocumentText], seed: int, fractions: Mapping[str, float]
) -> dict[str, list[DocumentText]]:
    hashes = [hash_source(document.text, seed) for document in documents]
    sizes: dict[int, dict[str, int]] = {}
    for document, key in zip(documents, hashes, strict=True):
        sizes.setdefault(key, {"": 0})[""] += len(document.text)
    total = {"": sum(len(document.text) for document in documents)}
    chosen = choose_groups(sizes, sorted(sizes), fractions, total) if len(sizes) > len(fractions) else {}
    sets: dict[str, list[DocumentText]] = {name: [] for name in ("train", *fractions)}
    for document, key in zip(documents, hashes, strict=True):
        sets[chosen.get(key, "train")].append(document)
    return sets


def _split_ends(documents: Sequence[DocumentText], fractions: Mapping[str, float]) -> dict[str, list[DocumentText]]:
    sets: dict[str, list[DocumentText]] = {name: [] for name in ("train", *fractions)}
    for document in documents:
        borders = [0, *_find_borders(document.text, list(fractions.values())), len(document.text)]
        for name, (begin, end) in zip(sets, pairwise(borders), strict=True):
            if document.text[begin:end].strip():
                sets[name].append(replace(document, text=document.text[begin:end]))
    return sets


def _find_borders(text: str, fractions: Sequence[float]) -> Iterator[int]:
    """Where each held-out part begins: at a line, if one begins shortly before."""
    for i in range(len(fractions)):
        border = int(len(text) * (1 - sum(fractions[i:])))
        yield text.rfind("\n", max(0, border - MAX_SHIFT), border) + 1 or border


def _size(sets: Mapping[str, Sequence[DocumentText]], name: str) -> int:
    return sum(len(document.text) for document in sets.get(name, ()))
