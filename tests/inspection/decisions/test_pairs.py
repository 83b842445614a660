"""A pair of texts is one sequence: its words, their texts, and what erasing one of them takes."""

from regard.data.tokenizers.wordpiece import from_vocab
from regard.inspection.decisions.erasure import erase_word
from regard.inspection.example import tokenize_pair

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "bad", "film", "play", "##s"]


def test_words_of_both_texts_are_told_apart():
    tokenizer = from_vocab(TOKENS, {})
    side = tokenize_pair(tokenizer, ("a good film", "bad plays"), 31)
    assert side.tokens == ("[CLS]", "a", "good", "film", "[SEP]", "bad", "play", "##s", "[SEP]")
    assert side.words == ("a", "good", "film", "bad", "plays") and side.num_first_words == 3
    assert side.word_ids == (-1, 0, 1, 2, -1, 3, 4, 4, -1)
    assert side.token_type_ids == (0, 0, 0, 0, 0, 1, 1, 1, 1)
    assert side.input == ("a good film", "bad plays")
    assert list(side.ids) == tokenizer.encode_pairs([side.input], 31)[0]


def test_a_word_is_erased_from_its_own_text():
    side = tokenize_pair(from_vocab(TOKENS, {}), ("a good film", "bad plays"), 31)
    assert erase_word(side, 1) == ("a film", "bad plays") and erase_word(side, 3) == ("a good film", "plays")
