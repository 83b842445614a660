"""Holding out documents: whole ones or, where there are few, a part at the end of each, and one at its beginning."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from regard.data.group_split.choose import choose_groups
from regard.data.normalization import hash_source
from regard.errors import DataError
from regard.formats.document_texts import DocumentText

MIN_DOCUMENTS = 20
"""With fewer, whole documents would be a poor sample, or most of the text: a part of each is held out instead."""
MAX_SHIFT = 1000
"""Characters by which a border may move back to the beginning of a line."""


def hold_out_documents(
    documents: Sequence[DocumentText], seed: int, fractions: Mapping[str, float]
) -> dict[str, list[DocumentText]]:
    """The documents of train and of the sets of these fractions, such as {"dev": 0.05, "test": 0.05}.

    Whole documents, the same text always on one side; or contiguous parts of each document, since what is interleaved
    with the training text would be easy to predict. The last set is the end of a document and follows the training
    text, as is usual for language models; sets before it are the beginning.
    """
    sets = _split_whole(documents, seed, fractions) if len(documents) >= MIN_DOCUMENTS else {}
    total = sum(len(document.text) for document in documents)
    if any(_size(sets, name) < fraction * total / 2 for name, fraction in fractions.items()):
        sets = _split_parts(documents, fractions)  # one of the documents is most of the text
    for name in ("train", *fractions):
        if not sets[name]:
            count = f"{total:,} character{'s' * (total != 1)}"
            raise DataError(f"a text of {count} is too short to hold out {name}; give a file for it, or more text")
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


def _split_parts(documents: Sequence[DocumentText], fractions: Mapping[str, float]) -> dict[str, list[DocumentText]]:
    sets: dict[str, list[DocumentText]] = {name: [] for name in ("train", *fractions)}
    *first, last = fractions
    for document in documents:
        borders = [0, *_find_borders(document.text, [*fractions.values()]), len(document.text)]
        for name, (begin, end) in zip((*first, "train", last), pairwise(borders), strict=True):
            if document.text[begin:end].strip():
                sets[name].append(replace(document, text=document.text[begin:end]))
    return sets


def _find_borders(text: str, fractions: Sequence[float]) -> Iterator[int]:
    """Where the parts after the first begin: at a line, if one begins shortly before."""
    *first, last = fractions
    for share in (*accumulate(first), 1 - last):
        border = int(len(text) * share)
        yield text.rfind("\n", max(0, border - MAX_SHIFT), border) + 1 or border


def _size(sets: Mapping[str, Sequence[DocumentText]], name: str) -> int:
    return sum(len(document.text) for document in sets.get(name, ()))
