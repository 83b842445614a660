"""Small models of every kind, in float64, all sizes different primes where they can be."""

from collections.abc import Callable

import pytest
import torch

from regard.config import ModelConfig, PositionsConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.model.build import build
from regard.model.transformer import EncoderDecoder

SCHEMES: dict[str, dict[str, object]] = {
    "none": {},
    "sinusoidal": {},
    "learned": {"length": 29},
    "concatenated": {"width": 5},
    "concatenated-learned": {"width": 5, "table": "learned", "length": 29},
    "relative": {"max_relative": 3},
    "relative-values": {"max_relative": 3, "values": True},
    "bias": {"length": 29},
    "t5": {"buckets": 8, "max_distance": 11},
    "alibi": {},
    "alibi-two-sided": {"sides": "two-sided"},
    "rotary": {},
    "rotary-interleaved": {"rotary_layout": "interleaved", "partial_rotary_factor": 0.5, "base": 100.0},
}
REGISTERED: dict[str, dict[str, object]] = {"kerple": {"options": {"slope": 0.7}}}
"""Schemes of the example plug-in."""
ABSOLUTE = ("sinusoidal", "learned", "concatenated", "concatenated-learned")


def positions(name: str) -> PositionsConfig:
    """A scheme, or a variant of one, with small sizes."""
    return PositionsConfig(kind=name.partition("-")[0], **{**SCHEMES, **REGISTERED}[name])


V = 23


def make(**settings: object) -> EncoderDecoder:
    defaults: dict[str, object] = {"dim": 22, "heads": 2, "ffn": 13, "encoder_layers": 2, "decoder_layers": 3}
    model = build(ModelConfig(**{**defaults, **settings}), V, V, joint=True, pad=PAD)
    return model.double().eval()


def padded_rows(lengths: list[int]) -> torch.Tensor:
    rows = torch.full((len(lengths), max(lengths)), PAD)
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = torch.randint(4, V, (length,))
    return rows


@pytest.fixture
def models() -> Callable[..., EncoderDecoder]:
    return make


KINDS: dict[str, dict[str, object]] = {
    **{f"{name}-pre": {"positions": positions(name)} for name in SCHEMES},
    **{f"{name}-post": {"positions": positions(name), "norm": "post"} for name in ("sinusoidal", "t5")},
    "marian": {"norm": "post", "activation": "silu", "output_bias": True, "positions": {"sinusoid_layout": "halves"}},
    "argmax": {"attention": "argmax", "positions": {"kind": "bias", "length": 29}},
    "registered": {"activation": "squared-relu", "positions": {"kind": "kerple", "options": {"slope": 0.7}}},
    "qk-norm": {"qk_norm": True, "norm_epsilon": 1e-3, "positions": {"kind": "rotary", "partial_rotary_factor": 0.5}},
    "normed": {"embedding_norm": True, "scale_embeddings": False, "activation": "gelu-tanh"},
}


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest, example_plugin: None) -> EncoderDecoder:
    torch.manual_seed(1)
    built = make(**KINDS[request.param])
    for parameter in built.parameters():  # nothing that starts at zero may hide
        parameter.data += 0.1 * torch.randn_like(parameter)
    return built


@pytest.fixture
def ids() -> Callable[[int, int], torch.Tensor]:
    return lambda rows, length: torch.randint(4, V, (rows, length))
