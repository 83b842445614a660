"""Pruning goes in stages of a tenth, each with the loss that is left; fits count only rows that can be wrong."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.config import Head
from regard.errors import ModelError
from regard.inspection.example import tokens_from_ids
from regard.inspection.heads.alignment import merge_subwords
from regard.inspection.heads.importance import head_importance
from regard.inspection.heads.statistics import distance_variance, fit_pattern, fit_vertical, mean_distance
from regard.inspection.pruning import gates
from regard.inspection.pruning.order import feasible_head_count, parse_head_count, prune_by_gates, prune_by_importance
from regard.inspection.trace import _restore_pruned_heads, attention_sites
from regard.tasks.translate.loss import TranslationLoss
from tests.inspection.conftest import config_of, model_of


@pytest.fixture(scope="module")
def model():
    return model_of(config_of({"kind": "sinusoidal"}, dim=20, heads=5)).double()  # six attentions, thirty heads


def test_gates_are_shut_in_their_order_and_a_stage_is_a_tenth(model, examples):
    heads = [head for site in attention_sites(model) for head in site.heads]
    order = [heads[i] for i in torch.randperm(30, generator=torch.Generator().manual_seed(3)).tolist()]
    stages = list(prune_by_gates(model, examples, order, keep=19))
    assert [stage.num_heads for stage in stages] == [30, 27, 24, 21, 19]
    for stage in stages:
        assert stage.pruned_heads == tuple(order[: 30 - stage.num_heads])
    few = list(prune_by_gates(model, examples, order, keep=1))[-1]
    assert few.num_heads == 6 and len({head.attention_name for head in set(heads) - set(few.pruned_heads)}) == 6
    assert [stage.num_heads for stage in prune_by_gates(model, examples, order, keep=30)] == [30]


def test_of_few_heads_each_is_a_stage(examples):
    """A tenth of less than five heads is none; one goes all the same."""
    few = model_of(config_of({"kind": "none"}, heads=2, layers=1, pruned=("encoder.0.self.0", "decoder.0.self.1")))
    heads = [head for site in attention_sites(few) for head in site.heads]
    for stages in (prune_by_gates(few, examples, heads, keep=3), prune_by_importance(few, examples, keep=3)):
        assert [stage.num_heads for stage in stages] == [4, 3]
    six = model_of(config_of({"kind": "none"}, heads=2, layers=1))
    heads = [head for site in attention_sites(six) for head in site.heads]
    for stages in (prune_by_gates(six, examples, heads, keep=3), prune_by_importance(six, examples, keep=3)):
        assert [stage.num_heads for stage in stages] == [6, 5, 4, 3]


def test_the_first_stage_has_the_loss_of_the_whole_model(model, examples):
    from regard.data.batch import collate

    first = next(prune_by_importance(model, examples, keep=12))
    sides = [(list(example.source.ids[:-1]), list(example.target.ids[:-1])) for example in examples]
    batch = collate(*zip(*sides, strict=True))
    with torch.no_grad():
        totals = TranslationLoss(model, 0.0).eval()(batch)
    assert first.loss == pytest.approx(float(totals.loss) / batch.num_targets) and first.pruned_heads == ()


def test_the_least_important_go_first_by_new_estimates(model, examples):
    stages = list(prune_by_importance(model, examples, keep=23))
    assert [stage.num_heads for stage in stages] == [30, 27, 24, 23]
    done: list[Head] = []
    for stage in stages[1:]:
        values = head_importance(model, examples, done, normalize_by_layer=False)
        new = stage.pruned_heads[len(done) :]
        left = [head for head in values if head not in done]
        assert list(new) == sorted(left, key=values.__getitem__)[: len(new)]
        done = list(stage.pruned_heads)


def test_how_many_can_be_kept(model):
    assert [feasible_head_count(model, keep) for keep in (1, 5, 6, 7, 30)] == [6, 6, 6, 7, 30]
    for keep in (0, 31):
        with pytest.raises(ModelError, match=f"--keep {keep}: the model has 30 heads"):
            feasible_head_count(model, keep)
    assert [parse_head_count(text, 30) for text in ("50%", " 10% ", "1%", "100%", "33.4%", "7")] == [
        15, 3, 1, 30, 11, 7,
    ]  # fmt: skip
    for text in ("0", "31", "0%", "101%", "x", "2.5", "nan%"):
        with pytest.raises(ModelError, match=f"--keep {text}: "):
            parse_head_count(text, 30)


def test_the_share_of_open_gates_is_their_probability():
    log_alpha = torch.linspace(-3, 3, 7)
    u = torch.rand(200_000, 7, generator=torch.Generator().manual_seed(3)).clamp(1e-6, 1 - 1e-6)
    samples = gates.sample_hard_concrete(log_alpha, u)
    assert float(samples.min()) == 0 and float(samples.max()) == 1
    torch.testing.assert_close((samples > 0).float().mean(0), gates.open_probability(log_alpha), rtol=0, atol=0.005)


def test_gates_leave_the_model_as_it_was_and_follow_their_seed(model, examples):
    before = [parameter.clone() for parameter in model.parameters()]
    one, same, other = (gates.learn_gates(model, examples, 3, 0.1, seed=seed) for seed in (1, 1, 2))
    assert one == same != other and len(one) == 30
    assert all(torch.equal(a, b) and b.requires_grad for a, b in zip(before, model.parameters(), strict=True))
    shut = gates.learn_gates(model, examples, 12, 100.0)
    assert max(shut.values()) < min(one.values()) < gates.INITIAL_LOG_ALPHA + 1


def test_rows_that_cannot_be_wrong_are_left_out_of_a_fit():
    rng = np.random.default_rng(3)
    weights = torch.from_numpy(rng.dirichlet(np.ones(5), (2, 4)))
    mask = np.ones((4, 5), dtype=bool)
    mask[0, 2:] = False  # two keys
    pattern = np.zeros((4, 5), dtype=bool)
    pattern[0, :2] = pattern[2, 1] = pattern[3, 2:4] = True  # all of its keys, none, one and two of five
    fit = fit_pattern(weights, pattern, mask)
    w = weights.numpy()
    assert fit.rows.tolist() == [2] and fit.chance == pytest.approx([1 / 5 + 2 / 5])
    assert fit.mass[0] == pytest.approx(w[:, 2, 1] + w[:, 3, 2:4].sum(-1))
    hits = (w[:, 2].argmax(-1) == 1).astype(int) + np.isin(w[:, 3].argmax(-1), (2, 3))
    assert fit.hits[0].tolist() == hits.tolist()
    assert fit.lift() == pytest.approx((fit.mass[0] - 0.6) / (2 - 0.6))
    assert fit.argmax_rate() == pytest.approx(hits / 2)


def test_a_vertical_pattern_is_the_heaviest_column_of_rows_with_a_choice():
    rng = np.random.default_rng(5)
    weights = torch.from_numpy(rng.dirichlet(np.ones(4), (3, 4)))
    mask = np.tril(np.ones((4, 4), dtype=bool))
    weights = weights * torch.from_numpy(mask)
    weights = weights / weights.sum(-1, keepdim=True)
    fit = fit_vertical(weights, mask)
    rows = weights.numpy()[:, 1:]  # the first row has one key
    best = rows.sum(1).argmax(-1)
    assert fit.rows.tolist() == [3] and fit.chance == pytest.approx([1 / 2 + 1 / 3 + 1 / 4])
    assert fit.mass[0] == pytest.approx([rows[h, :, best[h]].sum() for h in range(3)])
    assert fit.hits[0].tolist() == [int((rows[h].argmax(-1) == best[h]).sum()) for h in range(3)]


def test_distances_are_those_of_positions():
    weights = torch.tensor([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.25, 0.5, 0.25]], dtype=torch.double)
    assert mean_distance(weights).tolist() == [1.0, 0.0, 1.0]
    assert distance_variance(weights).tolist() == [1.0, 0.0, 0.5]


def test_pruned_heads_have_their_places_and_no_weight():
    pruned = model_of(
        config_of({"kind": "sinusoidal"}, dim=20, heads=5, pruned=("decoder.0.cross.1", "decoder.0.cross.4"))
    )
    attention = pruned.decoder.layers[0].cross_attn
    weights = torch.rand(2, 3, 7, 11)
    found = _restore_pruned_heads(weights, attention)
    assert found.shape == (2, 5, 7, 11) and torch.equal(found[:, [0, 2, 3]], weights) and not found[:, [1, 4]].any()
    whole = pruned.decoder.layers[1].cross_attn
    assert _restore_pruned_heads(torch.rand(2, 5, 7, 11), whole).shape == (2, 5, 7, 11)


def test_a_word_that_attends_to_special_tokens_alone_has_no_weights():
    side = tokens_from_ids([7, 8, 3])
    bare = replace(side, word_ids=(0, 1, -1), words=side.words[:2])
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    found = merge_subwords(weights, bare, bare)
    assert torch.allclose(found, torch.tensor([[2 / 3, 1 / 3], [0.0, 0.0]]))
    cut = replace(bare, words=(*bare.words, "more"))  # a word that no token covers
    found = merge_subwords(weights, cut, bare)
    assert torch.allclose(found, torch.tensor([[2 / 3, 1 / 3], [0.0, 0.0], [0.0, 0.0]]))
