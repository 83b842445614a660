"""Text and ids."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.tokenizer import BOS, EOS, PAD, Tokenizer, train
from regard.errors import DataError

TEXTS = ["the cat sees the dog", "le chat voit le chien", "l'été de l'élève", "a b c d e f g"] * 5


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train(TEXTS, 320, "bpe")


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_characters="\u2581", exclude_categories=["Cs"])))
def test_what_is_encoded_comes_back(text: str):
    tokenizer = SHARED
    assert tokenizer.decode(tokenizer.encode([text])[0]) == text


SHARED = train(TEXTS, 320, "bpe")


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_characters="\u2581", exclude_categories=["Cs"]), min_size=1))
def test_spans_cover_the_text_in_order(text: str):
    spans = SHARED.spans(text, SHARED.encode([text])[0])
    covered = {i for a, b in spans for i in range(a, b)}
    assert covered == set(range(len(text)))
    assert spans == sorted(spans)


def test_spans_are_the_pieces_themselves(tokenizer: Tokenizer):
    text = "the cat voit l'été"
    ids = tokenizer.encode([text])[0]
    for piece, (a, b) in zip(tokenizer.pieces(ids), tokenizer.spans(text, ids), strict=True):
        assert text[a:b] == piece.removeprefix("▁") or text[a:b] == piece.replace("▁", " ")


def test_a_vocabulary_that_the_text_cannot_fill_is_lowered():
    small = train(["ab ba"] * 3, 8000, "bpe")
    assert 256 < small.size < 300
    assert small.decode(small.encode(["ab 日"])[0]) == "ab 日"


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_sampling_varies_and_repeats_with_its_seed(kind: str):
    tokenizer = train(TEXTS, 320, kind)
    plain = tokenizer.encode(TEXTS)
    one, same, other = (tokenizer.sample(TEXTS, 0.3, seed) for seed in (5, 5, 6))
    assert one == same != other and one != plain
    assert [tokenizer.decode(ids) for ids in one] == TEXTS


def test_special_ids_are_where_everyone_expects_them(tokenizer: Tokenizer):
    assert tokenizer.pieces([0, 1, 2, 3]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.decode([BOS, *tokenizer.encode(["the cat"])[0], EOS, PAD]) == "the cat"


@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_no_text_no_tokenizer(texts):
    with pytest.raises(DataError, match="no text to learn a vocabulary from"):
        train(texts, 320, "bpe")
