"""Encoder, decoder, and the two together. Ids in, hidden states out; the loss and the search apply the projection."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model import masks
from regard.model.layers import EncoderOutput
from regard.model.positions import Positions
from regard.model.projection import Projection
from regard.model.taps import Tap


def word_dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Zero the vectors of whole tokens (B, T, D) in training.  Gal and Ghahramani 2016."""
    if not (training and p):
        return x
    return x * (torch.rand(x.shape[:-1], device=x.device) >= p)[..., None]


class NoTokenTypes(nn.Module):
    """No token types: embeddings stay as they are."""

    def forward(self, x: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """Embeddings x (…, D) of tokens of these types (…); None: all of the first type."""
        return x


class TokenEmbedding(nn.Module):
    """Token embeddings, scaled by √D, with position encodings.  Vaswani et al. 2017, section 3.4."""

    def __init__(
        self,
        tokens: nn.Embedding,
        positions: Positions,
        dropout: float,
        word_dropout: float = 0.0,
        scaled: bool = True,
        token_types: NoTokenTypes | None = None,
        norm: nn.Module | None = None,
    ):
        super().__init__()
        self.word_dropout = word_dropout
        self.tokens = tokens
        self.positions = positions
        self.token_types = token_types or NoTokenTypes()
        self.norm = norm or nn.Identity()
        self.scale = math.sqrt(tokens.embedding_dim + positions.width) if scaled else 1.0
        self.dropout = dropout

    def forward(self, ids: Tensor, position_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        embeddings = self.embed_tokens(ids)  # (B, T) -> (B, T, D)
        x = self.add_positions(embeddings, self.positions.shift_positions(position_ids, len(ids)), token_type_ids)
        return F.dropout(x, self.dropout, self.training)

    def embed_tokens(self, ids: Tensor) -> Tensor:
        """The embeddings of tokens (…), scaled, with word dropout: (…, D)."""
        return word_dropout(self.tokens(ids) * self.scale, self.word_dropout, self.training)

    def add_positions(self, embeddings: Tensor, position_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """Embeddings (…, D) with the encodings of their positions (…) and token types (…)."""
        return self.norm(self.token_types(self.positions.embed(embeddings, position_ids), token_type_ids))


class TransformerStack(nn.Module):
    """Ids (B, T) -> states (B, T, D): an encoder, or a decoder with a source or without one."""

    def __init__(self, embedding: TokenEmbedding, layers: Sequence[nn.Module], norm: nn.Module):
        super().__init__()
        self.embedding = embedding
        self.embed = Tap()  # (B, T, D)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(
        self,
        ids: Tensor,
        attn_mask: Tensor,
        position_ids: Tensor,
        source: EncoderOutput | None = None,
        token_type_ids: Tensor | None = None,
    ) -> Tensor:
        x = self.embed(self.embedding(ids, position_ids, token_type_ids))
        for layer in self.layers:
            x = layer(x, attn_mask, position_ids) if source is None else layer(x, attn_mask, position_ids, source)
        return self.norm(x)


class EncoderDecoder(nn.Module):
    """The Transformer of 2017."""

    def __init__(self, encoder: TransformerStack, decoder: TransformerStack, output: Projection, pad: int):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.output = output
        self.pad = pad

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """States (B, T, D) that predict the token after each of target (B, T), given source (B, S)."""
        return self.decode(target, self.encode(source))

    def encode(self, source: Tensor, position_ids: Tensor | None = None) -> EncoderOutput:
        """What the decoder needs of source (B, S)."""
        attn_mask = masks.padding_mask(source, self.pad)
        position_ids = masks.position_ids_of(source) if position_ids is None else position_ids
        return EncoderOutput(self.encoder(source, attn_mask, position_ids), attn_mask, position_ids)

    def decode(self, target: Tensor, source: EncoderOutput, position_ids: Tensor | None = None) -> Tensor:
        """States (B, T, D) of target (B, T)."""
        position_ids = masks.position_ids_of(target) if position_ids is None else position_ids
        return self.decoder(target, masks.causal_padding_mask(target, self.pad), position_ids, source)
