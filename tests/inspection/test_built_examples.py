"""Examples that are built from text: tokens, the words that they belong to, and gold where it is known."""

import pytest

from regard.data.corpora import GoldPair, Link
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, Tokenizers, train_tokenizer
from regard.data.tokenizers.wordpiece import WordPiece
from regard.errors import DataError
from regard.inspection.example import (
    NO_WORD,
    TokenizedText,
    build_pair_example,
    build_text_example,
    count_pharaoh_words,
    cover_words,
    token_positions,
    tokens_from_ids,
    whitespace_word_ids,
    with_whitespace_words,
)

SOURCE, TARGET = "The old king's horses sleep.", "Les chevaux du vieux roi dorment."
GOLD = GoldPair(SOURCE, TARGET, ((0, 0), (4, 1)), (Link("subject-verb", 5, 4),), (Link("verb-object", 1, 2),))


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    return Tokenizers(train_tokenizer([SOURCE] * 5, 280, "bpe"), train_tokenizer([TARGET] * 5, 279, "bpe"))


def test_the_decoder_reads_what_it_writes_one_token_later(tokenizers: Tokenizers):
    example = build_pair_example(tokenizers, SOURCE, TARGET, GOLD)
    decoder_input, target = example.decoder_input, example.target
    assert decoder_input is not None and target is not None
    (source_ids,), (target_ids,) = tokenizers.source.encode([SOURCE]), tokenizers.target.encode([TARGET])
    assert example.source.ids == (*source_ids, EOS) and example.source.tokens[-1] == "</s>"
    assert decoder_input.ids == (BOS, *target_ids) and decoder_input.tokens[0] == "<s>"
    assert target.ids == (*target_ids, EOS) and decoder_input.tokens[1:] == target.tokens[:-1]
    assert decoder_input.word_ids[1:] == target.word_ids[:-1] and decoder_input.word_ids[0] == NO_WORD
    for side in (example.source, decoder_input, target):
        assert len(side) == len(side.tokens) == len(side.word_ids) == len(side.special_tokens_mask)
        assert sum(side.special_tokens_mask) == 1
        without = [i for i, word_id in enumerate(side.word_ids) if word_id == NO_WORD]
        assert all(side.special_tokens_mask[i] or side.tokens[i] == "▁" for i in without) and without
        spelled = {
            n: "".join(token.strip("▁") for token, i in zip(side.tokens, side.word_ids, strict=True) if i == n)
            for n in range(len(side.words))
        }
        assert tuple(spelled.values()) == side.words
    assert (example.alignment, example.source_links, example.target_links) == (
        GOLD.alignment,
        GOLD.source_links,
        GOLD.target_links,
    )
    plain = build_pair_example(tokenizers, SOURCE, TARGET)
    assert plain.alignment is None and plain.source_links == plain.target_links == () and plain.source == example.source


def test_rows_and_columns_of_each_kind_of_attention(tokenizers: Tokenizers):
    example = build_pair_example(tokenizers, SOURCE, TARGET)
    assert example.query_tokens("encoder") is example.key_tokens("encoder") is example.source
    assert example.query_tokens("decoder") is example.key_tokens("decoder") is example.decoder_input
    assert example.query_tokens("cross") is example.decoder_input and example.key_tokens("cross") is example.source
    assert example.query_labels("cross") is example.target and example.query_labels("decoder") is example.decoder_input


def test_separators_are_punctuation_and_special_tokens(tokenizers: Tokenizers):
    side = build_pair_example(tokenizers, SOURCE, TARGET).source
    separators = [side.tokens[i] for i in range(len(side)) if side.is_separator(i)]
    assert separators[-2:] == [".", "</s>"] and not any(any(map(str.isalnum, token)) for token in separators[:-1])


def test_a_text_of_an_encoder_has_special_tokens_at_both_ends():
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "king": 4, "##s": 5, "sleep": 6, ".": 7}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    gold = GoldPair("kings sleep .", "", (), (Link("subject-verb", 1, 0),))
    example = build_text_example(WordPiece(tokenizer.to_str().encode()), "kings sleep .", 64, gold)
    side = example.source
    assert side.ids == (2, 4, 5, 6, 7, 3) and side.tokens[1:3] == ("king", "##s")
    assert side.word_ids == (NO_WORD, 0, 0, 1, 2, NO_WORD) and side.words == ("kings", "sleep", ".")
    assert side.special_tokens_mask == (True, False, False, False, False, True)
    assert example.decoder_input is example.target is None and example.source_links == gold.source_links
    assert build_text_example(WordPiece(tokenizer.to_str().encode()), "kings sleep .", 64).source_links == ()
    short = build_text_example(WordPiece(tokenizer.to_str().encode()), "kings sleep .", 4).source
    assert short.ids == (2, 4, 5, 3)


def test_a_token_belongs_to_the_word_that_it_covers_most():
    words, shares = cover_words("one, two", [(0, 3), (3, 4), (4, 6), (2, 8), (4, 5), (8, 8)])
    assert words == ("one", ",", "two")
    assert shares == ({0: 1}, {1: 1}, {2: 1}, {0: 0.2, 1: 0.2, 2: 0.6}, {}, {})  # blanks belong to no word
    side = TokenizedText("one, two", tuple(range(6)), ("",) * 6, (), words, (), shares)
    assert with_whitespace_words(side).word_ids == (0, 0, 1, 1, NO_WORD, NO_WORD)
    assert with_whitespace_words(side).word_shares[3] == {0: pytest.approx(0.4), 1: pytest.approx(0.6)}
    assert cover_words("", [(0, 0)]) == ((), ({},))


def test_words_that_share_a_token_are_one_group():
    shares = ({0: 1.0}, {1: 0.5, 2: 0.5}, {2: 1.0}, {}, {3: 1.0}, {4: 0.2, 5: 0.3, 6: 0.5})
    side = TokenizedText("", tuple(range(6)), ("",) * 6, (), tuple("abcdefg"), (), shares)
    assert side.word_groups() == [0, 1, 1, 2, 3, 3, 3] and side.covered_words() is shares
    plain = TokenizedText("", (5, 6, 7), ("",) * 3, (1, NO_WORD, 0), ("a", "b"), ())
    assert plain.covered_words() == [{1: 1.0}, {}, {0: 1.0}] and plain.word_groups() == [0, 1]
    assert TokenizedText("", (), (), (), (), ()).word_groups() == []


def test_unspaced_text_is_segmented_if_half_of_its_words_stand_apart():
    """All texts of a file are counted alike; those with spaces always by them."""
    words = ("他", "说", "书", "在")
    sides = {text: TokenizedText(text, (), (), (), words, ()) for text in ("他说书在", "他说 书在", "他 说书在")}
    spaced = TokenizedText("it's so", (), (), (), ("it", "'s", "so"), ())
    assert count_pharaoh_words([sides["他说书在"], spaced]) == [[0, 1, 2, 3], [0, 0, 1]]
    halves = count_pharaoh_words([sides["他说 书在"], spaced])  # two chunks for four words
    assert halves[1] == [0, 0, 1] and max(halves[0]) == 1
    both = count_pharaoh_words([sides["他说书在"], sides["他 说书在"]])  # three chunks for eight words
    assert both == [[0, 1, 2, 3]] * 2


def test_words_between_blanks_hold_several_words(tokenizers: Tokenizers):
    side = build_pair_example(tokenizers, SOURCE, TARGET).source
    whole = with_whitespace_words(side)
    assert whole.words == tuple(SOURCE.split()) and whole.ids == side.ids
    numbers = whitespace_word_ids(side)
    assert numbers == sorted(numbers) and set(numbers) == set(range(5)) and len(numbers) == len(side.words)
    for old, new in zip(side.word_ids, whole.word_ids, strict=True):
        assert (old == NO_WORD) == (new == NO_WORD) and (old == NO_WORD or side.words[old] in whole.words[new])


def test_a_word_is_found_by_its_first_occurrence_in_any_case(tokenizers: Tokenizers):
    side = build_pair_example(tokenizers, "The horse and the horse.", TARGET).source
    found = token_positions(side, "HORSE")
    assert [side.word_ids[i] for i in found] == [1] * len(found) and found
    with pytest.raises(DataError, match=r"the word 'dog' is not in the sentence 'The horse and the horse.'; its words"):
        token_positions(side, "dog")


def test_ids_without_a_text_are_words_of_their_own():
    side = tokens_from_ids([BOS, 7, 9, PAD, EOS])
    assert side.tokens == side.words == ("#2", "#7", "#9", "#0", "#3") and side.word_ids == (0, 1, 2, 3, 4)
    assert side.special_tokens_mask == (True, False, False, True, True)
