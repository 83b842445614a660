"""Passages cover a document, fit the encoder's window, and overlap."""

import itertools

import pytest

from regard.retrieval.dense.passages import split_passages
from tests.retrieval.toy import token_spans


@pytest.mark.parametrize("window", [1, 3, 7, 29, 31])
def test_passages_cover_the_text_and_fit_the_window(window: int):
    text = " ".join(f"word{n}" for n in range(29)) + "."
    passages = split_passages(text, token_spans(text), window)
    assert set().union(*(range(*span) for span in passages)) >= {i for i, char in enumerate(text) if char != " "}
    for begin, end in passages:
        assert 0 < len(text[begin:end].split()) <= window and (begin == 0 or text[begin - 1] == " ")
    assert (len(passages) == 1) == (window >= 29)
    if 3 < window < 29:
        assert all(one[1] > other[0] for one, other in itertools.pairwise(passages))


def test_a_passage_begins_with_a_word_even_where_tokens_do_not():
    text = " ".join(["abcdef"] * 11)
    tokens = [(a + i, a + i + 2) for a, _ in token_spans(text) for i in (0, 2, 4)]  # three of each word
    starts = [begin for begin, _ in split_passages(text, tokens, 11)]
    assert len(starts) > 2 and all(begin == 0 or text[begin - 1] == " " for begin in starts)
    unspaced = text.replace(" ", "x")  # no word to begin with: every nine tokens
    assert [begin for begin, _ in split_passages(unspaced, tokens, 11)] == [tokens[n][0] for n in (0, 9, 18, 27)]


def test_short_and_blank_texts():
    assert split_passages("two words", token_spans("two words"), 2) == [(0, 9)]
    assert split_passages("", [], 5) == split_passages(" \n", [], 5) == []
    assert split_passages("\u200b", [], 5) == [(0, 1)]  # no token, but no blank either


def test_tokens_that_cover_nothing_do_not_count():
    spans = [(0, 0), *token_spans("a b c"), (0, 0)]
    assert split_passages("a b c", spans, 3) == [(0, 5)]
