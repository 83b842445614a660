"""Text and ids."""

import math
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, Tokenizer, train_tokenizer
from regard.errors import DataError

TEXTS = ["the cat sees the dog", "le chat voit le chien", "l'été de l'élève", "a b c d e f g"] * 5


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS, 320, "bpe")


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_characters="\u2581", exclude_categories=["Cs"])))
def test_what_is_encoded_comes_back(text: str):
    tokenizer = SHARED
    assert tokenizer.decode(tokenizer.encode([text])[0]) == text


SHARED = train_tokenizer(TEXTS, 320, "bpe")


def test_a_text_has_the_same_ids_alone_among_few_and_among_many(tokenizer: Tokenizer):
    texts = ["the cat", "", " l'été ", "日本\u2003x", "a\n\tb"]
    few, many = tokenizer.encode(texts), tokenizer.encode(texts * 7)
    assert few * 7 == many and [tokenizer.encode([text])[0] for text in texts] == few


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
    for token, (a, b) in zip(tokenizer.convert_ids_to_tokens(ids), tokenizer.spans(text, ids), strict=True):
        assert text[a:b] == token.removeprefix("▁") or text[a:b] == token.replace("▁", " ")


def test_a_vocabulary_that_the_text_cannot_fill_is_lowered():
    small = train_tokenizer(["ab ba"] * 3, 8000, "bpe")
    assert 256 < small.vocab_size < 300
    assert small.decode(small.encode(["ab 日"])[0]) == "ab 日"


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_sampling_varies_and_repeats_with_its_seed(kind: str):
    tokenizer = train_tokenizer(TEXTS, 320, kind)
    plain = tokenizer.encode(TEXTS)
    one, same, other = (tokenizer.sample_segmentation(plain, 0.3, seed) for seed in (5, 5, 6))
    assert one == same != other and one != plain
    assert [tokenizer.decode(ids) for ids in one] == TEXTS
    assert tokenizer.sample_segmentation(plain, 0.0, 5) == plain
    apart = tokenizer.sample_segmentation(plain, 1.0, 5)
    assert [tokenizer.decode(ids) for ids in apart] == TEXTS
    single = [len(token) == 1 for ids in apart for token in tokenizer.convert_ids_to_tokens(ids)]
    assert all(single) or (kind == "unigram" and any(single))


def test_sampling_is_the_same_in_every_process():
    code = (
        "from regard.data.tokenizers.tokenizer import train_tokenizer;"
        "t = train_tokenizer(['the cat sees the dog'] * 9, 300, 'bpe');"
        "print(t.sample_segmentation(t.encode(['the cat sees the dog'] * 5), 0.4, 7))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout and len(set(eval(runs[0].stdout)[0])) > 1


def test_more_letters_than_pieces_raise_the_vocabulary():
    letters = "".join(chr(0x4E00 + i) for i in range(900))
    tokenizer = train_tokenizer([letters[i : i + 9] for i in range(0, 900, 3)], 400, "bpe")
    assert tokenizer.vocab_size > 900 and tokenizer.decode(tokenizer.encode([letters])[0]) == letters


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_a_text_of_few_words_in_many_letters_has_a_tokenizer(model_type: str):
    """The size that its letters seem to need is more than the text has."""
    texts = [f"{chr(0x4E00 + n)} {chr(0x4E01 + n)} x" for n in range(211)]
    tokenizer = train_tokenizer(texts, 280, model_type)
    assert tokenizer.vocab_size > 280 + 100
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(texts)] == texts


def test_special_ids_are_where_everyone_expects_them(tokenizer: Tokenizer):
    assert tokenizer.convert_ids_to_tokens([0, 1, 2, 3]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.decode([BOS, *tokenizer.encode(["the cat"])[0], EOS, PAD]) == "the cat"


@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_no_text_no_tokenizer(texts):
    with pytest.raises(DataError, match="no text to train a tokenizer on"):
        train_tokenizer(texts, 320, "bpe")


def test_a_model_with_a_token_that_is_not_utf8_is_refused(tokenizer: Tokenizer):
    raw = tokenizer.model
    token = max(tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size)), key=len).encode()
    assert Tokenizer(raw).vocab_size == tokenizer.vocab_size and token in raw
    for damaged in (raw.replace(token, b"\xaa" * len(token)), raw[:99], b""):
        with pytest.raises(DataError):
            Tokenizer(damaged)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_token_is_split_where_its_rarer_half_is_most_probable(kind: str):
    texts = ["banana bandana ban ana an na nan ba ab aba banal canal", "anna nab cab can"] * 30
    tokenizer = train_tokenizer(texts, 300, kind)
    names = dict(enumerate(tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))))
    known = {name: i for i, name in names.items() if i > 3 and not re.fullmatch("<0x..>", name)}
    scores = {name: tokenizer._processor.get_score(i) for name, i in known.items()}
    compared = 0
    for i, (left, right) in tokenizer._token_halves.items():
        name = names[i]
        assert names[left] + names[right] == name
        cuts = [(name[:n], name[n:]) for n in range(1, len(name)) if name[:n] in known and name[n:] in known]
        best = max(min(scores[one], scores[two]) for one, two in cuts)
        assert min(scores[names[left]], scores[names[right]]) == best
        compared += len(cuts) > 1
    assert compared > 0
    splittable = {
        i for name, i in known.items() if any(name[:n] in known and name[n:] in known for n in range(1, len(name)))
    }
    assert set(tokenizer._token_halves) == {i for i in splittable if scores[names[i]] > -math.inf}
