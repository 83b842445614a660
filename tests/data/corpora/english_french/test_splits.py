"""The four sets of the English-French corpus: disjoint, and what is reserved is never seen before."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

from regard.data.corpora import english_french
from regard.data.corpora.english_french import Splits, combinations, generate, is_reserved, lexicon, split
from regard.errors import DataError
from regard.languages import split_words

NOUNS = {form: noun for noun in lexicon.NOUNS for form in (noun.english, noun.english_plural)}


@pytest.fixture(scope="module")
def splits() -> Splits:
    return split(train=5_000, dev=200, test=200, compositional=150, seed=7)


def test_splits_share_no_source(splits: Splits) -> None:
    parts = [splits.train, splits.dev, splits.test, splits.compositional]
    assert [len(part) for part in parts] == [5_000, 200, 200, 150]
    assert len({pair.source for part in parts for pair in part}) == 5_550


def test_reserved_combinations_are_kept_for_the_end(splits: Splits) -> None:
    for pair in (*splits.train, *splits.dev, *splits.test):
        assert not any(map(is_reserved, combinations(pair))), pair.source
    for pair in splits.compositional:
        assert any(map(is_reserved, combinations(pair))), pair.source


def test_compositional_words_are_known(splits: Splits) -> None:
    for side in ("source", "target"):
        known = {word.lower() for pair in splits.train for word in split_words(getattr(pair, side))}
        for pair in splits.compositional:
            assert {word.lower() for word in split_words(getattr(pair, side))} <= known


def test_combinations_see_what_a_reader_sees() -> None:
    seen = {pair.source: combinations(pair) for pair in generate(3_000, 1)}
    for source, found in seen.items():
        for adjective, noun in re.findall(r"\b(red|blue|old|famous|heavy) (dog|kings|hats?|tables?|box)\b", source):
            assert ("adjective", adjective, NOUNS[noun].english) in found
        for verb, noun in re.findall(
            r"\b(eat|eats|ate|eating) (?:the|an?|some) (apples?|eggs?|cakes?|bread)\b", source
        ):
            assert ("verb", "eat", NOUNS[noun].english) in found, (source, verb)


def test_about_one_combination_in_fifteen_is_reserved() -> None:
    every = [("adjective", a.english, n.english) for a, n in product(lexicon.ADJECTIVES, lexicon.NOUNS)]
    every += [("verb", v.english, n.english) for v in lexicon.TRANSITIVE for n in lexicon.nouns(v.objects)]
    assert 0.05 < sum(map(is_reserved, every)) / len(every) < 0.08


def test_a_split_that_cannot_be_is_refused() -> None:
    with pytest.raises(DataError, match="none may be negative"):
        split(1, -1, 1, 1, seed=0)
    with pytest.raises(DataError, match="needs training pairs"):
        split(0, 1, 1, 1, seed=0)
    with pytest.raises(DataError, match="use more training pairs"):
        split(1, 0, 0, 1, seed=0)
    with pytest.raises(DataError, match="cannot generate -1 pairs"):
        generate(-1, seed=0)


def test_a_grammar_that_dries_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    only = next(generate(1, 0))
    monkeypatch.setattr(english_french, "draft_pair", lambda generator: only)
    with pytest.raises(DataError, match="no new sentence in 50000 drafts after 1"):
        list(generate(2, 0))


def test_a_table_has_a_header_for_all_entries_up_to_the_next() -> None:
    table = "\n a : b c; d\n  e\nf: g\n"
    assert list(lexicon._entries(table)) == [("a", ["b", "c"]), ("a", ["d"]), ("a", ["e"]), ("f", ["g"])]


def test_words_count_without_case_and_once_for_each_language() -> None:
    (pair,) = generate(1, 3)
    changed = replace(pair, source="The Table", target="La Table")
    assert english_french._vocabulary(changed) == {"the", "table", "fr la", "fr table"}


def test_patience_ends_after_so_many_drafts_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = list(generate(2, 3))
    drafts = [pairs[0], None, pairs[0], pairs[1], None, None, pairs[0], None]
    left = iter(drafts)
    monkeypatch.setattr(english_french, "_PATIENCE", 3)
    monkeypatch.setattr(english_french, "draft_pair", lambda generator: next(left))
    stream = english_french._stream(1)
    assert [next(stream), next(stream)] == pairs
    with pytest.raises(DataError, match="no new sentence in 3 drafts after 2; ask for fewer pairs"):
        next(stream)
    assert len(list(left)) == 1


@pytest.mark.parametrize("sizes", [(-1, 1, 1, 0), (1, -1, 1, 0), (1, 1, -1, 0), (1, 1, 1, -1)])
def test_no_size_is_negative_and_reserved_words_need_training(sizes: tuple[int, int, int, int]) -> None:
    with pytest.raises(DataError, match="none may be negative"):
        split(*sizes, seed=1)
    with pytest.raises(DataError, match="needs training pairs"):
        split(0, 1, 1, 1, seed=1)
    empty = split(0, 0, 0, 0, seed=1)
    assert (empty.train, empty.dev, empty.test, empty.compositional) == ([], [], [], [])
    with pytest.raises(DataError, match="cannot generate -1 pairs"):
        generate(-1, 1)
