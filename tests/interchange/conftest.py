"""What tests against another library share: random weights, padded ids, and when they cannot run."""

import pytest
import torch
from torch import Tensor, nn

from regard.data.tokenizers.tokenizer import PAD

HF = "needs the transformers library: pip install 'regard[hf]'"
V = 23


def randomise(model: nn.Module, strength: float = 0.3) -> None:
    """Nothing that starts at zero or one may hide."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += strength * torch.randn_like(parameter)


def padded(lengths: list[int], size: int = V) -> Tensor:
    """Random ids of several lengths, padded on the right."""
    rows = torch.full((len(lengths), max(lengths)), PAD)
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = torch.randint(4, size, (length,))
    return rows


@pytest.fixture(autouse=True)
def _no_gradients():
    """Parity is of values; fine-tuning asks for gradients itself."""
    with torch.no_grad():
        yield
