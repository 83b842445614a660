"""Encoder, decoder, and the two together. Ids in, hidden states out; the loss and the search own the projection."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model import masks
from regard.model.cache import Cache, Memory
from regard.model.layers import DecoderLayer, EncoderLayer
from regard.model.positions import Positions
from regard.model.taps import Tap


def drop_words(x: Tensor, share: float, training: bool) -> Tensor:
    """Hide whole words (B, T, D) in training: their vectors become 0.  Gal and Ghahramani 2016."""
    if not (training and share):
        return x
    return x * (torch.rand(x.shape[:-1], device=x.device) >= share)[..., None]


class Types(nn.Module):
    """What marks words with the kind of text they belong to. Here: nothing."""

    def forward(self, x: Tensor, kinds: Tensor | None) -> Tensor:
        """Words x (…, D) of these kinds (…); None: all of the first kind."""
        return x


class TokenTypes(Types):
    """A vector for each kind of text, added to its words.  Devlin et al. 2019, section 3."""

    def __init__(self, count: int, dim: int):
        super().__init__()
        self.table = nn.Parameter(torch.empty(count, dim))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, x: Tensor, kinds: Tensor | None) -> Tensor:
        return x + (self.table[0] if kinds is None else self.table[kinds])


class Embedding(nn.Module):
    """Words as vectors, scaled by √D, marked with where they stand.  Vaswani et al. 2017, section 3.4."""

    def __init__(
        self,
        words: nn.Embedding,
        positions: Positions,
        dropout: float,
        word_dropout: float = 0.0,
        scaled: bool = True,
        types: Types | None = None,
        norm: nn.Module | None = None,
    ):
        super().__init__()
        self.word_dropout = word_dropout
        self.words = words
        self.positions = positions
        self.types = types or Types()
        self.norm = norm or nn.Identity()
        self.scale = math.sqrt(words.embedding_dim + positions.width) if scaled else 1.0
        self.dropout = dropout

    def forward(self, ids: Tensor, at: Tensor, kinds: Tensor | None = None) -> Tensor:
        words = self.show(ids)
        x = self.mark(words, self.positions.shift(at, len(ids)), kinds)  # (B, T) -> (B, T, D)
        return F.dropout(x, self.dropout, self.training)

    def show(self, ids: Tensor) -> Tensor:
        """The vectors of words (…), scaled; in training some are hidden: (…, D)."""
        return drop_words(self.words(ids) * self.scale, self.word_dropout, self.training)

    def mark(self, words: Tensor, at: Tensor, kinds: Tensor | None = None) -> Tensor:
        """Word vectors (…, D) with the marks of where they stand (…) and what they belong to."""
        return self.norm(self.types(self.positions.embed(words, at), kinds))


class Stack(nn.Module):
    """Ids (B, T) -> states (B, T, D) by self-attention alone: an encoder, or a decoder that has no source."""

    def __init__(self, embedding: Embedding, layers: list[EncoderLayer], norm: nn.Module):
        super().__init__()
        self.embedding = embedding
        self.embed = Tap()  # (B, T, D)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(
        self,
        ids: Tensor,
        keep: Tensor | None,
        at: Tensor,
        cache: Cache | None = None,
        kinds: Tensor | None = None,
    ) -> Tensor:
        x = self.embed(self.embedding(ids, at, kinds))
        for i, layer in enumerate(self.layers):
            x = layer(x, keep, at) if cache is None else layer(x, keep, at, partial(cache.extend, i))
        return self.norm(x)


class Decoder(nn.Module):
    """Target ids (B, T) and the memory of the source -> states (B, T, D)."""

    def __init__(self, embedding: Embedding, layers: list[DecoderLayer], norm: nn.Module):
        super().__init__()
        self.embedding = embedding
        self.embed = Tap()  # (B, T, D)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def remember(self, states: Tensor, keep: Tensor, at: Tensor) -> Memory:
        """Every layer's keys and values of the source (B, S, D), made once."""
        return Memory(tuple(layer.cross.look_at(states, at) for layer in self.layers), keep)  # type: ignore[union-attr, operator]

    def forward(self, ids: Tensor, keep: Tensor, at: Tensor, memory: Memory, cache: Cache) -> Tensor:
        x = self.embed(self.embedding(ids, at))
        for i, layer in enumerate(self.layers):
            x = layer(x, at, keep, partial(cache.extend, i), memory.layers[i], memory.keep)
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

    def __init__(self, encoder: Stack, decoder: Decoder, output: Projection, pad: int):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.output = output
        self.pad = pad

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """States (B, T, D) that predict the token after each of target (B, T), given source (B, S)."""
        return self.decode(target, self.encode(source))

    def encode(self, source: Tensor, at: Tensor | None = None) -> Memory:
        """What the decoder needs of source (B, S)."""
        keep = masks.real(source, self.pad)
        at = masks.along(source) if at is None else at
        return self.decoder.remember(self.encoder(source, keep, at), keep, at)

    def decode(self, target: Tensor, memory: Memory, cache: Cache | None = None, at: Tensor | None = None) -> Tensor:
        """States (B, T, D) of target (B, T), which follows whatever the cache holds."""
        cache = Cache() if cache is None else cache
        at = masks.along(target, cache.length) if at is None else at
        return self.decoder(target, past(target, self.pad, cache), at, memory, cache)


class First(nn.Module):
    """The state of the first token, for the whole text: (B, T, D) -> (B, D)."""

    def forward(self, states: Tensor) -> Tensor:
        return states[:, 0]


class Pooler(First):
    """tanh(W · first state + b).  Devlin et al. 2019."""

    def __init__(self, dim: int):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, states: Tensor) -> Tensor:
        return self.linear(super().forward(states)).tanh()


class EncoderOnly(nn.Module):
    """A stack in which every token sees every other: BERT and its kin."""

    def __init__(self, encoder: Stack, output: Projection, pad: int, pool: First | None = None):
        super().__init__()
        self.encoder = encoder
        self.output = output
        self.pad = pad
        self.pool = pool or First()

    def forward(self, ids: Tensor, at: Tensor | None = None, kinds: Tensor | None = None) -> Tensor:
        """States (B, T, D) of ids (B, T); `kinds` (B, T) says which text each token belongs to, if there are two."""
        at = masks.along(ids) if at is None else at
        return self.encoder(ids, masks.real(ids, self.pad), at, kinds=kinds)


class DecoderOnly(nn.Module):
    """A stack in which every token sees those before it: a language model."""

    def __init__(self, decoder: Stack, output: Projection, pad: int):
        super().__init__()
        self.decoder = decoder
        self.output = output
        self.pad = pad

    def forward(self, ids: Tensor, cache: Cache | None = None, at: Tensor | None = None) -> Tensor:
        """States (B, T, D) that predict the token after each of ids (B, T), which follow whatever the cache holds."""
        cache = Cache() if cache is None else cache
        at = masks.along(ids, cache.length) if at is None else at
        return self.decoder(ids, past(ids, self.pad, cache), at, cache)


def past(ids: Tensor, pad: int, cache: Cache) -> Tensor:
    """Which keys new tokens (B, T) may look at: what the cache holds, those before them and themselves."""
    keep = cache.extend_keep(masks.real(ids, pad))  # (B, 1, 1, Tk)
    if ids.shape[1] == 1:
        return keep
    return keep & masks.causal(ids.shape[1], cache.length, ids.device)


def parameters_of(model: nn.Module) -> int:
    """How many numbers a model has learnt; shared tables count once."""
    return sum(p.numel() for p in model.parameters())


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
