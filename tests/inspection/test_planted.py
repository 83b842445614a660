"""Planted heads have the weights that their roles say, cell by cell, and planted sentences what the roles need."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.config import Head
from regard.data.tokenizers.tokenizer import BOS, EOS
from regard.inspection import planted
from regard.inspection.heads.patterns import (
    RELATIONS,
    ROLE_LETTERS,
    TokenCounts,
    build_patterns,
    repeated_random_probes,
)
from regard.inspection.heads.roles import NUM_PROBES, PROBE_LENGTH
from regard.inspection.planted import SENTENCE_LENGTH, plant_copying, plant_roles, planted_examples, possible_roles
from regard.inspection.trace import attention_sites, attention_weights
from regard.model.taps import alter
from tests.inspection.conftest import SIZE, config_of, model_of

EXAMPLES = planted_examples(SIZE)
WORDS = SENTENCE_LENGTH - 1


@pytest.fixture
def model():
    return model_of(config_of({"kind": "sinusoidal"}))


def test_most_of_a_row_is_on_the_pattern_and_the_rest_on_all_keys():
    mask = np.tril(np.ones((5, 5), dtype=bool))
    pattern = np.zeros((5, 5), dtype=bool)
    pattern[1, 0] = pattern[3, 1] = pattern[3, 2] = pattern[4, 4] = True
    found = planted._pattern_weights(pattern, mask)
    for i in range(5):
        size = int(pattern[i].sum())
        for j in range(5):
            even = 1 / (i + 1) if j <= i else 0.0
            expected = 0.85 * pattern[i, j] / size + 0.15 * even if size else even
            assert float(found[i, j]) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["encoder.1.self", "decoder.0.self", "decoder.1.cross"])
def test_each_head_of_the_attention_has_its_role_on_sentences_and_on_probes(model, name):
    kind = next(site.kind for site in attention_sites(model) if site.name == name)
    roles = ["vertical", "separator", "rare"]
    counts = TokenCounts.from_examples(EXAMPLES)
    probes = repeated_random_probes(SIZE, NUM_PROBES, PROBE_LENGTH, has_decoder=True)
    plain = attention_weights(model, EXAMPLES)
    with alter(model, plant_roles(model, name, roles, EXAMPLES)):
        groups = [(EXAMPLES, attention_weights(model, EXAMPLES)), (probes, attention_weights(model, probes))]
    for group, weights in groups:
        for example, found in zip(group, weights, strict=True):
            queries, keys = len(example.query_tokens(kind)), len(example.key_tokens(kind))
            mask = np.tril(np.ones((queries, keys), bool)) if kind == "decoder" else np.ones((queries, keys), bool)
            patterns = build_patterns(example, kind, counts)
            patterns["vertical"] = np.arange(keys)[None] == np.full((queries, 1), example.source.ids[0] % 3)
            for h, role in enumerate(roles):
                expected = planted._pattern_weights(patterns[role] & mask, mask)
                assert_close(found[name][h], expected.float())
    before = next(iter(plain[0]))  # what stands before the attention is as it was
    assert_close(groups[0][1][0][before], plain[0][before])
    columns = {example.source.ids[0] % 3 for example in EXAMPLES}
    assert columns == {0, 1, 2}  # no column is the heaviest of all sentences


def test_a_pattern_that_a_kind_does_not_have_leaves_a_head_uniform():
    counts = TokenCounts.from_examples(EXAMPLES)
    (uniform,) = planted._role_weights(EXAMPLES[0], "cross", ["previous"], counts)
    assert_close(uniform, torch.full_like(uniform, 1 / SENTENCE_LENGTH))


def test_a_copying_head_writes_what_it_reads_and_no_other_head_changes(model):
    site = next(site for site in attention_sites(model) if site.name == "decoder.1.self")
    width = site.attention.head_dim
    for sign in (1.0, -1.0):
        before = site.attention.out_proj.weight.detach().clone()
        plant_copying(model, Head.parse("decoder.1.self.1"), sign)
        after, value = site.attention.out_proj.weight.detach(), site.attention.v_proj.weight.detach()
        assert torch.equal(after[:, width : 2 * width], sign * value[width : 2 * width].T)
        assert torch.equal(after[:, :width], before[:, :width])
        assert torch.equal(after[:, 2 * width :], before[:, 2 * width :])
    plant_copying(model, Head.parse("decoder.1.self.2"))
    rows = slice(2 * width, 3 * width)
    assert torch.equal(site.attention.out_proj.weight[:, rows], site.attention.v_proj.weight[rows].T)


def test_the_roles_that_a_kind_can_have_are_those_that_it_has_a_pattern_for():
    for kind in ("encoder", "decoder", "cross"):
        of_kind = {*build_patterns(EXAMPLES[0], kind, TokenCounts.from_examples(EXAMPLES)), "vertical"}
        ahead = {"next", "offset +2", "offset +3"} if kind == "decoder" else set()
        roles = possible_roles(kind)
        assert set(roles) == of_kind - ahead and len(roles) == len(set(roles)) and set(roles) < set(ROLE_LETTERS)


def test_sentences_have_distinct_words_two_commas_inside_and_one_special_token():
    texts = [side for e in EXAMPLES for side in (e.source, e.decoder_input, e.target)]
    commas = set()
    for example in EXAMPLES:
        for side, has_eos in ((example.source, True), (example.decoder_input, False), (example.target, True)):
            ids = side.ids[:-1] if has_eos else side.ids[1:]
            assert (side.ids[-1], side.tokens[-1]) == (EOS, "</s>") if has_eos else True
            assert (side.ids[0], side.tokens[0]) == (BOS, "<s>") if not has_eos else True
            end = SENTENCE_LENGTH - 1 if has_eos else 0
            assert [i for i, special in enumerate(side.special_tokens_mask) if special] == [end]
            assert side.word_ids[end] == -1 and [n for n in side.word_ids if n >= 0] == list(range(WORDS))
            assert side.words == (side.tokens[:-1] if has_eos else side.tokens[1:]) and side.text == ""
            places = [n for n, i in enumerate(ids) if i in (4, 5)]
            assert len(places) == 2 and [n for n, word in enumerate(side.words) if word == ","] == places
            commas.update(places)
            words = [i for i in ids if i not in (4, 5)]
            assert len(set(words)) == WORDS - 2 and min(words) >= 6 and max(words) < SIZE
            assert all(word == f"w{i}" for word, i in zip(side.words, ids, strict=True) if word != ",")
    assert commas == set(range(3, SENTENCE_LENGTH - 3))  # never at an end, where a clause would have no words
    assert {i for side in texts for i in side.ids} == set(range(2, SIZE)) and len(EXAMPLES) == 40


def test_links_are_of_every_kind_and_between_two_words():
    kinds = {kind for kind, _ in RELATIONS.values()}
    rng = np.random.default_rng(1)
    ends = set()
    for _ in range(300):
        links = planted._random_links(rng, 3)
        assert [link.kind for link in links] == [kind for kind in sorted(kinds) for _ in range(2)]
        assert all(link.head != link.dependent for link in links)
        ends |= {(link.head, link.dependent) for link in links}
    assert ends == {(a, b) for a in range(3) for b in range(3) if a != b}
    for example in EXAMPLES:
        assert [s for s, _ in example.alignment] == sorted(t for _, t in example.alignment) == list(range(WORDS))
    assert any(example.source_links != example.target_links for example in EXAMPLES)
