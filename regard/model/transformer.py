"""Encoder, decoder, and the two together. Ids in, hidden states out; the loss and the search own the projection."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model import masks
from regard.model.cache import Cache, EncoderMemory
from regard.model.layers import DecoderLayer, EncoderLayer
from regard.model.positions import Positions
from regard.model.taps import Tap


def drop_words(x: Tensor, p: float, training: bool) -> Tensor:
    """Hide whole words (B, T, D) in training: their vectors become 0.  Gal and Ghahramani 2016."""
    if not (training and p):
        return x
    return x * (torch.rand(x.shape[:-1], device=x.device) >= p)[..., None]


class NoTokenTypes(nn.Module):
    """What marks words with the kind of text they belong to. Here: nothing."""

    def forward(self, x: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """Words x (…, D) of these kinds (…); None: all of the first kind."""
        return x


class TokenTypes(NoTokenTypes):
    """A vector for each kind of text, added to its words.  Devlin et al. 2019, section 3."""

    def __init__(self, count: int, dim: int):
        super().__init__()
        self.table = nn.Parameter(torch.empty(count, dim))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, x: Tensor, token_type_ids: Tensor | None) -> Tensor:
        return x + (self.table[0] if token_type_ids is None else self.table[token_type_ids])


class TokenEmbedding(nn.Module):
    """Words as vectors, scaled by √D, marked with where they stand.  Vaswani et al. 2017, section 3.4."""

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
        embeddings = self.embed_tokens(ids)
        x = self.add_positions(
            embeddings, self.positions.shift_positions(position_ids, len(ids)), token_type_ids
        )  # (B, T) -> (B, T, D)
        return F.dropout(x, self.dropout, self.training)

    def embed_tokens(self, ids: Tensor) -> Tensor:
        """The vectors of words (…), scaled; in training some are hidden: (…, D)."""
        return drop_words(self.tokens(ids) * self.scale, self.word_dropout, self.training)

    def add_positions(self, embeddings: Tensor, position_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """Word vectors (…, D) with the marks of where they stand (…) and what they belong to."""
        return self.norm(self.token_types(self.positions.embed(embeddings, position_ids), token_type_ids))


class TransformerStack(nn.Module):
    """Ids (B, T) -> states (B, T, D) by self-attention alone: an encoder, or a decoder that has no source."""

    def __init__(self, embedding: TokenEmbedding, layers: list[EncoderLayer], norm: nn.Module):
        super().__init__()
        self.embedding = embedding
        self.embed = Tap()  # (B, T, D)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(
        self,
        ids: Tensor,
        attn_mask: Tensor | None,
        position_ids: Tensor,
        cache: Cache | None = None,
        token_type_ids: Tensor | None = None,
    ) -> Tensor:
        x = self.embed(self.embedding(ids, position_ids, token_type_ids))
        for i, layer in enumerate(self.layers):
            x = (
                layer(x, attn_mask, position_ids)
                if cache is None
                else layer(x, attn_mask, position_ids, partial(cache.extend, i))
            )
        return self.norm(x)


class Decoder(nn.Module):
    """Target ids (B, T) and the memory of the source -> states (B, T, D)."""

    def __init__(self, embedding: TokenEmbedding, layers: list[DecoderLayer], norm: nn.Module):
        super().__init__()
        self.embedding = embedding
        self.embed = Tap()  # (B, T, D)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def project_source(self, states: Tensor, attn_mask: Tensor, position_ids: Tensor) -> EncoderMemory:
        """Every layer's keys and values of the source (B, S, D), made once."""
        return EncoderMemory(tuple(layer.cross.look_at(states, position_ids) for layer in self.layers), attn_mask)  # type: ignore[union-attr, operator]

    def forward(
        self, ids: Tensor, attn_mask: Tensor, position_ids: Tensor, memory: EncoderMemory, cache: Cache
    ) -> Tensor:
        x = self.embed(self.embedding(ids, position_ids))
        for i, layer in enumerate(self.layers):
            x = layer(x, position_ids, attn_mask, partial(cache.extend, i), memory.layers[i], memory.attn_mask)
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

    def encode(self, source: Tensor, position_ids: Tensor | None = None) -> EncoderMemory:
        """What the decoder needs of source (B, S)."""
        attn_mask = masks.padding_mask(source, self.pad)
        position_ids = masks.position_ids_of(source) if position_ids is None else position_ids
        return self.decoder.project_source(self.encoder(source, attn_mask, position_ids), attn_mask, position_ids)

    def decode(
        self, target: Tensor, memory: EncoderMemory, cache: Cache | None = None, position_ids: Tensor | None = None
    ) -> Tensor:
        """States (B, T, D) of target (B, T), which follows whatever the cache holds."""
        cache = Cache() if cache is None else cache
        position_ids = masks.position_ids_of(target, cache.length) if position_ids is None else position_ids
        return self.decoder(target, update_causal_mask(target, self.pad, cache), position_ids, memory, cache)


class FirstTokenPooling(nn.Module):
    """The state of the first token, for the whole text: (B, T, D) -> (B, D)."""

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
    """A stack in which every token sees every other: BERT and its kin."""

    def __init__(self, encoder: TransformerStack, output: Projection, pad: int, pool: FirstTokenPooling | None = None):
        super().__init__()
        self.encoder = encoder
        self.output = output
        self.pad = pad
        self.pool = pool or FirstTokenPooling()

    def forward(self, ids: Tensor, position_ids: Tensor | None = None, token_type_ids: Tensor | None = None) -> Tensor:
        """States (B, T, D) of ids (B, T); `kinds` (B, T) says which text each token belongs to, if there are two."""
        position_ids = masks.position_ids_of(ids) if position_ids is None else position_ids
        return self.encoder(ids, masks.padding_mask(ids, self.pad), position_ids, kinds=token_type_ids)


class DecoderOnly(nn.Module):
    """A stack in which every token sees those before it: a language model."""

    def __init__(self, decoder: TransformerStack, output: Projection, pad: int):
        super().__init__()
        self.decoder = decoder
        self.output = output
        self.pad = pad

    def forward(self, ids: Tensor, cache: Cache | None = None, position_ids: Tensor | None = None) -> Tensor:
        """States (B, T, D) that predict the token after each of ids (B, T), which follow whatever the cache holds."""
        cache = Cache() if cache is None else cache
        position_ids = masks.position_ids_of(ids, cache.length) if position_ids is None else position_ids
        return self.decoder(ids, update_causal_mask(ids, self.pad, cache), position_ids, cache)


def update_causal_mask(ids: Tensor, pad: int, cache: Cache) -> Tensor:
    """Which keys new tokens (B, T) may look at: what the cache holds, those before them and themselves."""
    attn_mask = cache.extend_mask(masks.padding_mask(ids, pad))  # (B, 1, 1, Tk)
    if ids.shape[1] == 1:
        return attn_mask
    return attn_mask & masks.causal_mask(ids.shape[1], cache.length, ids.device)


def count_parameters(model: nn.Module) -> int:
    """How many numbers a model has learnt; shared tables count once."""
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
