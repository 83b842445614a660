"""The same layers as an encoder alone, as a decoder alone, and as both reading one text; how states are pooled."""

import torch
from torch import Tensor, nn

from regard.model import masks
from regard.model.layers import EncoderOutput
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


class TextEncoderDecoder(nn.Module):
    """An encoder and a decoder that read the same text, as BART classifies.  Lewis et al. 2020.

    The state of a token in the decoder depends on the whole text, through cross-attention.
    """

    def __init__(
        self,
        encoder: TransformerStack,
        decoder: TransformerStack,
        output: Projection,
        pad: int,
        pool: nn.Module | None = None,
    ):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.output = output
        self.pad = pad
        self.pool = pool or LastTokenPooling()

    @property
    def stack(self) -> TransformerStack:
        """The stack whose states are the model's."""
        return self.decoder

    def forward(self, ids: Tensor, position_ids: Tensor | None = None, token_type_ids: Tensor | None = None) -> Tensor:
        """The decoder's states (B, T, D) of ids (B, T)."""
        position_ids = masks.position_ids_of(ids) if position_ids is None else position_ids
        attn_mask = masks.padding_mask(ids, self.pad)
        states = self.encoder(ids, attn_mask, position_ids, token_type_ids=token_type_ids)
        source = EncoderOutput(states, attn_mask, position_ids)
        causal_mask = masks.causal_padding_mask(ids, self.pad)
        return self.decoder(ids, causal_mask, position_ids, source, token_type_ids)


class SourceTargetDecoder(nn.Module):
    """A decoder alone that reads a source, its end, a mark, and the target as one sequence.

    Every token attends to those before it, those of the source too. A mask is needed for padding only, which follows.
    """

    causal = True

    def __init__(self, decoder: TransformerStack, output: Projection, pad: int):
        super().__init__()
        self.decoder = decoder
        self.output = output
        self.pad = pad

    @property
    def stack(self) -> TransformerStack:
        return self.decoder

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """States (B, T, D) that predict the token after each of target (B, T), which begins with the mark."""
        ids, _ = join_sequences(source, target, self.pad)  # (B, J)
        states = self.decoder(ids, masks.causal_padding_mask(ids, self.pad), masks.position_ids_of(ids))
        lengths = (source != self.pad).sum(dim=1)  # (B,)
        columns = lengths[:, None] + masks.position_ids_of(target)  # (B, T); those of padding are not used
        index = columns.clamp(max=ids.shape[1] - 1)[:, :, None].expand(-1, -1, states.shape[2])
        return states.gather(1, index)


def join_sequences(source: Tensor, target: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """Rows of source (B, S) and target (B, T) as one, padding at the end: ids (B, J), and which are the target's."""
    ids = torch.cat((source, target), dim=1)
    order = (ids == pad).to(torch.uint8).argsort(dim=1, stable=True)
    order = order[:, : int((ids != pad).sum(dim=1).max())]
    joined = ids.gather(1, order)
    return joined, (order >= source.shape[1]) & (joined != pad)
