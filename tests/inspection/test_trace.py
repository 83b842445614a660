"""Traces of a forward pass: taps by module path, and evaluation mode only for the duration of the call."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from regard.data.batch import collate
from regard.inspection.flow.attribution import attention_gradients
from regard.inspection.flow.decompose import decompose_scores
from regard.inspection.heads.faithfulness import perturb_heads
from regard.inspection.heads.importance import head_importance, loss_by_sentence, mean_head_outputs
from regard.inspection.pruning.gates import learn_gates
from regard.inspection.trace import attention_sites, attention_weights, cross_attention_weights, trace_forward
from regard.model.taps import named_taps
from tests.inspection.conftest import config_of, model_of

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
