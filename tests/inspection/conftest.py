"""Small models with every position encoding, and examples without text."""

import pytest
import torch

from regard.config import ModelConfig, PositionsConfig
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.inspection.example import Example, tokens_from_ids
from regard.model.build import build

SIZE = 47
KINDS = (
    {"kind": "none"},
    {"kind": "sinusoidal"},
    {"kind": "learned", "length": 64},
    {"kind": "concatenated", "width": 6},
    {"kind": "concatenated", "width": 6, "table": "learned", "length": 64},
    {"kind": "relative", "max_relative": 3},
    {"kind": "relative", "max_relative": 3, "values": True},
    {"kind": "bias", "length": 64},
    {"kind": "t5", "buckets": 8, "max_distance": 20},
    {"kind": "alibi"},
    {"kind": "alibi", "sides": "two-sided"},
    {"kind": "rotary"},
    {"kind": "rotary", "partial_rotary_factor": 0.5, "rotary_layout": "interleaved"},
)


def name_of(positions: dict) -> str:
    return "-".join(str(value) for key, value in positions.items() if key != "length")


def config_of(positions: dict, **more) -> ModelConfig:
    return ModelConfig(
        **{"dim": 24, "heads": 3, "ffn": 13, "layers": 2, "positions": PositionsConfig(**positions)} | more
    )


def model_of(config: ModelConfig, seed: int = 5):
    """A model with all parameters perturbed, so that no initial zero hides an error."""
    torch.manual_seed(seed)
    model = build(config, SIZE, SIZE, joint=True, pad=PAD).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def example_of(source: list[int], target: list[int]) -> Example:
    return Example(tokens_from_ids([*source, EOS]), tokens_from_ids([BOS, *target]), tokens_from_ids([*target, EOS]))


@pytest.fixture
def examples() -> list[Example]:
    torch.manual_seed(3)
    lengths = ((7, 5), (4, 9), (11, 6), (3, 3), (8, 8))
    return [example_of(*(torch.randint(4, SIZE, (n,)).tolist() for n in pair)) for pair in lengths]


@pytest.fixture(params=KINDS, ids=name_of)
def positions(request) -> dict:
    return request.param


@pytest.fixture(params=["pre", "post"])
def norm(request) -> str:
    return request.param


@pytest.fixture(params=["layer", "rms"])
def norm_kind(request) -> str:
    return request.param
