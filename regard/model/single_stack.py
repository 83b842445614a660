"""The same layers as an encoder without a decoder, and as a decoder without a source; how their states are pooled."""

import torch
from torch import Tensor, nn

from regard.model import masks
from regard.model.projection import Projection
from regard.model.transformer import TransformerStack


def mean_pooling(states: Tensor, attention_mask: Tensor) -> Tensor:
    """The mean state of each text's unmasked tokens, 0 where there is none: (B, T, D), (B, T) -> (B, D)."""
    mask = attention_mask[:, :, None].to(states.dtype)
    return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


class MeanPooling(nn.Module):
    """The mean of the states of its tokens stands for the whole text."""

    def forward(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        return mean_pooling(states, attention_mask)


class FirstTokenPooling(nn.Module):
    """The state of the first token stands for the whole text."""

    def forward(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        return states[:, 0]


class Pooler(FirstTokenPooling):
    """tanh(W · first state + b).  Devlin et al. 2019."""

    def __init__(self, dim: int):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        return self.linear(super().forward(states, attention_mask)).tanh()


class LastTokenPooling(nn.Module):
    """The state of the last token that is not padding: in a decoder, the only one that depends on the whole text."""

    def forward(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        positions = torch.arange(attention_mask.shape[1], device=states.device)
        last = (attention_mask * positions).argmax(dim=1)  # (B,)
        return states[torch.arange(len(states), device=states.device), last]


class EncoderOnly(nn.Module):
    """A stack in which every token attends to every other: BERT and its kin.

    `output` projects a state to the vocabulary; in a classifier, to labels.
    """

    causal = False

    def __init__(self, encoder: TransformerStack, output: Projection, pad: int, pool: nn.Module | None = None):
        super().__init__()
        self.encoder = encoder
        self.output = output
        self.pad = pad
        self.pool = pool or FirstTokenPooling()

    @property
    def stack(self) -> TransformerStack:
        return self.encoder

    def forward(self, ids: Tensor, position_ids: Tensor | None = None, token_type_ids: Tensor | None = None) -> Tensor:
        """States (B, T, D) of ids (B, T); `token_type_ids` (B, T) tells two texts apart."""
        position_ids = masks.position_ids_of(ids) if position_ids is None else position_ids
        return self.encoder(ids, masks.padding_mask(ids, self.pad), position_ids, token_type_ids=token_type_ids)


class DecoderOnly(nn.Module):
    """A stack in which every token attends to those before it: a causal language model."""

    causal = True

    def __init__(self, decoder: TransformerStack, output: Projection, pad: int, pool: nn.Module | None = None):
        super().__init__()
        self.decoder = decoder
        self.output = output
        self.pad = pad
        self.pool = pool or LastTokenPooling()

    @property
    def stack(self) -> TransformerStack:
        return self.decoder

    def forward(self, ids: Tensor, position_ids: Tensor | None = None, token_type_ids: Tensor | None = None) -> Tensor:
        """States (B, T, D) that predict the token after each of ids (B, T)."""
        position_ids = masks.position_ids_of(ids) if position_ids is None else position_ids
        attn_mask = masks.causal_padding_mask(ids, self.pad)
        return self.decoder(ids, attn_mask, position_ids, token_type_ids=token_type_ids)
