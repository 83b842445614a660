"""Parts of scores and layers by their own formulas: means, norms, regressions on distance, rollouts."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.inspection.flow import decompose, norms, rollout
from regard.inspection.flow.decompose import PARTS, TERM_NAMES, PositionMeans, VectorDecomposition
from regard.inspection.trace import attention_sites, trace_forward
from tests.inspection.conftest import config_of, example_of, model_of


def random(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_a_vector_is_split_by_the_means_that_are_known():
    x, means = random(5, 3), PositionMeans(random(3, seed=5), random(2, 3, seed=7))
    parts = means.split(x)
    for t in range(5):
        position = means.by_position[t] - means.overall if t < 2 else torch.zeros(3).double()
        assert_close(parts.position[t], position)
        assert_close(parts.constant[t], means.overall)
        assert_close(parts.content[t], x[t] - position - means.overall)
    longer = PositionMeans(means.overall, random(7, 3)).split(x)
    assert_close(longer.position, random(7, 3)[:5] - means.overall)
    nothing = decompose.zero_means(x).split(x)
    assert torch.equal(nothing.content, x) and not nothing.position.any() and not nothing.constant.any()


def test_parts_are_mapped_one_by_one_and_a_bias_joins_the_constant():
    parts = VectorDecomposition(random(5, 3), random(5, 3, seed=5), random(5, 3, seed=7))
    doubled = parts.map(lambda part: 2 * part).add_constant(torch.ones(3).double())
    assert_close(doubled.content, 2 * parts.content)
    assert_close(doubled.position, 2 * parts.position)
    assert_close(doubled.constant, 2 * parts.constant + 1)
    assert_close(doubled.sum(), 2 * (parts.content + parts.position + parts.constant) + 1)


@pytest.mark.parametrize(("sentences", "needed"), [(1, 2), (8, 2), (11, 2), (12, 3), (47, 11), (48, 12), (90, 12)])
def test_a_quarter_of_a_small_corpus_must_reach_a_position(sentences, needed):
    for reached in (needed - 1, needed):
        if reached <= sentences:
            sums = decompose._PositionSums()
            for n in range(sentences):
                sums.add(torch.full((5 if n < reached else 3, 2), float(n)))
            known = 0 if sentences < needed else 5 if reached == needed else 3
            assert len(sums.means().by_position) == known, (reached, known)


def test_sums_grow_with_the_longest_sentence():
    """By one position, by several, and not at all."""
    streams = [random(length, 2, seed=length) for length in (3, 4, 2, 7, 7)]
    sums = decompose._PositionSums()
    for stream in streams:
        sums.add(stream)
    for t, (total, count) in enumerate(zip(sums.sums, sums.counts.tolist(), strict=True)):
        there = [stream[t] for stream in streams if len(stream) > t]
        assert_close(total, torch.stack(there).sum(0))
        assert count == len(there)
    assert len(sums.sums) == 7
    assert_close(sums.means().overall, torch.cat(streams).mean(0))


def test_ten_terms_are_six_and_a_rotated_constant_is_a_distance():
    terms = {f"{a}·{b}": random(2, 3, 3, seed=n) for n, (a, b) in enumerate(itertools.product(PARTS, PARTS))}
    terms["distance"] = random(2, 3, 3, seed=11)
    for rotary in (False, True):
        found = decompose._group_terms(terms, rotary)
        assert found.shape == (2, 6, 3, 3)
        for n, name in enumerate(TERM_NAMES[:4]):
            assert_close(found[:, n], terms[name])
        moved = terms["constant·constant"]
        constants = sum(term for name, term in terms.items() if "constant" in name and name != "constant·constant")
        assert_close(found[:, 4], constants if rotary else constants + moved)
        assert_close(found[:, 5], terms["distance"] + moved if rotary else terms["distance"])


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary", "concatenated"])
def test_terms_are_products_of_parts_that_are_normalized_and_projected(kind, examples):
    model = model_of(config_of({"kind": kind, "width": 6} if kind == "concatenated" else {"kind": kind})).double()
    traces = [trace_forward(model, example) for example in examples]
    means = decompose.compute_corpus_means(model, traces)
    for name in ("encoder.0.self", "decoder.1.cross"):
        attn = traces[0].attentions[name]
        attention = attn.site.attention
        found = decompose.decompose_scores(model, traces[0], attn, means).terms
        query_parts = decompose._query_parts(model, traces[0], attn, means)
        key_parts = decompose._key_parts(model, traces[0], attn, means)
        assert_close(query_parts.sum(), attn.query_input)
        assert_close(key_parts.sum(), attn.key_input)
        with torch.no_grad():
            sides = []
            for linear, parts, ids in (
                (attention.q_proj, query_parts, attn.query_position_ids),
                (attention.k_proj, key_parts, attn.key_position_ids),
            ):
                side = {}
                for part in PARTS:
                    rows = getattr(parts, part) @ linear.weight.T + (linear.bias if part == "constant" else 0)
                    heads = rows.unflatten(1, (3, 8)).transpose(0, 1)[None]
                    side[part] = attention.positions.rotate(heads, ids)[0]
                sides.append(side)
        for a, b in itertools.product(PARTS, PARTS):
            assert_close(found[f"{a}·{b}"], sides[0][a] @ sides[1][b].mT / math.sqrt(8))
        if name == "encoder.0.self" and kind == "rotary":  # all tokens share their mean
            assert_close(query_parts.position, torch.zeros_like(query_parts.position))
            assert query_parts.constant.std(dim=-1).min() > 0.01
        if name == "decoder.1.cross":
            streams = [trace.hidden_states["encoder.layers.1.out"] for trace in traces]
            assert_close(means.keys[name].overall, torch.cat(streams).mean(0))


def test_shares_are_covariances_with_the_whole_over_its_variance():
    terms, mask = random(2, 3, 4, 5), torch.ones(2, 4, 5).bool()
    mask[0, 1, 2:] = mask[1, 3, :] = False
    shares = decompose.term_shares(terms, mask)
    for h in range(2):
        products, squares = torch.zeros(3).double(), 0.0
        for i in range(4):
            keys = mask[h, i].nonzero()[:, 0]
            if len(keys):
                row = terms[h, :, i, keys]
                row = row - row.mean(dim=1, keepdim=True)
                products += row @ row.sum(dim=0)
                squares += float(row.sum(dim=0).square().sum())
        assert_close(shares[h], products / squares)


def test_a_fit_by_distance_is_a_regression_on_rows_and_distances(examples):
    """Ordinary least squares with an indicator for each row and each distance."""
    model = model_of(config_of({"kind": "bias", "length": 64})).double()
    with torch.no_grad():
        for site in attention_sites(model):
            if site.kind != "cross":
                site.attention.positions.table.mul_(9)  # so that distances explain a part, and not all
    for name in ("encoder.0.self", "decoder.1.self"):
        attns = [trace_forward(model, example).attentions[name] for example in examples[:3]]
        found = decompose.fit_toeplitz(attns).adjusted_r2
        cells = [
            (s, i, j)
            for s, attn in enumerate(attns)
            for i in range(len(attn.attn_mask))
            for j in range(len(attn.attn_mask))
            if attn.attn_mask[i, j] and attn.attn_mask[i].sum() > 1
        ]
        rows, apart = sorted({c[:2] for c in cells}), sorted({j - i for _, i, j in cells})
        design = np.array(
            [[c[:2] == r for r in rows] + [c[2] - c[1] == d for d in apart] for c in cells], dtype=np.float64
        )
        by_row = design[:, : len(rows)]
        for h in range(3):
            y = np.array([float(attns[s].scores[h, i, j]) for s, i, j in cells])
            residual = ((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum()
            total = ((y - by_row @ np.linalg.lstsq(by_row, y, rcond=None)[0]) ** 2).sum()
            left = len(y) - np.linalg.matrix_rank(design)
            expected = 1 - residual / left / (total / (len(y) - len(rows)))
            assert found[h] == pytest.approx(min(1, max(0, expected)), abs=1e-8) and 0 < expected < 1


def test_each_head_with_a_mask_of_its_own_has_its_own_fit():
    model = model_of(config_of({"kind": "alibi", "sides": "two-sided"})).double()
    attn = trace_forward(model, example_of([7, 9, 11, 13, 8, 5], [9])).attentions["encoder.0.self"]
    found = decompose.toeplitz_r2(attn)
    for h in range(3):
        single = replace(attn, scores=attn.scores[[h]])
        assert found[h] == pytest.approx(decompose.fit_toeplitz([single]).adjusted_r2[0])
    constant = decompose.ToeplitzFit(np.eye(2), np.zeros((2, 1)), np.zeros(1), 5)
    assert np.isnan(constant.adjusted_r2).all()
    assert np.isnan(decompose.ToeplitzFit(np.eye(2), np.ones((2, 1)), np.ones(1), 2).adjusted_r2).all()
    perfect = decompose.ToeplitzFit(np.eye(2), np.ones((2, 1)), np.full(1, 2.0), 3)
    assert perfect.adjusted_r2 == pytest.approx(1)


@pytest.mark.parametrize("norm_kind", ["layer", "rms"])
def test_parts_of_a_layer_are_its_vectors_one_by_one(norm_kind, examples):
    """After a norm: each part by the deviation of the whole, and biases apart."""
    for norm in ("pre", "post"):
        model = model_of(config_of({"kind": "sinusoidal"}, norm=norm, norm_kind=norm_kind)).double()
        trace = trace_forward(model, examples[0])
        for attn in trace.attentions.values():
            found, given = norms.layer_contributions(attn), norms.key_contributions(attn)
            own_norm, whole = attn.site.residual.norm, attn.residual_stream + attn.out
            out_bias = attn.site.attention.out_proj.bias.detach()
            for i in range(len(whole)):

                def normed(part, i=i, whole=whole, own_norm=own_norm, norm=norm):
                    if norm == "pre":
                        return part
                    weight = own_norm.weight.detach()
                    if norm_kind == "rms":
                        return weight * part / math.sqrt(float(whole[i].square().mean()) + own_norm.epsilon)
                    size = math.sqrt(float(whole[i].var(correction=0)) + own_norm.epsilon)
                    return weight * (part - part.mean()) / size

                is_self = attn.site.kind != "cross"
                for j in range(given.shape[1]):
                    extra = attn.residual_stream[i] if is_self and i == j else 0
                    assert_close(found.by_key[i, j], normed(given[i, j] + extra))
                assert_close(found.residual[i], normed(attn.residual_stream[i]) * (0 if is_self else 1))
                shift = own_norm.bias.detach() if norm == "post" and norm_kind == "layer" else 0
                bias = found.bias if found.bias.dim() == 1 else found.bias[i]
                assert_close(bias.detach(), normed(out_bias) + shift)


def test_shares_of_heads_and_keys_are_projections_on_the_output(examples):
    for kind in ({"kind": "relative", "values": True}, {"kind": "none"}):
        model = model_of(config_of(kind)).double()
        attn = trace_forward(model, examples[3]).attentions["encoder.1.self"]
        shares = norms.signed_shares(attn)
        for key in range(shares.shape[2]):
            vectors = norms.head_contributions(attn, key)  # (H, Tq, D)
            for h, i in itertools.product(range(3), range(shares.shape[1])):
                y = attn.out[i]
                assert float(shares[h, i, key]) == pytest.approx(float(vectors[h, i] @ y) / float(y @ y))
        values = attn.v.transpose(0, 1).flatten(1)  # (Tk, D)
        weight = attn.site.attention.out_proj.weight.detach()
        for h in range(3):
            expected = values[:, 8 * h : 8 * h + 8] @ weight[:, 8 * h : 8 * h + 8].T
            assert_close(norms.value_contributions(attn)[h], expected)
            assert_close(norms.value_norms(attn)[h], expected.norm(dim=1))


def test_a_rollout_is_a_product_of_layers_with_their_residual():
    layers = [random(4, 4, seed=n).softmax(-1) for n in range(3)]
    ratios = [random(4, seed=n).sigmoid() for n in range(3)]
    plain = measured = np.eye(4)
    for weights, ratio in zip(layers, ratios, strict=True):
        plain = (np.eye(4) + weights.numpy()) / 2 @ plain
        step = np.zeros((4, 4))
        for i, r in enumerate(ratio.tolist()):
            others = sum(float(weights[i, j]) for j in range(4) if j != i)
            for j in range(4):
                step[i, j] = 1 - r if i == j else r * float(weights[i, j]) / others
        measured = step @ measured
    assert rollout.attention_rollout(layers).numpy() == pytest.approx(plain)
    assert rollout.attention_rollout(layers, ratios).numpy() == pytest.approx(measured)
    thin = rollout.add_residual(torch.tensor([[0.2, 0.2], [0.0, 0.0]]).double(), 0.25)
    assert_close(thin, torch.tensor([[0.8 / 0.85, 0.05 / 0.85], [0.0, 1.0]]).double())


def test_a_decoder_rolls_out_its_own_past_and_then_the_source():
    encoder = random(3, 3).softmax(-1)
    own = [random(4, 4, seed=n).tril().abs() for n in (1, 2)]
    own = [weights / weights.sum(1, keepdim=True) for weights in own]
    cross = [random(4, 3, seed=n).softmax(-1) for n in (5, 6)]
    ratios = [(random(4, seed=n).sigmoid(), random(4, seed=n + 9).sigmoid()) for n in (1, 2)]
    for given in (None, ratios):
        source, target = torch.zeros(4, 3).double(), torch.eye(4).double()
        for layer in (0, 1):
            if given is None:
                step, mixed = rollout.add_residual(own[layer]), torch.full((4, 1), 0.5).double()
            else:
                step = rollout.add_measured_residual(own[layer], given[layer][0])
                mixed = given[layer][1][:, None]
            source = (1 - mixed) * (step @ source) + mixed * (cross[layer] @ encoder)
            target = (1 - mixed) * (step @ target)
        found = rollout.encoder_decoder_rollout(encoder, own, cross, given)
        assert_close(found.source, source)
        assert_close(found.target, target)
        assert_close(found.source_share, source.sum(1))


def test_rows_differ_by_the_mean_of_all_pairs():
    rows = random(5, 7).abs()
    shares = rows / rows.sum(1, keepdim=True)
    pairs = [float((a - b).abs().sum()) / 2 for a, b in itertools.combinations(shares, 2)]
    assert rollout.mean_total_variation(rows) == pytest.approx(sum(pairs) / len(pairs))
    assert rollout.mean_total_variation(rows[:1]) == 0
    assert rollout.mean_total_variation(torch.zeros(3, 2)) == 0


def test_a_field_is_the_union_of_what_the_best_keys_have_reached():
    layers = [random(2, 7, 7, seed=n) for n in range(3)]
    fields = [{i} for i in range(7)]
    for weights in layers:
        fields = [fields[i] | {x for h in range(2) for x in fields[int(weights[h, i].argmax())]} for i in range(7)]
    assert rollout.receptive_fields(layers) == fields


def test_the_longest_sentence_that_has_a_flow_is_as_long_as_allowed(monkeypatch):
    monkeypatch.setattr(rollout, "MAX_FLOW_TOKENS", 3)
    eye = {n: torch.eye(n).double() for n in (2, 3, 4)}
    wide, high = torch.full((2, 4), 0.25).double(), torch.full((4, 2), 0.5).double()
    assert rollout.attention_flow([eye[3]]) is not None and rollout.attention_flow([eye[4]]) is None
    assert rollout.encoder_decoder_flow([eye[4]], [eye[2]], [wide]) is None
    assert rollout.encoder_decoder_flow([eye[2]], [eye[4]], [high]) is None
    flow = rollout.encoder_decoder_flow([eye[3]], [eye[3]], [eye[3]])
    assert_close(flow, 0.5 * eye[3], rtol=0, atol=1e-6)


def test_embeddings_are_tokens_and_positions_and_the_rest_is_constant():
    model = model_of(config_of({"kind": "sinusoidal"}, embedding_norm=True)).double()
    embedding, ids = model.encoder.embedding, torch.tensor([5, 9, 5])
    position_ids = torch.arange(3)[None]
    parts = decompose.decompose_embedding(embedding, ids, position_ids)
    with torch.no_grad():
        assert_close(parts.sum(), embedding(ids[None], position_ids)[0])
        assert_close(parts.constant, embedding.norm.bias.expand(3, -1))
    assert not torch.allclose(parts.content[0], parts.content[2])  # one token, by the deviation of each place
