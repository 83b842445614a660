"""Small models of every kind, in float64, all sizes different primes where they can be."""

from collections.abc import Callable

import pytest
import torch

from regard.config import ModelConfig, PositionsConfig
from regard.data.tokenizer import PAD
from regard.model.build import build
from regard.model.transformer import EncoderDecoder

KINDS = ["none", "sinusoidal", "learned"]
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


@pytest.fixture(params=[(kind, norm) for kind in KINDS for norm in ("pre", "post")], ids="-".join)
def model(request: pytest.FixtureRequest) -> EncoderDecoder:
    kind, norm = request.param
    return make(norm=norm, positions=PositionsConfig(kind=kind, length=29))


@pytest.fixture
def ids() -> Callable[[int, int], torch.Tensor]:
    return lambda rows, length: torch.randint(4, V, (rows, length))
