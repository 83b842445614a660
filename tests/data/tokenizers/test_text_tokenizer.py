"""Both tokenizers of single texts keep the same promises."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.tokenizers.text_tokenizer import MASK_TOKEN, SentencePieceText, TextTokenizer, truncate_pair
from regard.data.tokenizers.tokenizer import EOS, train_tokenizer
from regard.data.tokenizers.wordpiece import WordPiece, from_vocab

TEXTS = ["the cat sees the dog", "the kings sleep .", "kings see [MASK] cats"] * 5
PIECES = ["the", "king", "##s", "sleep", "##ing", ".", "cat", "dog", "see", "a", "b", "c"]


def make_wordpiece() -> WordPiece:
    pytest.importorskip("tokenizers")
    return from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *PIECES], {})


@pytest.fixture(params=["sentencepiece", "wordpiece"])
def tokenizer(request: pytest.FixtureRequest) -> TextTokenizer:
    if request.param == "wordpiece":
        return make_wordpiece()
    return SentencePieceText(train_tokenizer(TEXTS, 307, "bpe", [MASK_TOKEN]))


SENTENCES = [["the", "kings", "sleep", "."], ["cat"], [], ["", "dog", ""]]


def test_words_one_by_one_are_the_text_between_spaces(tokenizer: TextTokenizer):
    texts = [" ".join(words) for words in SENTENCES[:3]]
    encoded = tokenizer.encode_words(SENTENCES[:3], 64)
    assert [sentence.ids for sentence in encoded] == tokenizer.encode(texts, 64)


def test_a_word_is_found_at_its_first_token(tokenizer: TextTokenizer):
    for words, (ids, first_tokens) in zip(SENTENCES, tokenizer.encode_words(SENTENCES, 64), strict=True):
        assert len(first_tokens) == len(words)
        starts = tokenizer.starts_word(ids)
        assert [i for i, begins in enumerate(starts) if begins] == [at for at in first_tokens if at >= 0]
        ends = [*[at for at in first_tokens if at >= 0][1:], len(ids)]
        for word, at in zip(words, first_tokens, strict=True):
            if at < 0:
                assert word == ""
            else:
                assert tokenizer.decode(ids[at : ends.pop(0)]).strip() == word


@pytest.mark.parametrize("max_length", [3, 4, 5, 6])
def test_words_beyond_the_maximum_length_have_no_token(tokenizer: TextTokenizer, max_length: int):
    words = ["kings"] * 7
    (long,), (short,) = tokenizer.encode_words([words], 64), tokenizer.encode_words([words], max_length)
    assert len(short.ids) == max_length and short.ids[-1] == long.ids[-1]
    assert short.ids[:-1] == long.ids[: max_length - 1]
    assert short.first_tokens == [at if at < max_length - 1 else -1 for at in long.first_tokens]
    assert tokenizer.encode(["kings " * 7], max_length)[0][:-1] == short.ids[:-1]


def test_a_word_that_is_normalized_away_has_no_token():
    (encoded,) = make_wordpiece().encode_words([["kings", "\ufe0f", "sleep"]], 64)
    assert encoded.first_tokens == [1, -1, 3]


def test_pairs_are_both_texts_and_types_tell_them_apart(tokenizer: TextTokenizer):
    pairs = [("the cat", "sleep"), ("", "dog"), ("", "")]
    rows = tokenizer.encode_pairs(pairs, 64)
    for (a, b), ids in zip(pairs, rows, strict=True):
        first, second = tokenizer.encode([a, b], 64)
        body = second[len(second) - len(ids) + len(first) :]  # WordPiece begins with [CLS], but once
        assert ids == [*first, *body] and set(second) - set(body) <= tokenizer.special_ids
        assert tokenizer.token_type_ids(ids) == [0] * len(first) + [1] * len(body)
        assert tokenizer.token_type_ids(first) == [0] * len(first)
        assert body[-1] == first[-1] and tokenizer.decode(body).strip() == b


@pytest.mark.parametrize("sides", [("a", "a b c a b c a b"), ("a b c a b c a b", "a"), ("a b c a b", "a b c a b c")])
def test_the_longer_text_of_a_pair_is_truncated_first(tokenizer: TextTokenizer, sides: tuple[str, str]):
    (whole,) = tokenizer.encode_pairs([sides], 64)
    for max_length in range(5, len(whole)):
        (ids,) = tokenizer.encode_pairs([sides], max_length)
        types = tokenizer.token_type_ids(ids)
        assert len(ids) == max_length and ids[-1] == whole[-1]
        lengths = [types.count(0), types.count(1)]
        untruncated = [tokenizer.token_type_ids(whole).count(side) for side in (0, 1)]
        for length, full, other in zip(lengths, untruncated, lengths[::-1], strict=True):
            assert length == full or length >= other - 2  # by a separator at each end, and an odd token


@given(st.lists(st.integers(4, 9), max_size=13), st.lists(st.integers(4, 9), max_size=13), st.integers(0, 23))
@settings(max_examples=300, deadline=None)
def test_a_truncated_pair_is_as_long_as_allowed(first: list[int], second: list[int], limit: int):
    a, b = truncate_pair(first, second, limit)
    assert len(a) + len(b) == min(limit, len(first) + len(second))
    assert a == first[: len(a)] and b == second[: len(b)]
    assert len(a) == len(first) or len(a) >= len(b) - 1
    assert len(b) == len(second) or len(b) >= len(a) - 1


def test_spans_are_those_of_the_ids_and_special_tokens_cover_nothing(tokenizer: TextTokenizer):
    text = "the kings  sleep."
    for max_length in (4, 64):
        (ids,) = tokenizer.encode([text], max_length)
        spans = tokenizer.spans(text, max_length)
        assert len(spans) == len(ids)
        for i, token, (a, b) in zip(ids, tokenizer.convert_ids_to_tokens(ids), spans, strict=True):
            assert text[a:b].strip() == ("" if i in tokenizer.special_ids else token.strip("▁#"))


def test_special_tokens_are_in_no_text(tokenizer: TextTokenizer):
    assert tokenizer.mask_id is not None
    assert tokenizer.convert_ids_to_tokens([tokenizer.mask_id]) == [MASK_TOKEN]
    assert tokenizer.special_ids >= {tokenizer.pad_id, tokenizer.mask_id, *tokenizer.encode([""], 64)[0]}
    assert not any(tokenizer.starts_word(sorted(tokenizer.special_ids)))
    (ids,) = tokenizer.encode(["the cat ☃"], 64)
    assert [i in tokenizer.special_ids for i in ids].count(True) == len(tokenizer.encode([""], 64)[0])
    assert all(0 <= i < tokenizer.vocab_size for i in {*tokenizer.special_ids, *ids})


def test_only_a_control_symbol_is_a_mask_and_no_text_has_it():
    with_mask, without = (train_tokenizer(TEXTS, 307, "bpe", symbols) for symbols in ([MASK_TOKEN], []))
    mask_id = SentencePieceText(with_mask).mask_id
    for model_type in ("bpe", "unigram"):
        masked = train_tokenizer(TEXTS, 307, model_type, [MASK_TOKEN])
        (ids,) = masked.encode([f"cats{MASK_TOKEN} {MASK_TOKEN}"])
        assert SentencePieceText(masked).mask_id not in (None, *ids)
        for row in masked.sample_segmentation([ids], 0.9, 3):
            assert SentencePieceText(masked).mask_id not in row and masked.decode(row) == masked.decode(ids)
    assert mask_id is not None and SentencePieceText(without).mask_id is None
    assert SentencePieceText(without).special_ids == SentencePieceText(with_mask).special_ids - {mask_id}
    assert without.find_control_symbol("cat") is None and without.find_control_symbol("</s>") == EOS
    assert without.model == train_tokenizer(TEXTS, 307, "bpe").model
