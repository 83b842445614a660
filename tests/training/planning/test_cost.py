"""The formulas of cost against models that are really built."""

import pytest
import torch

from regard.config import ModelConfig, PositionsConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.hardware import available_memory, measure_matmul_flops
from regard.model.build import build, build_decoder, build_encoder
from regard.model.modules import count_parameters
from regard.model.positions import Positions
from regard.model.register import register_position_scheme
from regard.training.planning.cost import MeanLengths, compute_parameter_counts, training_bytes, training_flops


@pytest.fixture
def wide_positions(example_plugin):
    """A registered scheme that reserves dimensions beside the embedding, and has a parameter for each."""

    @register_position_scheme("wide", enters="embeddings")
    class Wide(Positions):
        def __init__(self, shape, config):
            super().__init__()
            self.width = 5
            self.slopes = torch.nn.Parameter(torch.ones(5))

        def embed(self, x, position_ids):
            return torch.cat((x, (position_ids[..., None] * self.slopes).expand(*x.shape[:-1], 5)), dim=-1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tie_embeddings": False},
        {"norm": "post", "norm_kind": "rms", "activation": "swiglu"},
        {"bias": False, "encoder_layers": 3, "positions": {"kind": "learned", "length": 37}},
        {"encoder": {"positions": {"kind": "learned", "length": 37}}},
        {"positions": {"kind": "concatenated", "width": 5}},
        {"positions": {"kind": "concatenated", "width": 5, "table": "learned", "length": 37}},
        {"decoder": {"positions": {"kind": "concatenated", "width": 5}}},
        {"positions": {"kind": "relative", "max_relative": 3}, "encoder_layers": 3},
        {"positions": {"kind": "relative", "max_relative": 3, "values": True}},
        {"positions": {"kind": "bias", "length": 37}, "decoder_layers": 3},
        {"positions": {"kind": "t5", "buckets": 8}},
        {"positions": {"kind": "alibi"}},
        {"positions": {"kind": "rotary"}},
        {"positions": {"kind": "kerple"}, "activation": "squared-relu", "encoder_layers": 3},
        {"decoder": {"positions": {"kind": "wide"}}},
        {"output_bias": True},
        {"qk_norm": True, "encoder_layers": 3},
        {"output_bias": True, "tie_embeddings": False},
        {"embedding_norm": True, "norm_kind": "rms", "scale_embeddings": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("joint", [True, False])
def test_parameters_are_those_of_the_model(settings, joint, wide_positions):
    config = ModelConfig(**{"dim": 22, "heads": 2, "ffn": 13, "layers": 2, **settings})
    size = 29 if joint else 31
    model = build(config, 29, size, joint=joint, pad=PAD)
    parts = compute_parameter_counts(config, 29, size, joint)
    assert parts.total == count_parameters(model)
    outputs = {name: p for name, p in model.named_parameters() if name.startswith("output")}
    assert parts.output == sum(p.numel() for p in outputs.values())
    stack = {side: sum(p.numel() for p in getattr(model, side).layers.parameters()) for side in ("encoder", "decoder")}
    within = sum(p.numel() for name, p in model.named_parameters() if ".layers." in name and "positions" in name)
    last = parts.encoder + parts.decoder - sum(stack.values()) + within
    assert last == 2 * 2 * 22 * (config.norm == "pre") // (2 if config.norm_kind == "rms" else 1)  # the last norms
    assert parts.positions >= within


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tie_embeddings": False},
        {"norm": "post", "norm_kind": "rms", "activation": "swiglu"},
        {"norm_kind": "rms", "bias": False, "embedding_norm": True},
        {"positions": {"kind": "none"}},
        {"positions": {"kind": "learned", "length": 37}, "output_bias": True},
        {"positions": {"kind": "concatenated", "width": 5}},
        {"positions": {"kind": "concatenated", "width": 5, "table": "learned", "length": 37}, "tie_embeddings": False},
        {"positions": {"kind": "relative", "max_relative": 3}},
        {"positions": {"kind": "relative", "max_relative": 3, "values": True}, "norm": "post"},
        {"positions": {"kind": "bias", "length": 37}},
        {"positions": {"kind": "t5", "buckets": 8}},
        {"positions": {"kind": "alibi"}},
        {"positions": {"kind": "rotary"}},
        {"positions": {"kind": "kerple"}},
        {"positions": {"kind": "wide"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_a_single_stack_has_no_parameters_of_the_other(settings, stack, wide_positions):
    config = ModelConfig(**{"architecture": stack, "dim": 22, "heads": 2, "ffn": 13, "layers": 3, **settings})
    own = {"positions": PositionsConfig(kind="learned", length=41)}
    pruned = {"pruned": (f"{stack}.0.self.1", f"{stack}.2.self.0")}
    more = {"token_types": 3, "pooler": True} if stack == "encoder" else {}
    build_stack = build_encoder if stack == "encoder" else build_decoder
    for changes in ({}, {stack: own}, {f"{stack}_layers": 2}, pruned, more):
        changed = ModelConfig(**config.model_dump(exclude_unset=True) | changes)
        parts = compute_parameter_counts(changed, 7, 29, joint_vocab=False)
        assert parts.total == count_parameters(build_stack(changed, 29, PAD))
        assert (parts.decoder if stack == "encoder" else parts.encoder) == 0


def test_operations_grow_with_everything():
    config, lengths = ModelConfig(dim=64, heads=4), MeanLengths(11, 13)
    base = training_flops(config, 1000, lengths)
    assert training_flops(ModelConfig(dim=128, heads=4), 1000, lengths) > 2 * base
    assert training_flops(config, 2000, lengths) - base == pytest.approx(6 * 13 * 64 * 1000)
    assert training_flops(config, 1000, MeanLengths(22, 26)) > 2 * base
    parts = compute_parameter_counts(config, 1000, 1000, joint_vocab=True)
    assert training_bytes(config, parts, 1000, 2048) > 16 * parts.total


def test_the_machine_says_what_it_can():
    assert measure_matmul_flops(1) > 1e8
    assert available_memory() >= 0
