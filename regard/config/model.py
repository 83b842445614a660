"""Settings of the model: its architecture and its sizes."""

import re
from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from regard.config.base import Settings


class Head(NamedTuple):
    """One head of a model, as people call it: decoder.3.cross.5. All numbers count from 0."""

    stack: str
    layer: int
    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.attention_name}.{self.number}"

    @property
    def attention_name(self) -> str:
        """The attention that the head is part of, as taps call it: decoder.3.cross."""
        return f"{self.stack}.{self.layer}.{self.kind}"

    @classmethod
    def parse(cls, name: str) -> "Head":
        """The head of this name, whether or not a model has it."""
        match = re.fullmatch(r"(encoder|decoder)\.(\d+)\.(self|cross)\.(\d+)", name)
        if not match or (name.startswith("encoder") and match[3] == "cross"):
            raise ValueError(
                f"'{name}' is no head's name; expected <encoder|decoder>.<layer>.<self|cross>.<head>, "
                f"as in encoder.0.self.1 or decoder.3.cross.5"
            )
        return cls(match[1], int(match[2]), match[3], int(match[4]))


class PositionsConfig(Settings):
    kind: Literal["none", "sinusoidal", "learned", "concatenated", "relative", "bias", "t5", "alibi", "rotary"] = (
        "sinusoidal"
    )
    """How word order enters the model."""
    length: int = Field(default=512, ge=1)
    """Longest sentence, in pieces, that a learned table can hold; longer input is refused (learned, bias)."""
    offset: int = Field(default=0, ge=0)
    """In training each sentence begins at a random place up to this one (sinusoidal, learned, concatenated)."""
    sinusoid_layout: Literal["interleaved", "halves"] = "interleaved"
    """Sines and cosines by turns as in 2017, or all sines first as in Marian (sinusoidal, concatenated)."""
    width: int = Field(default=32, ge=1)
    """Dimensions kept for the position beside the word (concatenated)."""
    table: Literal["sinusoidal", "learned"] = "sinusoidal"
    """What stands in those dimensions (concatenated)."""
    max_relative: int = Field(default=16, ge=1)
    """Distances beyond this one are taken for it (relative)."""
    values: bool = False
    """Whether distances also act on the values (relative)."""
    buckets: int = Field(default=32, ge=4)
    """Numbers a head learns (t5)."""
    max_distance: int = Field(default=128, ge=2)
    """Distances from this one on share the last bucket (t5)."""
    sides: Literal["symmetric", "two-sided"] = "symmetric"
    """In an encoder: all heads look both ways, or half of them to the left and half to the right (alibi)."""
    rotary_layout: Literal["halves", "interleaved"] = "halves"
    """Which dimensions are turned together: t and t + K/2, or 2t and 2t + 1 (rotary)."""
    base: float = Field(default=10_000.0, gt=1)
    """Wave lengths grow up to about this (rotary)."""
    partial_rotary_factor: float = Field(default=1.0, gt=0, le=1)
    """Share of a head's dimensions that is turned (rotary)."""

    @property
    def max_positions(self) -> int | None:
        """How many places a table has, for the schemes that have one."""
        has_table = self.kind in ("learned", "bias") or (self.kind == "concatenated" and self.table == "learned")
        return self.length if has_table else None


class StackConfig(Settings):
    positions: PositionsConfig | None = None
    """Positions of this side alone; unset: model.positions."""


class ModelConfig(Settings):
    architecture: Literal["encoder-decoder", "encoder"] = "encoder-decoder"
    """Which stacks are built. An encoder alone comes from `regard import`; it embeds text and does not translate."""
    dim: int = Field(default=192, ge=1)
    """Width of the residual stream."""
    layers: int = Field(default=4, ge=1)
    """Layers of the encoder and of the decoder."""
    encoder_layers: int | None = Field(default=None, ge=1)
    """Layers of the encoder; unset: model.layers."""
    decoder_layers: int | None = Field(default=None, ge=1)
    """Layers of the decoder; unset: model.layers."""
    heads: int = Field(default=4, ge=1)
    """Attention heads; must divide model.dim."""
    ffn: int = Field(default=768, ge=1)
    """Width inside the feed-forward layers."""
    activation: Literal["relu", "gelu", "gelu-tanh", "silu", "swiglu"] = "relu"
    """Non-linearity of the feed-forward layers."""
    attention: Literal["softmax", "argmax"] = "softmax"
    """How scores become weights: by softmax, or all weight to the best key (which teaches scores nothing)."""
    norm: Literal["pre", "post"] = "pre"
    """Where the norm stands: before each sublayer, or after the sum as in 2017."""
    norm_kind: Literal["layer", "rms"] = "layer"
    """LayerNorm, or RMSNorm, which neither centres nor shifts."""
    norm_epsilon: float = Field(default=1e-5, gt=0)
    """Added to the variance before the square root."""
    bias: bool = True
    """Whether linear layers have a bias."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on embeddings and on the output of every sublayer."""
    attention_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on attention weights."""
    activation_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout inside the feed-forward layers."""
    word_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of words, on both sides, that the model is not shown in training."""
    tie_embeddings: bool = True
    """One table for source words, target words and the output (source apart if data.joint_vocab is off)."""
    scale_embeddings: bool = True
    """Whether word vectors are multiplied by √dim, as in 2017."""
    embedding_norm: bool = False
    """Whether embeddings are normalised before the first layer, as in BERT."""
    output_bias: bool = False
    """Whether every piece has a number that is added to its score, as in Marian."""
    token_types: int = Field(default=0, ge=0)
    """Kinds that an encoder's words are marked with, as BERT marks the first text and the second. 0: none."""
    pooler: bool = False
    """Whether an encoder ends in one more layer over its first token, as in BERT."""
    pruned: tuple[str, ...] = ()
    """Heads that were cut out of the weights, as in decoder.3.cross.5; `regard prune` sets it."""
    positions: PositionsConfig = PositionsConfig()
    encoder: StackConfig = StackConfig()
    decoder: StackConfig = StackConfig()

    def depth(self, stack: str) -> int:
        """Layers of a stack that is built."""
        return (self.encoder_layers if stack == "encoder" else self.decoder_layers) or self.layers

    def attention_names(self) -> list[str]:
        """Every attention of the model as taps call it, in the order of the forward pass."""
        encoder = [f"encoder.{i}.self" for i in range(self.depth("encoder"))]
        if self.architecture == "encoder":
            return encoder
        return encoder + [f"decoder.{i}.{kind}" for i in range(self.depth("decoder")) for kind in ("self", "cross")]

    def kept_heads(self, attention: str) -> tuple[int, ...]:
        """The numbers of the heads that an attention still has."""
        pruned_heads = {Head.parse(name).number for name in self.pruned if name.startswith(f"{attention}.")}
        return tuple(number for number in range(self.heads) if number not in pruned_heads)

    @model_validator(mode="after")
    def pruned_heads_exist(self) -> Self:
        attention_names = set(self.attention_names()) if self.pruned else set()
        for name in self.pruned:
            head = Head.parse(name)
            if head.attention_name not in attention_names or head.number >= self.heads:
                raise ValueError(f"model.pruned: this model never had a head {name}; see `regard heads`")
        for attention in attention_names:
            if not self.kept_heads(attention):
                raise ValueError(f"model.pruned: {attention} has lost all of its heads; leave it one")
        return self

    @model_validator(mode="after")
    def positions_fit(self) -> Self:
        for positions in (self.positions, self.encoder.positions, self.decoder.positions):
            if positions is None:
                continue
            if positions.kind == "concatenated" and positions.width >= self.dim:
                raise ValueError(
                    f"model.positions.width={positions.width} leaves no room for words in model.dim={self.dim}"
                )
            if positions.kind == "t5" and positions.max_distance <= positions.buckets // 2:
                raise ValueError(
                    f"model.positions.max_distance={positions.max_distance} must be above half of "
                    f"model.positions.buckets={positions.buckets}: near distances have buckets of their own"
                )
            if positions.kind == "alibi" and positions.sides == "two-sided" and self.heads < 2:
                raise ValueError(
                    "model.positions.sides=two-sided needs two heads at least: one looks to the left, one to the right"
                )
            if positions.kind == "rotary" and int(self.dim // self.heads * positions.partial_rotary_factor / 2) < 1:
                raise ValueError(
                    f"model.positions.partial_rotary_factor={positions.partial_rotary_factor} of a head is less than a pair to turn; raise it"
                )
        return self

    @model_validator(mode="after")
    def only_encoders_have_types(self) -> Self:
        for name, value in (("token_types", self.token_types), ("pooler", self.pooler)):
            if value and self.architecture != "encoder":
                raise ValueError(
                    f"model.{name}={value} is for an encoder alone, and model.architecture is {self.architecture}; "
                    f"leave it out"
                )
        return self

    @model_validator(mode="after")
    def heads_divide_dim(self) -> Self:
        if self.dim % self.heads:
            divisors = [h for h in range(1, self.dim + 1) if self.dim % h == 0]
            nearest = sorted(sorted(divisors, key=lambda h: abs(h - self.heads))[:3])
            raise ValueError(
                f"model.heads={self.heads} does not divide model.dim={self.dim}; "
                f"heads that do: {', '.join(map(str, nearest))}"
            )
        return self
