"""Settings of the model: its architecture and its sizes."""

import re
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from regard.config.base import MAX_DIM, MAX_HEADS, MAX_LAYERS, MAX_POSITIONS, Settings
from regard.config.registries import ACTIVATIONS, POSITION_SCHEMES, NameIn


class Head(NamedTuple):
    """One attention head, by its name for people: decoder.3.cross.5. All numbers count from 0."""

    stack: str
    layer: int
    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.attention_name}.{self.number}"

    @property
    def attention_name(self) -> str:
        """The attention that the head is part of: decoder.3.cross."""
        return f"{self.stack}.{self.layer}.{self.kind}"

    @classmethod
    def parse(cls, name: str) -> "Head":
        """The head of this name, whether or not a model has it."""
        match = re.fullmatch(r"(encoder|decoder)\.(\d+)\.(self|cross)\.(\d+)", name)
        if not match or (name.startswith("encoder") and match[3] == "cross"):
            raise ValueError(
                f"'{name}' is not the name of a head; expected <encoder|decoder>.<layer>.<self|cross>.<head>, "
                f"as in encoder.0.self.1 or decoder.3.cross.5"
            )
        return cls(match[1], int(match[2]), match[3], int(match[4]))


class PositionsConfig(Settings):
    kind: Annotated[str, NameIn(POSITION_SCHEMES)] = "sinusoidal"
    """Position encoding."""
    length: int = Field(default=512, ge=1, le=MAX_POSITIONS)
    """Longest sentence, in tokens, that a learned table can hold; longer input is refused (learned, bias)."""
    offset: int = Field(default=0, ge=0, le=MAX_POSITIONS)
    """In training, each sentence starts at a random position up to this one (sinusoidal, learned, concatenated)."""
    sinusoid_layout: Literal["interleaved", "halves"] = "interleaved"
    """Sines and cosines interleaved as in Vaswani et al., or in halves as in Marian (sinusoidal, concatenated)."""
    width: int = Field(default=32, ge=1, le=MAX_DIM)
    """Dimensions reserved for the position beside the token embedding (concatenated)."""
    table: Literal["sinusoidal", "learned"] = "sinusoidal"
    """What these dimensions hold (concatenated)."""
    max_relative: int = Field(default=16, ge=1, le=MAX_POSITIONS)
    """Largest relative distance with an embedding of its own; larger ones are clipped to it (relative)."""
    values: bool = False
    """Also add relative embeddings to the values (relative)."""
    buckets: int = Field(default=32, ge=4, le=MAX_POSITIONS)
    """Buckets of relative distances (t5)."""
    max_distance: int = Field(default=128, ge=2, le=MAX_POSITIONS)
    """Distances from this one on share the last bucket (t5)."""
    sides: Literal["symmetric", "two-sided"] = "symmetric"
    """In an encoder: all heads attend both ways, or half of them to the left and half to the right (alibi)."""
    rotary_layout: Literal["halves", "interleaved"] = "halves"
    """Dimensions rotated together: t and t + K/2 as in LLaMA, or 2t and 2t + 1 as published (rotary)."""
    base: float = Field(default=10_000.0, gt=1, le=1e12)
    """Base of the wavelengths (rotary)."""
    partial_rotary_factor: float = Field(default=1.0, gt=0, le=1)
    """Fraction of a head's dimensions that is rotated (rotary)."""
    options: dict[str, Any] | None = None
    """Table of the options of a scheme that a plug-in registered: parameters of its class (registered schemes)."""

    @property
    def max_positions(self) -> int | None:
        """Positions of a learned table, for the schemes that have one."""
        has_table = self.kind in ("learned", "bias") or (self.kind == "concatenated" and self.table == "learned")
        return self.length if has_table else None

    def __hash__(self) -> int:
        return hash((self.kind, self.length))  # pydantic would hash the table of options, which has no hash

    @model_validator(mode="after")
    def options_fit_scheme(self) -> Self:
        scheme = POSITION_SCHEMES.find(self.kind)
        if scheme is not None:
            scheme.bind(self.options or {})
        elif self.options is not None:
            raise ValueError(
                f"model.positions.options is for schemes of plug-ins, but model.positions.kind is {self.kind}; "
                f"leave it out"
            )
        return self


class StackConfig(Settings):
    positions: PositionsConfig | None = None
    """Position encoding of this stack alone; unset: model.positions."""


class ModelConfig(Settings):
    architecture: Literal["encoder-decoder", "encoder", "decoder"] = "encoder-decoder"
    """Stacks of the model. An encoder alone embeds text (BERT); a decoder alone is a language model (GPT-2)."""
    dim: int = Field(default=192, ge=1, le=MAX_DIM)
    """Model width: dimensions of the hidden states."""
    layers: int = Field(default=4, ge=1, le=MAX_LAYERS)
    """Layers of the encoder and of the decoder."""
    encoder_layers: int | None = Field(default=None, ge=1, le=MAX_LAYERS)
    """Layers of the encoder; unset: model.layers."""
    decoder_layers: int | None = Field(default=None, ge=1, le=MAX_LAYERS)
    """Layers of the decoder; unset: model.layers."""
    heads: int = Field(default=4, ge=1, le=MAX_HEADS)
    """Attention heads; must divide model.dim."""
    ffn: int = Field(default=768, ge=1, le=16 * MAX_DIM)
    """Inner width of the feed-forward layers."""
    activation: Annotated[str, NameIn(ACTIVATIONS)] = "relu"
    """Activation function of the feed-forward layers."""
    attention: Literal["softmax", "argmax"] = "softmax"
    """softmax, or argmax for hard attention (which passes no gradient to the scores)."""
    qk_norm: bool = False
    """Normalize queries and keys of every head (RMSNorm with weights of its own), so that scores cannot grow."""
    norm: Literal["pre", "post"] = "pre"
    """Pre-norm, or post-norm as in Vaswani et al. 2017."""
    norm_kind: Literal["layer", "rms"] = "layer"
    """LayerNorm or RMSNorm."""
    norm_epsilon: float = Field(default=1e-5, gt=0, le=1)
    """Term added to the variance for numerical stability."""
    bias: bool = True
    """Whether linear layers have a bias."""
    init: Literal["xavier", "small"] = "xavier"
    """Linear layers start by Xavier (uniform), or normal with the variance 2 / (5 · dim) (SmallInit)."""
    scale_residual_init: bool = False
    """Output projections start smaller by the root of their number in a stack, as in GPT-2."""
    embedding_std: float | None = Field(default=None, gt=0, le=1_000)
    """Standard deviation with which embeddings start; unset: 1/√dim."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on embeddings and on the output of every sublayer."""
    attention_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on attention weights."""
    activation_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout inside the feed-forward layers."""
    word_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Probability that the embedding of a whole token is zeroed in training, on both sides."""
    tie_embeddings: bool = True
    """One table for source embeddings, target embeddings and output (source apart if data.joint_vocab is off)."""
    scale_embeddings: bool = True
    """Multiply embeddings by √dim, as in Vaswani et al. 2017."""
    embedding_norm: bool = False
    """Normalize embeddings before the first layer, as in BERT."""
    output_bias: bool = False
    """Bias of the output projection, as in Marian."""
    token_types: int = Field(default=0, ge=0, le=MAX_DIM)
    """Token types of an encoder, as in BERT. 0: none."""
    pooler: bool = False
    """BERT's pooler: a dense layer over the first token (encoder only)."""
    pruned: tuple[str, ...] = ()
    """Heads that were pruned from the weights, as in decoder.3.cross.5; set by `regard prune`."""
    positions: PositionsConfig = PositionsConfig()
    encoder: StackConfig = StackConfig()
    decoder: StackConfig = StackConfig()

    def depth(self, stack: str) -> int:
        """Layers of a stack that is built."""
        return (self.encoder_layers if stack == "encoder" else self.decoder_layers) or self.layers

    def attention_names(self) -> list[str]:
        """Every attention of the model by its name for people (decoder.3.cross), in the order of the forward pass."""
        kinds = {"encoder": ("self",), "decoder": ("self",) if self.architecture == "decoder" else ("self", "cross")}
        return [
            f"{stack}.{i}.{kind}"
            for stack in self.architecture.split("-")
            for i in range(self.depth(stack))
            for kind in kinds[stack]
        ]

    def kept_heads(self, attention: str) -> tuple[int, ...]:
        """The numbers of the heads that pruning has kept in an attention."""
        pruned_heads = {Head.parse(name).number for name in self.pruned if name.startswith(f"{attention}.")}
        return tuple(number for number in range(self.heads) if number not in pruned_heads)

    @model_validator(mode="after")
    def pruned_heads_exist(self) -> Self:
        attention_names = set(self.attention_names()) if self.pruned else set()
        for name in self.pruned:
            head = Head.parse(name)
            if head.attention_name not in attention_names or head.number >= self.heads:
                raise ValueError(f"model.pruned: this model has no head {name}; see `regard heads`")
        for attention in attention_names:
            if not self.kept_heads(attention):
                raise ValueError(f"model.pruned: {attention} would lose all of its heads; keep at least one")
        return self

    @model_validator(mode="after")
    def positions_fit(self) -> Self:
        for positions in (self.positions, self.encoder.positions, self.decoder.positions):
            if positions is None:
                continue
            if positions.kind == "concatenated" and positions.width >= self.dim:
                raise ValueError(
                    f"model.positions.width={positions.width} leaves no room for embeddings in model.dim={self.dim}"
                )
            if positions.kind == "t5" and positions.max_distance <= positions.buckets // 2:
                raise ValueError(
                    f"model.positions.max_distance={positions.max_distance} must be above half of "
                    f"model.positions.buckets={positions.buckets}: near distances have buckets of their own"
                )
            if positions.kind == "alibi" and positions.sides == "two-sided" and self.heads < 2:
                raise ValueError(
                    "model.positions.sides=two-sided needs at least two heads: one attends left, one right"
                )
            if positions.kind == "rotary" and int(self.dim // self.heads * positions.partial_rotary_factor / 2) < 1:
                raise ValueError(
                    f"model.positions.partial_rotary_factor={positions.partial_rotary_factor} of a head "
                    f"is less than one pair of dimensions to rotate; raise it"
                )
        return self

    @model_validator(mode="after")
    def only_encoders_have_types(self) -> Self:
        for name, value in (("token_types", self.token_types), ("pooler", self.pooler)):
            if value and self.architecture != "encoder":
                raise ValueError(
                    f"model.{name}={value} is for encoders without a decoder, "
                    f"but model.architecture is {self.architecture}; leave it out, or set model.architecture=encoder"
                )
        return self

    @model_validator(mode="after")
    def stacks_exist(self) -> Self:
        for stack, layers, positions in (
            ("encoder", self.encoder_layers, self.encoder.positions),
            ("decoder", self.decoder_layers, self.decoder.positions),
        ):
            if stack in self.architecture.split("-"):
                continue
            for name, value in ((f"{stack}_layers", layers), (f"{stack}.positions", positions)):
                if value is not None:
                    raise ValueError(
                        f"model.{name} is for models with {'an' if stack == 'encoder' else 'a'} {stack}, but "
                        f"model.architecture is {self.architecture}; leave it out"
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
