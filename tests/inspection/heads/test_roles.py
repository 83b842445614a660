"""Planted roles are told, random heads have none, and patterns are what their names say."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.config import Head
from regard.data.tokenizers.tokenizer import BOS, EOS
from regard.inspection.example import Example, tokens_from_ids
from regard.inspection.heads.alignment import format_pharaoh, has_gold, merge_subwords, rank_alignment_heads
from regard.inspection.heads.patterns import (
    ROLE_LETTERS,
    ROLE_ORDER,
    TokenCounts,
    best_offset_accuracy,
    block_pattern,
    build_patterns,
    duplicate_pattern,
    induction_pattern,
    offset_pattern,
)
from regard.inspection.heads.roles import analyze_heads, find_evidence, fit_all_patterns, statistics
from regard.inspection.planted import plant_copying, plant_roles, planted_examples
from regard.inspection.selftest import VOCAB_SIZE, small_model
from regard.inspection.trace import attention_sites
from regard.model.build import build
from regard.model.taps import alter
from tests.inspection.conftest import config_of

EXAMPLES = planted_examples(VOCAB_SIZE)


def test_a_head_that_copies_is_told_unless_it_has_a_pattern():
    model, head = small_model("sinusoidal"), Head.parse("decoder.1.self.0")
    plant_copying(model, head)
    with alter(model, plant_roles(model, head.attention_name, ["previous"] * 4, EXAMPLES)):
        (analysis,) = (candidate for candidate in analyze_heads(model, EXAMPLES) if candidate.head == head)
    assert analysis.role.name == "previous" and analysis.copying_score > 0.99 and analysis.roles[-1].is_reliable
    separate_vocabs = [
        candidate for candidate in analyze_heads(model, EXAMPLES, joint_vocab=False) if candidate.head.kind == "cross"
    ]
    assert [candidate.copying_score for candidate in separate_vocabs] == [None] * len(separate_vocabs)


def test_heads_whose_weights_look_by_distance_are_named_by_it():
    """Weights that follow from a learned bias by distance, not planted ones."""
    config = config_of({"kind": "bias", "length": 64}, dim=32, heads=4)
    model = build(config, VOCAB_SIZE, VOCAB_SIZE, joint=True, pad=0).eval()
    site = attention_sites(model)[0]
    with torch.no_grad():
        site.attention.q_proj.weight.zero_()
        for h, step in enumerate((-1, 1, -2, 0)):
            site.attention.positions.table[h, 63 + step] = 9
    analyses = analyze_heads(model, EXAMPLES)[:4]
    assert [analysis.role.name for analysis in analyses] == ["previous", "next", "offset -2", "self"]
    assert all(analysis.role.lift > 0.9 and analysis.role.argmax_rate > 0.95 for analysis in analyses)


@pytest.mark.parametrize("kind", ["sinusoidal", "alibi", "rotary", "t5", "bias"])
def test_a_model_with_random_weights_has_no_sure_role(kind):
    models = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        models.append(
            build(
                config_of({"kind": kind, "length": 64}, dim=32, heads=4), VOCAB_SIZE, VOCAB_SIZE, joint=True, pad=0
            ).eval()
        )
    assert [str(analysis.head) for analysis in analyze_heads(models[0], EXAMPLES, models[1]) if analysis.role] == []


def test_a_role_that_random_weights_have_too_is_not_told():
    model = small_model("sinusoidal")
    with alter(model, plant_roles(model, "encoder.0.self", ["previous"] * 4, EXAMPLES)):
        (analysis, *_) = analyze_heads(model, EXAMPLES, model)
    assert analysis.role is None and analysis.best.name == "previous" and "no reliable role" in analysis.describe()


def without_gold(example):
    return replace(example, alignment=None, source_links=(), target_links=())


def test_sentences_that_know_nothing_may_stand_before_those_that_know(monkeypatch):
    """Their roles are compared with random weights, and evidence refers to the right sentence."""
    monkeypatch.setattr("regard.inspection.heads.roles.BASELINE_SENTENCES", 8)
    model, other = small_model("sinusoidal"), small_model("rotary")
    mixed = [*map(without_gold, EXAMPLES[:10]), *EXAMPLES[10:16]]
    fits = fit_all_patterns(model, mixed, TokenCounts.from_examples(mixed))
    for analysis in analyze_heads(model, mixed, other, pattern_fits=fits):
        roles = {role.name: role for role in analysis.roles}
        for name in {"alignment"} if analysis.head.kind == "cross" else {"verb to subject", "noun to adjective"}:
            assert roles[name].baseline != 0
            evidence = find_evidence(fits.by_site[analysis.head.attention_name][name], 0)
            assert all(sentence.example_index >= 10 for sentence in evidence) and len(evidence) == 3


def test_a_role_that_random_weights_could_not_be_asked_for_is_not_sure(monkeypatch):
    monkeypatch.setattr("regard.inspection.heads.roles.BASELINE_SENTENCES", 5)
    model = small_model("sinusoidal")
    mixed = [example if i % 3 else without_gold(example) for i, example in enumerate(EXAMPLES[:15])]
    with alter(model, plant_roles(model, "decoder.1.cross", ["alignment"] * 4, EXAMPLES[:15])):
        fits = fit_all_patterns(model, mixed, TokenCounts.from_examples(mixed))
    analyses = [
        analysis
        for analysis in analyze_heads(model, mixed, model, pattern_fits=fits)
        if analysis.head.attention_name == "decoder.1.cross"
    ]
    alignment_roles = [role for analysis in analyses for role in analysis.roles if role.name == "alignment"]
    assert len(alignment_roles) == 4 and all(
        role.lift > 0.8 and role.baseline is None and not role.is_reliable for role in alignment_roles
    )


@pytest.mark.parametrize(("count", "sure"), [(1, False), (9, False), (10, True)])
def test_a_role_needs_ten_sentences_that_have_its_pattern(count, sure):
    model = small_model("sinusoidal")
    few = [*EXAMPLES[:count], *map(without_gold, EXAMPLES[count:13])]
    with alter(model, plant_roles(model, "decoder.1.cross", ["alignment"] * 4, EXAMPLES[:13])):
        (analysis, *_) = [
            analysis for analysis in analyze_heads(model, few) if analysis.head.attention_name == "decoder.1.cross"
        ]
    role = next(role for role in analysis.roles if role.name == "alignment")
    assert role.lift > 0.8 and role.is_reliable == sure and (role.low is None) == (role.high is None) == (not sure)
    assert ("too few sentences for an interval" in role.format_interval()) == (not sure)


def test_rows_are_queries_and_minus_one_is_the_token_before():
    assert np.array_equal(offset_pattern(4, 1), np.eye(4, 4, 1, dtype=bool))  # query i attends to i + 1
    assert np.array_equal(offset_pattern(4, -1), np.eye(4, 4, -1, dtype=bool))
    assert np.argwhere(duplicate_pattern([7, 8, 7, 7])).tolist() == [[2, 0], [3, 0], [3, 2]]
    assert np.argwhere(induction_pattern([7, 8, 7])).tolist() == [[2, 1]]
    assert not block_pattern(EXAMPLES[0].source)[-1].any() and block_pattern(EXAMPLES[0].source)[0, 0]


def test_a_row_of_cross_attention_is_the_one_that_writes_its_word():
    """w1 w2 </s> is predicted from <s> w1 w2: the first row predicts a word, the last one eos."""
    source, decoder_input, target = (
        tokens_from_ids([21, 22, 23, EOS]),
        tokens_from_ids([BOS, 31, 32]),
        tokens_from_ids([31, 32, EOS]),
    )
    example = Example(source, decoder_input, target, alignment=((2, 0), (0, 1)))
    patterns = build_patterns(example, "cross", TokenCounts({21: 5, 22: 5, 23: 1}, {}))
    separators, ends = np.argwhere(patterns["separator"]).tolist(), [[row, 3] for row in (0, 1)]
    assert [cell for cell in separators if cell[1] == 3] == ends and not patterns["separator"][2].any()
    assert np.argwhere(patterns["rare"]).tolist() == [[0, 2], [1, 2]]
    assert np.argwhere(patterns["alignment"]).tolist() == [[0, 2], [1, 0]]
    assert not build_patterns(example, "decoder", TokenCounts({}, {}))["separator"][
        0
    ].any()  # here the row of <s> is a special token


def test_confidence_leaves_the_end_of_a_sentence_out():
    model = small_model("sinusoidal")
    sharp = {
        f"{site.path}.weights": partial(_sharp_at, -1) for site in attention_sites(model) if site.kind != "decoder"
    }
    with alter(model, sharp):
        statistics_by_site = {
            analysis.head.attention_name: analysis.statistics for analysis in analyze_heads(model, EXAMPLES[:2])
        }
    for name in ("encoder.0.self", "decoder.1.cross"):
        assert (
            statistics_by_site[name].confidence == pytest.approx(1 / 17)
            and statistics_by_site[name].entropy < np.log(17) * 0.999
        )


def _sharp_at(row, weights):
    """Weights that are uniform but for one row, which attends to the first key alone."""
    new = torch.full_like(weights, 1 / weights.shape[-1])
    new[:, :, row] = torch.eye(weights.shape[-1])[0].to(weights)
    return new


def test_uniform_attention_has_no_lift_and_a_perfect_head_has_one():
    attn_mask = np.tril(np.ones((6, 6), dtype=bool))
    pattern = offset_pattern(6, -1)
    uniform = torch.from_numpy(attn_mask / attn_mask.sum(axis=1, keepdims=True))[None]
    perfect = torch.from_numpy(np.where(np.arange(6)[:, None] == 0, np.eye(6), pattern.astype(float)))[None]
    assert statistics.fit_pattern(uniform, pattern, attn_mask).lift()[0] == pytest.approx(0)
    assert statistics.fit_pattern(perfect, pattern, attn_mask).lift()[0] == pytest.approx(1)
    assert statistics.fit_pattern(perfect, pattern, attn_mask).argmax_rate()[0] == 1
    assert statistics.fit_pattern(perfect, offset_pattern(6, 0), attn_mask).lift()[0] < 0


def test_entropy_is_that_of_so_many_keys_and_order_does_not_matter():
    uniform = torch.full((1, 2, 16), 1 / 16)
    assert statistics.entropy(uniform)[0, 0].exp() == pytest.approx(16, rel=1e-5)
    one_hot = torch.nn.functional.one_hot(torch.tensor([3]), 16).float()
    assert statistics.entropy(one_hot) == 0 and statistics.confidence(one_hot) == 1
    torch.manual_seed(1)
    w = torch.randn(3, 16).softmax(-1)
    torch.testing.assert_close(statistics.entropy(w), statistics.entropy(w[:, torch.randperm(16)]))
    assert statistics.mean_distance(torch.eye(5)[[0, 0, 1, 2, 3]])[1:].tolist() == [1, 1, 1, 1]
    assert statistics.distance_variance(torch.eye(5)[[0, 0, 1, 2, 3]]).tolist() == [0] * 5
    halves = torch.tensor([[0.5, 0.0, 0.5], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]])
    assert statistics.distance_variance(halves).tolist() == [1, 0, 0]  # 0 or 2 away; 1 away either way; 0 away
    assert statistics.distance_variance(torch.tensor([[0.5, 0, 0, 0, 0.5]] * 5))[0] == 4  # 0 or 4 away


def test_evenness_is_one_for_even_rows_however_many_keys_they_have():
    attn_mask = torch.ones(5, 5).tril().bool()
    uniform = attn_mask / attn_mask.sum(dim=1, keepdim=True)
    entropies = statistics.normalized_entropy(uniform, attn_mask)
    assert entropies[0].isnan() and entropies[1:].tolist() == pytest.approx([1, 1, 1, 1])
    assert statistics.normalized_entropy(torch.eye(5), attn_mask)[1:].tolist() == [0, 0, 0, 0]
    analyses = analyze_heads(small_model("sinusoidal"), EXAMPLES[:5])
    assert all(
        0.5 < analysis.statistics.normalized_entropy <= 1 and analysis.statistics.entropy > 1 for analysis in analyses
    )  # random: nearly uniform
    assert {analysis.head.kind for analysis in analyses if analysis.statistics.mean_distance is None} == {"cross"}
    assert all(
        (analysis.statistics.distance_std is None) == (analysis.statistics.mean_distance is None)
        for analysis in analyses
    )


def test_one_long_sentence_weighs_as_much_as_it_has_rows_or_as_one():
    """Lift 1 in eight rows of one sentence, 0 in the two of another: by rows 0.8, by sentences 0.5."""
    fit = statistics.PatternFit(np.array([[8.0], [0.5]]), np.zeros((2, 1)), np.array([2.0, 0.5]), np.array([8.0, 2.0]))
    assert fit.lift()[0] == pytest.approx((8.5 - 2.5) / (10 - 2.5)) and fit.macro_lift()[0] == pytest.approx(0.5)
    empty = statistics.PatternFit(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(2), np.zeros(2))
    assert np.isnan(empty.macro_lift()).all()


def test_weights_dealt_out_anew_have_no_lift():
    """Permuting the weights of every row removes the lift."""
    attn_mask = np.tril(np.ones((17, 17), dtype=bool))
    sharp = torch.from_numpy(np.where(np.arange(17)[:, None] == 0, np.eye(17), offset_pattern(17, -1).astype(float)))
    permuted = sharp.expand(400, -1, -1).gather(2, statistics.random_permutations(torch.from_numpy(attn_mask), 400))
    assert_close(permuted.sum(dim=2), torch.ones(400, 17, dtype=torch.float64))
    assert not permuted[:, ~torch.from_numpy(attn_mask)].any()
    assert statistics.fit_pattern(sharp[None], offset_pattern(17, -1), attn_mask).lift()[0] == pytest.approx(1)
    assert abs(statistics.fit_pattern(permuted, offset_pattern(17, -1), attn_mask).lift().mean()) < 0.02


def test_a_fixed_distance_is_known_for_every_relation():
    assert 0 < best_offset_accuracy(EXAMPLES, "verb to subject", "encoder") < 0.5
    assert best_offset_accuracy([], "verb to subject", "encoder") == 0


def test_every_role_has_its_letter_and_its_place():
    assert set(ROLE_ORDER) == set(ROLE_LETTERS)


def test_an_aligning_head_is_the_best_aligner_and_words_sum_to_one():
    model = small_model("sinusoidal")
    with alter(model, plant_roles(model, "decoder.1.cross", ["rare", "alignment", "diagonal", "separator"], EXAMPLES)):
        ranking = rank_alignment_heads(model, EXAMPLES)
    best, alignment = ranking.best
    assert str(best) == "decoder.1.cross.1" and alignment.counts.aer < 0.01
    assert [*ranking.heads.values()][-1].counts.aer > 0.5
    assert alignment.counts.aer < ranking.average.counts.aer < 0.5
    assert alignment.links[3] == set(EXAMPLES[3].alignment)
    torch.manual_seed(1)
    w = torch.randn(17, 17).softmax(-1)
    words = merge_subwords(w, EXAMPLES[0].target, EXAMPLES[0].source)
    torch.testing.assert_close(words.sum(dim=1), torch.ones(16))
    assert format_pharaoh([(2, 1), (0, 0)]) == "0-0 2-1"


@pytest.mark.parametrize("links", [None, ()])
def test_without_gold_aligners_are_judged_by_their_shape(links):
    model, bare = small_model("sinusoidal"), [replace(example, alignment=links) for example in EXAMPLES[:5]]
    with alter(
        model, plant_roles(model, "decoder.1.cross", ["rare", "separator", "alignment", "vertical"], EXAMPLES[:5])
    ):
        ranking = rank_alignment_heads(model, bare)
    assert not has_gold(bare) and has_gold(EXAMPLES)
    best, alignment = ranking.best
    assert not ranking.judged_by_gold and str(best) == "decoder.1.cross.2"
    assert alignment.penalty == min(candidate.penalty for candidate in ranking.heads.values())
