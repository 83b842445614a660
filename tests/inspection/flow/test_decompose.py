"""Decompositions add up: scores, outputs, layers and shares, for every position encoding, pre-norm and post-norm."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.inspection.flow import decompose, norms
from regard.inspection.trace import attention_sites, attention_weights, trace_forward
from regard.model.taps import attention_path, record
from tests.inspection.conftest import config_of, example_of, model_of

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def model(request, positions, norm, norm_kind):
    more = {"norm": norm, "norm_kind": norm_kind, "bias": norm_kind == "layer", "embedding_norm": norm_kind == "layer"}
    return model_of(config_of(positions, **more)).to(request.param)


def off(actual, expected, *terms) -> float:
    """The largest difference, relative to the largest term."""
    largest = max(float(term.abs().max()) for term in (expected, *terms))
    return float((actual - expected).detach().abs().max()) / largest


def visible(terms: decompose.ScoreTerms, tensor):
    return tensor.masked_fill(~terms.attn_mask, 0.0)


def test_the_ten_terms_and_the_six_add_up_to_the_scores(model, examples):
    traces = [trace_forward(model, example) for example in examples]
    means = decompose.compute_corpus_means(model, traces)
    for name, attn in traces[0].attentions.items():
        for corpus_means in (None, means):
            terms = decompose.decompose_scores(model, traces[0], attn, corpus_means)
            parts = [visible(terms, part) for part in terms.terms.values()]
            total, tolerance = visible(terms, attn.scores), TOLERANCE[attn.scores.dtype]
            assert off(sum(parts), total, *parts) < tolerance, name
            six = [visible(terms, part) for part in terms.grouped_terms.unbind(1)]
            assert off(sum(six), total, *six) < tolerance, name


def test_terms_of_normalized_queries_and_keys_add_up_too(examples):
    model = model_of(config_of({"kind": "rotary"}, qk_norm=True)).double()
    trace = trace_forward(model, examples[0])
    for attn in trace.attentions.values():
        terms = decompose.decompose_scores(model, trace, attn, decompose.compute_corpus_means(model, [trace]))
        parts = [visible(terms, part) for part in terms.terms.values()]
        assert off(sum(parts), visible(terms, attn.scores), *parts) < 1e-12


def test_shares_of_terms_sum_to_one_and_what_all_keys_share_has_none(model, examples):
    trace = trace_forward(model, examples[0])
    attn = trace.attentions["encoder.1.self"]
    terms = decompose.decompose_scores(model, trace, attn)
    shares = decompose.term_shares(terms.grouped_terms, terms.attn_mask)
    tolerance = TOLERANCE[shares.dtype] * max(1.0, float(shares.abs().max()))
    assert_close(shares.sum(dim=1), torch.ones_like(shares[:, 0]), rtol=0, atol=tolerance)
    same_for_all_keys = torch.randn(3, 1, len(attn.query_input), 1).expand(3, 1, *attn.scores.shape[1:]).to(attn.scores)
    more = decompose.term_shares(torch.cat((terms.grouped_terms, same_for_all_keys), dim=1), terms.attn_mask)
    assert float(more[:, -1].abs().max()) < tolerance


def test_what_each_key_hands_over_adds_up_to_what_attention_gives(model, examples):
    for attn in trace_forward(model, examples[1]).attentions.values():
        bias = attn.site.attention.out_proj.bias
        total = norms.key_contributions(attn).sum(dim=1) + (0 if bias is None else bias)
        assert off(total, attn.out) < TOLERANCE[attn.out.dtype]


def test_layers_with_residual_and_norm_add_up_to_what_they_hand_on(model, examples):
    trace = trace_forward(model, examples[1])
    for site in attention_sites(model):
        attn = trace.attentions[site.name]
        with torch.no_grad():
            after = attn.residual_stream + attn.out
            after = site.residual.norm(after) if model.encoder.norm.__class__.__name__ == "Identity" else after
        whole = norms.layer_contributions(attn)
        assert off(whole.sum(), after, whole.by_key) < TOLERANCE[attn.out.dtype]


def test_watched_and_fused_paths_give_the_same(model, examples):
    source, target = torch.tensor([examples[0].source.ids]), torch.tensor([examples[0].decoder_input.ids])
    with torch.no_grad():
        fused = model(source, target)
        with record(model, "*.weights"):
            watched = model(source, target)
    assert off(watched, fused) < TOLERANCE[fused.dtype]


def test_rows_sum_to_one_and_masked_cells_are_exactly_nought(positions, norm, examples):
    model = model_of(config_of(positions, norm=norm))
    for example, weights in zip(examples, attention_weights(model, examples), strict=True):
        for name, w in weights.items():
            assert_close(w.sum(dim=-1), torch.ones(w.shape[:-1]))
            if name.startswith("decoder") and name.endswith("self"):
                assert not w.triu(1).any(), name
        single = attention_weights(model, [example])[0]
        for name, w in weights.items():
            assert_close(w, single[name], rtol=0, atol=1e-5)  # padding of the batch changes nothing


def test_a_prefix_attends_as_the_full_target_does(positions):
    model = model_of(config_of(positions))
    example = example_of([5, 6, 7, 8], [9, 10, 11, 12])
    full = attention_weights(model, [example])[0]
    source, target = torch.tensor([example.source.ids]), torch.tensor([example.decoder_input.ids])
    for t in range(target.shape[1]):
        with torch.no_grad(), record(model, "decoder.*.weights") as activations:
            model(source, target[:, : t + 1])
        for name in ("decoder.0.self", "decoder.1.cross"):
            row = full[name][:, t]
            row = row[:, : t + 1] if name.endswith("self") else row
            assert_close(activations[f"{attention_path(name)}.weights"][0, :, t], row, rtol=0, atol=1e-5)


def test_without_positions_nothing_is_positional_in_the_first_layer(examples):
    model = model_of(config_of({"kind": "none"}))
    trace = trace_forward(model, examples[0])
    terms = decompose.decompose_scores(model, trace, trace.attentions["encoder.0.self"])
    for name in ("content·position", "position·content", "position·position", "distance"):
        assert not terms.terms[name].any()


@pytest.mark.parametrize(("kind", "separable"), [("sinusoidal", True), ("alibi", True), ("rotary", False)])
def test_without_a_corpus_terms_are_known_where_the_embedding_tells_them_apart(kind, separable, examples):
    model = model_of(config_of({"kind": kind}))
    trace = trace_forward(model, examples[0])
    known = {name for name, attn in trace.attentions.items() if decompose.can_decompose(attn, None)}
    assert known == ({"encoder.0.self", "decoder.0.self"} if separable else set())
    means = decompose.compute_corpus_means(model, [trace])
    assert all(decompose.can_decompose(attn, means) for attn in trace.attentions.values())


def test_moved_words_leave_the_terms_of_places_alone():
    model = model_of(config_of({"kind": "sinusoidal"}, norm="post")).double()
    one, two = (trace_forward(model, example_of(ids, [9, 10])) for ids in ([5, 6, 7, 8], [8, 5, 7, 6]))
    terms = [decompose.decompose_scores(model, trace, trace.attentions["encoder.0.self"]).terms for trace in (one, two)]
    assert_close(terms[0]["position·position"], terms[1]["position·position"], rtol=0, atol=1e-12)
    assert not torch.allclose(terms[0]["content·content"], terms[1]["content·content"])


def test_a_norm_for_each_part_would_not_add_up():
    """The reason for freezing the deviation."""
    model = model_of(config_of({"kind": "sinusoidal"}))
    norm = model.encoder.layers[0].self_attn_residual.norm
    parts = decompose.decompose_embedding(model.encoder.embedding, torch.tensor([5, 6, 7]), torch.arange(3)[None])
    with torch.no_grad():
        assert_close(decompose.normalize_parts(norm, parts).sum(), norm(parts.sum()))
        assert float((norm(parts.content) + norm(parts.position) - norm(parts.sum())).abs().max()) > 0.1


@pytest.mark.parametrize("kind", ["bias", "alibi", "none"])
def test_the_part_that_sees_distances_alone_is_told(kind, examples):
    model = model_of(config_of({"kind": kind, "length": 64} if kind == "bias" else {"kind": kind}))
    with torch.no_grad():
        for site in attention_sites(model):
            if kind != "none":
                site.attention.q_proj.weight.zero_()
                site.attention.q_proj.bias.zero_()
    attns = [trace_forward(model, example).attentions["encoder.0.self"] for example in examples]
    share = decompose.fit_toeplitz(attns).adjusted_r2
    assert (share > 0.999).all() if kind != "none" else (share < 0.5).all()


def test_a_position_that_too_few_sentences_reach_is_unknown_and_in_no_share():
    """Its terms would be 0, and all of its score content; the shares of the rest are those of a shorter sentence."""
    model = model_of(config_of({"kind": "sinusoidal"})).double()
    torch.manual_seed(3)
    short, long = ([torch.randint(4, 47, (n,)).tolist() for _ in range(count)] for n, count in ((5, 9), (11, 1)))
    traces = [trace_forward(model, example_of(ids, ids)) for ids in (*short, *long)]
    means = decompose.compute_corpus_means(model, traces)
    for name, attn in traces[-1].attentions.items():
        terms = decompose.decompose_scores(model, traces[-1], attn, means)
        num_queries, num_keys = attn.scores.shape[1:]
        if name in ("encoder.0.self", "decoder.0.self"):  # the embedding gives every position
            assert (terms.known_queries, terms.known_keys) == (num_queries, num_keys)
            continue
        assert (terms.known_queries, terms.known_keys) == (6, 6), name  # five tokens and the mark of an end
        assert torch.equal(terms.known_mask[:, :6, :6], terms.attn_mask[:, :6, :6])
        assert not terms.known_mask[:, 6:].any() and not terms.known_mask[:, :, 6:].any()
        shares = decompose.term_shares(terms.grouped_terms[:, :, :6, :6], terms.attn_mask[:, :6, :6])
        assert_close(terms.shares, shares)
        assert not torch.allclose(terms.shares, decompose.term_shares(terms.grouped_terms, terms.attn_mask))


def test_means_are_those_of_all_vectors_and_of_those_at_each_position(examples):
    model = model_of(config_of({"kind": "learned", "length": 64})).double()
    traces = [trace_forward(model, example) for example in examples]
    streams = [trace.attentions["decoder.1.cross"].residual_stream for trace in traces]
    means = decompose.compute_corpus_means(model, iter(traces)).queries["decoder.1.cross"]
    assert_close(means.overall, torch.cat(streams).mean(dim=0))
    assert len(means.by_position) == sorted(map(len, streams))[-2]  # of five sentences two must reach it
    for t, mean in enumerate(means.by_position):
        assert_close(mean, torch.stack([stream[t] for stream in streams if len(stream) > t]).mean(dim=0))


def test_twelve_sentences_that_reach_a_position_are_enough_in_a_large_corpus():
    model = model_of(config_of({"kind": "sinusoidal"}))
    traces = [trace_forward(model, example_of([5] * n, [9])) for n in [2] * 60 + [6] + [8] * 11]
    assert len(decompose.compute_corpus_means(model, traces).queries["encoder.1.self"].by_position) == 7


def test_shares_and_fits_that_are_not_defined_are_no_numbers():
    """Scores that do not vary have no shares, and any scores of two keys depend on their distance alone."""
    equal = torch.ones(2, 6, 5, 5)
    assert decompose.term_shares(equal, torch.ones(2, 5, 5, dtype=torch.bool)).isnan().all()
    model = model_of(config_of({"kind": "none"}))
    short = trace_forward(model, example_of([5], [9])).attentions["encoder.0.self"]
    assert len(short.query_input) == 2 and np.isnan(decompose.toeplitz_r2(short)).all()
