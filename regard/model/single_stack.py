"""The same layers as an encoder without a decoder, and as a decoder without a source."""

from torch import Tensor, nn

from regard.model import masks
from regard.model.projection import Projection
from regard.model.transformer import TransformerStack


class FirstTokenPooling(nn.Module):
    """The state of the first token stands for the whole text: (B, T, D) -> (B, D)."""

    def forward(self, states: Tensor) -> Tensor:
        return states[:, 0]


class Pooler(FirstTokenPooling):
    """tanh(W · first state + b).  Devlin et al. 2019."""

    def __init__(self, dim: int):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, states: Tensor) -> Tensor:
        return self.linear(super().forward(states)).tanh()


class EncoderOnly(nn.Module):
    """A stack in which every token attends to every other: BERT and its kin."""

    def __init__(self, encoder: TransformerStack, output: Projection, pad: int, pool: FirstTokenPooling | None = None):
        super().__init__()
        self.encoder = encoder
        self.output = output
        self.pad = pad
        self.pool = pool or FirstTokenPooling()

    def forward(self, ids: Tensor, position_ids: Tensor | None = None, token_type_ids: Tensor | None = None) -> Tensor:
        """States (B, T, D) of ids (B, T); `token_type_ids` (B, T) tells two texts apart."""
        position_ids = masks.position_ids_of(ids) if position_ids is None else position_ids
        return self.encoder(ids, masks.padding_mask(ids, self.pad), position_ids, token_type_ids=token_type_ids)


class DecoderOnly(nn.Module):
    """A stack in which every token attends to those before it: a causal language model."""

    def __init__(self, decoder: TransformerStack, output: Projection, pad: int):
        super().__init__()
        self.decoder = decoder
        self.output = output
        self.pad = pad

    def forward(self, ids: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """States (B, T, D) that predict the token after each of ids (B, T)."""
        position_ids = masks.position_ids_of(ids) if position_ids is None else position_ids
        return self.decoder(ids, masks.causal_padding_mask(ids, self.pad), position_ids)
