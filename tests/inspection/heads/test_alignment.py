"""Alignment from attention, and its error rate."""

import pytest
import torch
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.data.batch import collate
from regard.data.tokenizer import PAD
from regard.errors import DataError
from regard.inspection.example import TokenizedText, assign_words, with_whitespace_words
from regard.inspection.heads.alignment import (
    AlignmentCounts,
    compare_links,
    extract_links,
    format_pharaoh,
    merge_subwords_by_span,
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


def test_words_between_spaces_hold_the_pieces_of_the_words_in_them():
    text = "Don't go , ok."
    token_spans = [(0, 3), (3, 4), (4, 5), (6, 8), (9, 10), (11, 13), (13, 14)]
    tokens = tuple(text[a:b] for a, b in token_spans)
    side = TokenizedText(text, tuple(range(7)), tokens, *assign_words(text, token_spans), (False,) * 7)
    by_whitespace = with_whitespace_words(side)
    assert by_whitespace.words == ("Don't", "go", ",", "ok.")
    texts = [by_whitespace.words[word_id] for word_id in by_whitespace.word_ids]
    assert all(token in text for token, text in zip(by_whitespace.tokens, texts, strict=True))


def test_each_target_word_is_linked_to_where_it_looks_most():
    assert extract_links(torch.tensor([[0.1, 0.9], [0.6, 0.4], [0.2, 0.8]])) == {(1, 0), (0, 1), (1, 2)}
    assert extract_links(torch.zeros(0, 0)) == frozenset()


def test_pieces_are_summed_over_source_words_and_averaged_over_target_words():
    # source "ab c" in tokens a|b|c and eos; target "xy" in tokens x|y and eos
    weights = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.2, 0.2], [0.0, 0.0, 0.0, 1.0]])
    source, target = [(0, 1), (1, 2), (2, 4)], [(0, 1), (1, 2)]
    words = merge_subwords_by_span(weights, source, target, ([(0, 2), (3, 4)], [(0, 2)]))
    first, second = (0.3 + 0.6) / 2, (0.3 + 0.2) / 2 * 0.5  # half of the last token is a space
    assert_close(words, torch.tensor([[first, second]]) / (first + second))
    assert_close(words.sum(dim=1), torch.ones(1))


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
