"""Traces of a forward pass: taps by module path, and evaluation mode only for the duration of the call."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from regard.data.batch import collate
from regard.inspection.flow.attribution import attention_gradients
from regard.inspection.flow.decompose import decompose_scores
from regard.inspection.heads.faithfulness import perturb_heads
from regard.inspection.heads.importance import head_importance, loss_by_sentence, mean_head_outputs
from regard.inspection.pruning.gates import learn_gates
from regard.inspection.trace import (
    attention_sites,
    attention_weights,
    batch_by_length,
    cross_attention_weights,
    get_reading_stack,
    pad_sequences,
    trace_forward,
)
from regard.model.build import build_decoder
from regard.model.taps import named_taps
from tests.inspection.conftest import SIZE, config_of, example_of, model_of

INSPECTIONS: dict[str, Callable[..., Any]] = {
    "attention_weights": lambda model, examples: attention_weights(model, examples)[0]["decoder.1.cross"],
    "trace_forward": lambda model, examples: trace_forward(model, examples[0]).last_hidden_state,
    "cross_attention_weights": lambda model, examples: cross_attention_weights(model, collate([[5, 6]], [[7]]))[0],
    "attention_gradients": lambda model, examples: attention_gradients(model, examples[0])["encoder.0.self"],
    "perturb_heads": lambda model, examples: perturb_heads(
        model, examples[0], trace_forward(model, examples[0]).attentions["decoder.0.cross"]
    ),
    "decompose_scores": lambda model, examples: _decomposed_scores(model, examples[0]),
    "head_importance": head_importance,
    "loss_by_sentence": lambda model, examples: loss_by_sentence(model, examples).tolist(),
    "mean_head_outputs": lambda model, examples: mean_head_outputs(model, examples)["encoder.1.self"],
    "learn_gates": lambda model, examples: learn_gates(model, examples, steps=2, penalty=0.02),
}


def _decomposed_scores(model, example):
    trace = trace_forward(model, example)
    return decompose_scores(model, trace, trace.attentions["encoder.0.self"]).grouped_terms


@pytest.mark.parametrize("name", INSPECTIONS)
def test_a_model_in_training_is_inspected_without_dropout_and_stays_in_training(name, examples):
    model = model_of(config_of({"kind": "sinusoidal"}, dropout=0.4, word_dropout=0.4))
    expected = INSPECTIONS[name](model.eval(), examples)
    actual = INSPECTIONS[name](model.train(), examples)
    assert model.training and all(module.training for module in model.modules())
    assert torch.equal(actual, expected) if isinstance(expected, torch.Tensor) else actual == expected
    INSPECTIONS[name](model.eval(), examples)
    assert not model.training


def test_the_path_of_an_attention_is_that_of_its_taps():
    model = model_of(config_of({"kind": "none"}))
    sites = attention_sites(model)
    assert [site.path for site in sites if site.layer == 1] == [
        "encoder.layers.1.self_attn",
        "decoder.layers.1.self_attn",
        "decoder.layers.1.cross_attn",
    ]
    for site in sites:
        assert model.get_submodule(site.path) is site.attention
        assert {f"{site.path}.{tap}" for tap in ("scores", "weights", "head_outputs")} <= named_taps(model).keys()


def test_hidden_states_bear_the_names_of_their_taps(examples):
    model = model_of(config_of({"kind": "none"}))
    stacks = ("encoder", "decoder")
    names = [f"{stack}.{tap}" for stack in stacks for tap in ("embed", "layers.0.out", "layers.1.out")]
    assert list(trace_forward(model, examples[0]).hidden_states) == names


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_trace_holds_what_each_attention_computes_with(norm, examples):
    """Scores, weights and outputs follow from the recorded inputs by the formula of attention."""
    model = model_of(config_of({"kind": "sinusoidal"}, norm=norm)).double()
    trace = trace_forward(model, examples[0])
    stream = {stack: trace.hidden_states[f"{stack}.embed"] for stack in ("encoder", "decoder")}
    with torch.no_grad():
        written = model(*(torch.tensor([side.ids]) for side in (examples[0].source, examples[0].decoder_input)))[0]
        encoded = model.encoder.norm(trace.hidden_states["encoder.layers.1.out"])
    assert_close(trace.last_hidden_state, written)
    for name, attn in trace.attentions.items():
        attention, kind = attn.site.attention, attn.site.kind
        tq, tk = len(examples[0].query_tokens(kind)), len(examples[0].key_tokens(kind))
        if attn.site.layer == 0 and kind != "cross":
            assert_close(attn.residual_stream, stream[kind])
        with torch.no_grad():
            expected_input = attn.residual_stream if norm == "post" else attn.site.residual.norm(attn.residual_stream)
            assert_close(attn.query_input, expected_input)
            assert_close(attn.key_input, encoded if kind == "cross" else attn.query_input)
            q, k, v = (
                linear(rows).unflatten(1, (3, 8)).transpose(0, 1)
                for linear, rows in (
                    (attention.q_proj, attn.query_input),
                    (attention.k_proj, attn.key_input),
                    (attention.v_proj, attn.key_input),
                )
            )
            assert_close(attn.k, k)
            assert_close(attn.v, v)
            assert_close(attn.scores, q @ k.mT / 8**0.5)
            mask = torch.ones(tq, tk).tril().bool() if kind == "decoder" else torch.ones(tq, tk).bool()
            assert torch.equal(attn.attn_mask, mask), name
            assert_close(attn.weights, attn.scores.masked_fill(~mask, -torch.inf).softmax(-1))
            assert_close(attn.head_outputs, attn.weights @ v)
            assert_close(attn.out, attention.out_proj(attn.head_outputs.transpose(0, 1).flatten(1)))
        assert attn.query_position_ids.tolist() == [list(range(tq))]
        assert attn.key_position_ids.tolist() == [list(range(tk))]
    assert [[a.site.name for a in trace.of_kind(kind)] for kind in ("encoder", "decoder", "cross")] == [
        [f"{stack}.{n}.{part}" for n in (0, 1)]
        for stack, part in (("encoder", "self"), ("decoder", "self"), ("decoder", "cross"))
    ]


def test_weights_of_a_batch_are_those_of_each_sentence(examples):
    """Also where heads are pruned: their weights are 0, and those of the others stand in their places."""
    for pruned in ((), ("decoder.0.cross.1", "decoder.1.cross.0")):
        model = model_of(config_of({"kind": "sinusoidal"}, pruned=pruned)).double()
        sides = [(list(example.source.ids[:-1]), list(example.target.ids[:-1])) for example in examples]
        found = cross_attention_weights(model, collate(*zip(*sides, strict=True)))
        for example, weights in zip(examples, found, strict=True):
            trace = trace_forward(model, example)
            assert weights.shape == (2, 3, len(example.target), len(example.source))
            for layer, attn in enumerate(trace.of_kind("cross")):
                left = list(attn.site.attention.head_ids)
                assert_close(weights[layer, left], attn.weights)
                assert not weights[layer, [h for h in range(3) if h not in left]].any()


def test_batches_hold_similar_lengths_up_to_a_bound(monkeypatch):
    sizes = ((7, 5), (3, 11), (2, 2), (10, 3), (4, 4), (6, 1))
    sentences = [example_of([5] * s, [6] * t) for s, t in sizes]
    monkeypatch.setattr("regard.inspection.trace.BATCH_CELLS", 16 * 200)
    found = list(batch_by_length(sentences))
    assert found == [[2], [1], [4, 5, 0], [3]]  # by the source, and the longest side of a batch counts for all of it
    assert all(len(rows) == 1 or len(rows) * max(max(sizes[i]) + 1 for i in rows) ** 2 <= 200 for rows in found)
    assert list(batch_by_length(sentences, 6)) == [[2, 1, 4, 5, 0, 3]] and list(batch_by_length([])) == []
    exact = [example_of([5] * 9, [6]), example_of([5] * 9, [6])]  # twice a hundred cells are as many as fit
    assert list(batch_by_length(exact)) == [[0, 1]]
    assert list(batch_by_length([*exact, exact[0]])) == [[0, 1], [2]]
    assert list(batch_by_length([*exact, exact[0]], 2)) == [[0, 1, 2]]  # the last one would be alone
    assert list(batch_by_length([*exact, *exact], 2)) == [[0, 1], [2, 3]]


def test_padding_stands_on_the_right_and_a_decoder_alone_reads_with_itself():
    assert pad_sequences([[5], [6, 7, 8], []], 9).tolist() == [[5, 9, 9], [6, 7, 8], [9, 9, 9]]
    model = model_of(config_of({"kind": "none"}))
    assert get_reading_stack(model) == ("encoder", model.encoder)
    alone = build_decoder(config_of({"kind": "none"}), SIZE, 0)
    assert get_reading_stack(alone) == ("decoder", alone.decoder)
