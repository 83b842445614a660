"""A tiny loss module in float64, and batches of prime sizes."""

import pytest
import torch

from regard.config import ModelConfig
from regard.data.batch import Batch, collate
from regard.data.tokenizers.tokenizer import PAD
from regard.model.build import build, build_source_target_decoder
from regard.tasks.translate.loss import TranslationLoss

V = 23


def make_loss_module(
    smoothing: float = 0.1, padding_free: bool = False, stack: str = "encoder-decoder", **settings
) -> TranslationLoss:
    torch.manual_seed(3)
    config = ModelConfig(**{"dim": 22, "heads": 2, "ffn": 13, "layers": 2, "dropout": 0.0, **settings})
    is_decoder = stack == "decoder"
    model = build_source_target_decoder(config, V, PAD) if is_decoder else build(config, V, V, joint=True, pad=PAD)
    return TranslationLoss(model.double(), smoothing, padding_free)


def make_batch(lengths: list[int], seed: int = 5) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def rows(extra: int) -> list[list[int]]:
        return [torch.randint(4, V, (n + extra,), generator=generator).tolist() for n in lengths]

    return collate(rows(2), rows(0))


@pytest.fixture(params=[False, True], ids=["padded", "padding-free"])
def loss_module(request: pytest.FixtureRequest) -> TranslationLoss:
    return make_loss_module(padding_free=request.param)
