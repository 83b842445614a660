"""Alignment from attention, and its error rate."""

import pytest
import torch
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.data.batch import collate
from regard.data.tokenizers.tokenizer import PAD
from regard.errors import DataError
from regard.inspection.example import NO_WORD, TokenizedText, cover_words, with_whitespace_words
from regard.inspection.heads.alignment import (
    AlignmentCounts,
    compare_links,
    extract_links,
    format_pharaoh,
    merge_subwords,
    parse_pharaoh,
)
from regard.inspection.trace import cross_attention_weights
from regard.model.build import build


def test_the_error_rate_is_nought_for_gold_and_one_for_its_opposite():
    gold = [(0, 0), (1, 2), (2, 1)]
    assert compare_links(gold, gold).aer == 0
    assert compare_links([(0, 1), (1, 0), (2, 2)], gold).aer == 1
    assert compare_links([(0, 0), (1, 1)], gold).aer == pytest.approx(1 - 2 * 1 / (2 + 3))
    assert AlignmentCounts().aer == 0
    total = compare_links(gold, gold) + compare_links([(5, 5)], gold)
    assert total == AlignmentCounts(
        links=4, sure_links=6, sure_matches=3, possible_matches=3
    ) and total.aer == pytest.approx(1 - 6 / 10)


def test_possible_links_are_neither_asked_for_nor_wrong():
    """Four predicted links: one sure, one possible, two wrong; one sure link is missing.  Och and Ney 2003."""
    sure, possible = [(0, 0), (1, 1)], [(2, 2), (3, 3)]
    counts = compare_links([(0, 0), (2, 2), (4, 4), (5, 5)], sure, possible)
    assert counts.aer == pytest.approx(1 - (1 + 2) / (4 + 2))
    assert (counts.precision, counts.recall) == (0.5, 0.5)
    assert compare_links([*sure, *possible], sure, possible).aer == 0
    assert (AlignmentCounts().precision, AlignmentCounts().recall) == (0, 0)


def test_links_are_read_as_they_are_written():
    links = {(0, 0), (2, 11), (10, 2)}
    assert parse_pharaoh(format_pharaoh(links), "gold:1") == (links, set())
    assert parse_pharaoh("0-0 3p1", "gold:1") == ({(0, 0)}, {(3, 1)})
    assert parse_pharaoh("", "gold:1") == (set(), set())
    for wrong in ("0-", "a-b", "0:1", "-1-2"):
        with pytest.raises(DataError, match=f"gold:7: '{wrong}' is not a link; expected 0-0"):
            parse_pharaoh(f"0-0 {wrong}", "gold:7")


def tokenized(text: str, token_spans: list[tuple[int, int]], has_eos: bool = True) -> TokenizedText:
    """A text in these tokens."""
    words, shares = cover_words(text, token_spans)
    tokens = tuple(text[a:b] for a, b in token_spans)
    word_ids = tuple(max(one, key=one.__getitem__, default=NO_WORD) for one in shares)
    eos = (("</s>",), (NO_WORD,), (True,), ({},)) if has_eos else ((), (), (), ())
    return TokenizedText(
        text,
        tuple(range(len(tokens) + has_eos)),
        tokens + eos[0],
        word_ids + eos[1],
        words,
        (False,) * len(tokens) + eos[2],
        shares + eos[3],
    )


def test_words_between_spaces_hold_the_pieces_of_the_words_in_them():
    text = "Don't go , ok."
    token_spans = [(0, 3), (3, 4), (4, 5), (6, 8), (9, 10), (11, 13), (13, 14)]
    by_whitespace = with_whitespace_words(tokenized(text, token_spans, has_eos=False))
    assert by_whitespace.words == ("Don't", "go", ",", "ok.")
    texts = [by_whitespace.words[word_id] for word_id in by_whitespace.word_ids]
    assert all(token in text for token, text in zip(by_whitespace.tokens, texts, strict=True))


def test_each_target_word_is_linked_to_where_it_looks_most():
    assert extract_links(torch.tensor([[0.1, 0.9], [0.6, 0.4], [0.2, 0.8]])) == {(1, 0), (0, 1), (1, 2)}
    assert extract_links(torch.zeros(0, 0)) == frozenset()


def test_a_word_that_attends_to_the_end_token_alone_is_not_linked_to_the_first_word():
    weights = torch.tensor([[0.0, 0.0, 1.0], [0.25, 0.5, 0.25], [0.0, 0.0, 1.0]])
    source, target = tokenized("ab c", [(0, 2), (2, 4)]), tokenized("x yz", [(0, 1), (1, 4)])
    assert extract_links(merge_subwords(weights, target, source)) == {(1, 1)}


def test_pieces_are_summed_over_source_words_and_averaged_over_target_words():
    # source "ab c" in tokens a|b|c and eos; target "xy" in tokens x|y and eos
    weights = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.2, 0.2], [0.0, 0.0, 0.0, 1.0]])
    source, target = tokenized("ab c", [(0, 1), (1, 2), (2, 4)]), tokenized("xy", [(0, 1), (1, 2)])
    words = merge_subwords(weights, target, source)
    first, second = (0.3 + 0.6) / 2, (0.3 + 0.2) / 2  # the space of the last token takes nothing from its word
    assert_close(words, torch.tensor([[first, second]]) / (first + second))
    assert_close(words.sum(dim=1), torch.ones(1))


def test_words_in_one_token_attend_alike_and_share_what_it_receives():
    # "東京で" are two words in one token; 東京 has two of its three characters
    text = "東京で本を"
    side = tokenized(text, [(0, 3), (3, 4), (4, 5)])
    assert side.words == ("東京", "で", "本", "を") and side.word_groups() == [0, 0, 1, 2]
    weights = torch.tensor([[0.0, 1.0, 0.0, 0.0], [0.6, 0.0, 0.4, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    words = merge_subwords(weights, side, side)
    assert_close(words[0], words[1])
    assert_close(words[2], torch.tensor([0.4, 0.2, 0.0, 0.4]))
    assert extract_links(words) == {(2, 0), (2, 1), (0, 2), (3, 3)}


def test_weights_come_without_padding_and_each_row_sums_to_one():
    model = build(ModelConfig(dim=22, heads=2, ffn=13, layers=3), 23, 23, joint=True, pad=PAD)
    batch = collate([[5, 6, 7], [8]], [[9], [10, 11, 12, 13]])
    weights = cross_attention_weights(model, batch)
    assert [tuple(w.shape) for w in weights] == [(3, 2, 2, 4), (3, 2, 5, 2)]
    for w in weights:
        assert_close(w.sum(dim=-1), torch.ones(w.shape[:-1]))


def test_layers_stand_in_their_order():
    model = build(ModelConfig(dim=22, heads=2, ffn=13, layers=11), 23, 23, joint=True, pad=PAD)
    with torch.no_grad():
        model.decoder.layers[10].cross_attn.q_proj.weight.mul_(50)  # a layer with sharp attention
    (weights,) = cross_attention_weights(model, collate([[5, 6, 7]], [[9, 10]]))
    assert int(weights.amax(dim=(1, 2, 3)).argmax()) == 10
