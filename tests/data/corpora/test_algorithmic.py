"""Gold pairs and their text form, and the tasks with one right answer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.corpora import CORPORA, GoldPair, Link, algorithmic
from regard.data.corpora.algorithmic import TASKS, Task, alphabet, generate, make_dictionary
from regard.data.corpora.gold import (
    LINK_KINDS,
    read_alignment,
    read_links,
    read_row,
    write_alignment,
    write_links,
    write_rows,
)
from regard.errors import DataError
from regard.languages import split_words

numbers = st.integers(0, 99)
links = st.builds(Link, st.sampled_from(sorted(LINK_KINDS)), numbers, numbers)


# --- text form ---------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(numbers, numbers)))
def test_alignment_round_trip(alignment: list[tuple[int, int]]) -> None:
    assert read_alignment(write_alignment(alignment)) == tuple(alignment)


@given(st.lists(links))
def test_links_round_trip(found: list[Link]) -> None:
    assert read_links(write_links(found)) == tuple(found)


@pytest.mark.parametrize("name", CORPORA)
def test_rows_round_trip(name: str) -> None:
    pairs = list(CORPORA[name](50, 3))
    assert [read_row(row + "\n") for row in write_rows(pairs)] == pairs


def test_text_forms_as_documented() -> None:
    pair = GoldPair("a b", "b a", ((0, 1), (1, 0)), (Link("adjective-noun", 1, 0),), ())
    assert list(write_rows([pair])) == ["a b\tb a\t0-1 1-0\tadjective-noun:1-0\t"]


def test_a_broken_row_is_refused() -> None:
    with pytest.raises(DataError, match="'0:1' in '0:1' is not two word numbers"):
        read_alignment("0:1")
    with pytest.raises(DataError, match="link 'cousin:1-2' is not"):
        read_links("cousin:1-2")
    with pytest.raises(DataError, match="this one has 2"):
        read_row("a\tb")
    with pytest.raises(DataError, match="would break its TSV row"):
        list(write_rows([GoldPair("a\tb", "c", ())]))


# --- tasks -------------------------------------------------------------------------------------------------


def test_registry() -> None:
    assert list(CORPORA) == ["english-french", "copy", "reverse", "sort", "lookup"]
    for make in CORPORA.values():
        first = list(make(20, 1))
        assert first == list(make(20, 1)) != list(make(20, 2))
        assert len({pair.source for pair in first}) == 20


@pytest.mark.parametrize("task", TASKS)
def test_answers_are_right(task: Task) -> None:
    meanings = dict(zip(alphabet(7, "abcdefg"), make_dictionary(7, 5), strict=True))
    answers: dict[str, Callable[[list[str]], list[str]]] = {
        "copy": lambda source: source,
        "reverse": lambda source: source[::-1],
        "sort": sorted,
        "lookup": lambda source: [word for symbol in source for word in meanings[symbol]],
    }
    for pair in generate(task, 300, 2, min_length=2, max_length=5, symbols=7, dictionary_seed=5):
        source = pair.source.split()
        assert 2 <= len(source) <= 5
        assert pair.target.split() == answers[task](source)
        assert split_words(pair.source) == source


@pytest.mark.parametrize("task", TASKS)
def test_alignments_lead_to_the_symbol(task: Task) -> None:
    meanings = dict(zip(alphabet(26, "abcdefghijklmnopqrstuvwxyz"), make_dictionary(26, 0), strict=True))
    for pair in generate(task, 300, 2):
        source, target = pair.source.split(), pair.target.split()
        assert sorted(to for _, to in pair.alignment) == list(range(len(target)))
        assert list(pair.alignment) == sorted(pair.alignment)
        for at, to in pair.alignment:
            assert target[to] in (meanings[source[at]] if task == "lookup" else (source[at],))


def test_sorting_keeps_equals_in_order() -> None:
    every = {pair.source: pair for pair in generate("sort", 8, 0, min_length=3, max_length=3, symbols=2)}
    assert every["b a b"].alignment == ((0, 1), (1, 0), (2, 2))


def test_the_whole_space_is_given_once() -> None:
    sources = [pair.source for pair in generate("copy", 3 + 9 + 27, 4, min_length=1, max_length=3, symbols=3)]
    assert len(set(sources)) == 39


def test_the_dictionary_does_not_hang_on_the_sample() -> None:
    def learned(seed: int) -> dict[str, str]:
        return {pair.source: pair.target for pair in generate("lookup", 26, seed, min_length=1, max_length=1)}

    assert learned(1) == learned(2)
    assert make_dictionary(26, 1) != make_dictionary(26, 2)


def test_many_symbols_get_names_of_one_width() -> None:
    names = alphabet(30, "abcdefghijklmnopqrstuvwxyz")
    assert names == sorted(names) and len(set(names)) == 30 and {len(name) for name in names} == {2}


def test_impossible_orders_are_refused() -> None:
    with pytest.raises(DataError, match="cannot give 5 distinct sources: 4 exist"):
        generate("copy", 5, 0, min_length=2, max_length=2, symbols=2)
    with pytest.raises(DataError, match="need 1 <= min_length <= max_length"):
        generate("copy", 5, 0, min_length=4, max_length=3)
    with pytest.raises(DataError, match="0 symbols"):
        generate("copy", 5, 0, symbols=0)
    with pytest.raises(DataError, match="unknown task 'add'"):
        generate("add", 5, 0)  # type: ignore[arg-type]
    assert list(islice(algorithmic.generate("copy", 0, 0), 1)) == []


def test_names_are_as_short_as_they_can_be() -> None:
    assert alphabet(1, "ab") == ["a"] and alphabet(2, "ab") == ["a", "b"]
    assert alphabet(3, "ab") == ["aa", "ab", "ba"] and alphabet(5, "ab") == ["aaa", "aab", "aba", "abb", "baa"]


def test_what_is_left_of_a_space_comes_in_no_order() -> None:
    """Of one length the second half is drawn from what remains, which is shuffled."""
    sources = [pair.source for pair in generate("copy", 243, 4, min_length=5, max_length=5, symbols=3)]
    last = sources[130:]
    assert last != sorted(last) and last != sorted(last, reverse=True) and len(set(sources)) == 243
