"""Passages: all of the text, in parts that fit, cut where a reader would cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.documents.passages import cut_passages
from regard.data.tokenizers.text_tokenizer import SentencePieceText
from regard.data.tokenizers.tokenizer import train_tokenizer

WORDS = ["the", "cat", "sees", "a", "dog.", "It", "rains", "in", "Paris!", "Qu'est-ce", "日本語日本語日本語"]
TOKENIZER = SentencePieceText(train_tokenizer([" ".join(WORDS)] * 7, 320, "bpe"))
TEXT = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from([" ", "  ", "\n", "\n\n", "\r\n", ". "]))).map(
    lambda pairs: "".join(word + blank for word, blank in pairs)
)


@settings(deadline=None, max_examples=200)
@given(st.one_of(TEXT, st.text(st.characters(exclude_categories=["Cs"]))), st.integers(8, 43))
def test_passages_fit_and_have_all_of_the_text(text, max_length):
    passages = cut_passages(text, TOKENIZER, max_length)
    assert "".join("".join(passages).split()) == "".join(text.split())
    assert all(len(ids) <= max_length for ids in TOKENIZER.encode(passages, 10**6))
    assert all(passage == passage.strip() != "" for passage in passages)


def count(text: str) -> int:
    return len(TOKENIZER.encode([text], 10**6)[0])


def test_a_text_that_fits_is_one_passage():
    text = "the cat sees\n\na dog. It rains"
    assert cut_passages(text, TOKENIZER, count(text)) == [text]
    assert cut_passages(text, TOKENIZER, count(text) - 1) == ["the cat sees", "a dog. It rains"]


def test_lines_are_kept_whole_then_sentences_then_words():
    line = "the cat sees a dog. It rains in Paris! It sees a cat"
    text = "\n".join([line] * 5)
    assert set(cut_passages(text, TOKENIZER, count(line))) == {line}
    assert cut_passages(line, TOKENIZER, count(line) - 1, "en")[0] == "the cat sees a dog. It rains in Paris!"
    words = " ".join(["the cat sees"] * 11)
    assert all(set(passage.split()) <= {"the", "cat", "sees"} for passage in cut_passages(words, TOKENIZER, 8))


@pytest.mark.parametrize("max_length", [8, 17])
def test_passages_are_about_as_long_as_they_may_be(max_length):
    text = "\n".join(["the cat sees", "a dog.", "It rains"] * 31)
    passages = cut_passages(text, TOKENIZER, max_length)
    assert sum(map(count, passages)) / len(passages) > 0.6 * max_length
