"""Encoder, decoder, and the two together. Ids in, hidden states out; the loss and the search apply the projection."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model import masks
from regard.model.layers import DecoderLayer, EncoderLayer, Source
from regard.model.positions import Positions
from regard.model.taps import Tap


def drop_words(x: Tensor, p: float, training: bool) -> Tensor:
    """Zero the vectors of whole tokens (B, T, D) in training.  Gal and Ghahramani 2016."""
    if not (training and p):
        return x
    return x * (torch.rand(x.shape[:-1], device=x.device) >= p)[..., None]


class NoTokenTypes(nn.Module):
    """No token types: embeddings stay as they are."""

    def forward(self, x: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """Embeddings x (…, D) of tokens of these types (…); None: all of the first type."""
        return x


class TokenTypes(NoTokenTypes):
    """A vector for each token type, added to the embeddings.  Devlin et al. 2019, section 3."""

    def __init__(self, count: int, dim: int):
        super().__init__()
        self.table = nn.Parameter(torch.empty(count, dim))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, x: Tensor, token_type_ids: Tensor | None) -> Tensor:
        return x + (self.table[0] if token_type_ids is None else self.table[token_type_ids])


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
        position_ids = self.positions.shift_positions(position_ids, len(ids))
        x = self.add_positions(self.embed_tokens(ids), position_ids, token_type_ids)  # (B, T) -> (B, T, D)
        return F.dropout(x, self.dropout, self.training)

    def embed_tokens(self, ids: Tensor) -> Tensor:
        """The embeddings of tokens (…), scaled, with word dropout: (…, D)."""
        return drop_words(self.tokens(ids) * self.scale, self.word_dropout, self.training)

    def add_positions(self, embeddings: Tensor, position_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """Embeddings (…, D) with the encodings of their positions (…) and token types (…)."""
        return self.norm(self.token_types(self.positions.embed(embeddings, position_ids), token_type_ids))


class TransformerStack(nn.Module):
    """Ids (B, T) -> states (B, T, D) by self-attention alone: an encoder, or a decoder that has no source."""

    def __init__(self, embedding: TokenEmbedding, layers: Sequence[EncoderLayer], norm: nn.Module):
        super().__init__()
        self.embedding = embedding
        self.embed = Tap()  # (B, T, D)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(
        self, ids: Tensor, attn_mask: Tensor, position_ids: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        x = self.embed(self.embedding(ids, position_ids, token_type_ids))
        for layer in self.layers:
            x = layer(x, attn_mask, position_ids)
        return self.norm(x)


class Decoder(nn.Module):
    """Target ids (B, T) and the source -> states (B, T, D)."""

    def __init__(self, embedding: TokenEmbedding, layers: Sequence[DecoderLayer], norm: nn.Module):
        super().__init__()
        self.embedding = embedding
        self.embed = Tap()  # (B, T, D)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(self, ids: Tensor, attn_mask: Tensor, position_ids: Tensor, source: Source) -> Tensor:
        x = self.embed(self.embedding(ids, position_ids))
        for layer in self.layers:
            x = layer(x, attn_mask, position_ids, source)
        return self.norm(x)


class Projection(nn.Module):
    """States (…, D) -> logits (…, V)."""

    def __init__(self, weight: Tensor, biased: bool = False):
        super().__init__()
        self.weight = weight  # (V, D), the embedding table itself where they are tied
        self.bias = nn.Parameter(torch.zeros(len(weight))) if biased else None

    def forward(self, states: Tensor) -> Tensor:
        return F.linear(states, self.weight, self.bias)


class EncoderDecoder(nn.Module):
    """The Transformer of 2017."""

    def __init__(self, encoder: TransformerStack, decoder: Decoder, output: Projection, pad: int):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.output = output
        self.pad = pad

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """States (B, T, D) that predict the token after each of target (B, T), given source (B, S)."""
        return self.decode(target, self.encode(source))

    def encode(self, source: Tensor, position_ids: Tensor | None = None) -> Source:
        """What the decoder needs of source (B, S)."""
        attn_mask = masks.padding_mask(source, self.pad)
        position_ids = masks.position_ids_of(source) if position_ids is None else position_ids
        return Source(self.encoder(source, attn_mask, position_ids), attn_mask, position_ids)

    def decode(self, target: Tensor, source: Source, position_ids: Tensor | None = None) -> Tensor:
        """States (B, T, D) of target (B, T)."""
        position_ids = masks.position_ids_of(target) if position_ids is None else position_ids
        return self.decoder(target, _past_mask(target, self.pad), position_ids, source)


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
        return self.encoder(ids, masks.padding_mask(ids, self.pad), position_ids, token_type_ids)


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
        return self.decoder(ids, _past_mask(ids, self.pad), position_ids)


def _past_mask(ids: Tensor, pad: int) -> Tensor:
    """Tokens (B, T) attend to themselves and to those before them: (B, 1, T, T)."""
    return masks.padding_mask(ids, pad) & masks.causal_mask(ids.shape[1], ids.device)


def count_parameters(model: nn.Module) -> int:
    """Learned parameters of a model; shared tables count once."""
    return sum(p.numel() for p in model.parameters())


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """The model out of training, and afterwards as it was."""
    training = model.training
    if training:  # telling every module takes a while
        model.eval()
    try:
        yield
    finally:
        if training:
            model.train()


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
