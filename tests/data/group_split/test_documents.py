"""Documents on one side each or, if they are few, with their beginnings and ends held out."""

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.group_split import hold_out_documents
from regard.data.group_split.documents import MAX_SHIFT, MIN_DOCUMENTS
from regard.errors import DataError
from regard.formats.document_texts import DocumentText

FRACTIONS = {"dev": 0.05, "test": 0.1}


def texts(sets) -> dict[str, list[str]]:
    return {name: [document.text for document in documents] for name, documents in sets.items()}


def test_many_documents_stay_whole_and_equal_ones_together():
    documents = [DocumentText(f"document {i % 89} " + "word " * (i % 89)) for i in range(97)]
    sets = texts(hold_out_documents(documents, 3, FRACTIONS))
    assert sorted(chain.from_iterable(sets.values())) == sorted(document.text for document in documents)
    assert not set(sets["dev"]) & set(sets["train"]) and not set(sets["test"]) & {*sets["train"], *sets["dev"]}
    size = sum(len(document.text) for document in documents)
    for name, fraction in FRACTIONS.items():
        assert sum(map(len, sets[name])) == pytest.approx(fraction * size, rel=0.2)
    assert texts(hold_out_documents(documents[::-1], 3, FRACTIONS))["dev"] == sets["dev"][::-1]
    assert set(texts(hold_out_documents(documents, 4, FRACTIONS))["dev"]) != set(sets["dev"])


@settings(deadline=None)
@given(st.lists(st.integers(1, 7), min_size=200, max_size=400), st.sampled_from([1, MIN_DOCUMENTS - 1]))
def test_beginning_and_end_of_few_documents_are_held_out_in_one_part_each(lengths, count):
    text = "\n".join("x" * length for length in lengths)
    sets = texts(hold_out_documents([DocumentText(text)] * count, 1, FRACTIONS))
    assert all(len(parts) == count for parts in sets.values())
    for train, dev, test in zip(*sets.values(), strict=True):
        assert dev + train + test == text
        assert train.endswith("\n") and dev.endswith("\n")
        assert -8 <= len(dev) - 0.05 * len(text) <= 0
        assert 0 <= len(test) - 0.1 * len(text) <= 9


def test_a_text_without_lines_is_cut_where_the_fraction_says():
    text = "x" * 7919
    (train,), (dev,) = texts(hold_out_documents([DocumentText(text)], 1, {"dev": 0.1})).values()
    assert (len(train), len(dev)) == (7127, 792)
    text = "\n" + "x" * 10 * MAX_SHIFT
    assert len(texts(hold_out_documents([DocumentText(text)], 1, {"dev": 0.1}))["dev"][0]) == MAX_SHIFT + 1


def test_a_novel_among_notes_is_not_left_to_one_side():
    documents = [DocumentText("a novel " * 10_000), *(DocumentText(f"note {i}") for i in range(30))]
    sets = texts(hold_out_documents(documents, 1, {"dev": 0.1}))
    assert sum(map(len, sets["dev"])) == pytest.approx(8_000, rel=0.1)


def test_too_little_text_is_refused():
    with pytest.raises(DataError, match="a text of 1 character is too short to hold out train"):
        hold_out_documents([DocumentText("x")], 1, {"dev": 0.5})
