"""Settings of training: its length, optimizer, regularization, validation and hardware."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.config.base import Settings

DEFAULT_STEPS = 20_000

UnitInterval = Annotated[float, Field(ge=0, lt=1)]


class TrainConfig(Settings):
    steps: int | None = Field(default=None, ge=1)
    """Updates to train for; unset: as many as train.minutes allows, or 20,000."""
    minutes: float | None = Field(default=None, gt=0)
    """Minutes to train for, checks included; sets the end of the schedule."""
    epochs: float | None = Field(default=None, gt=0)
    """Times to go through the training pairs, in as many updates as that takes at first."""
    tokens: float | None = Field(default=None, ge=1)
    """Target pieces to train on, counted as epochs are; where several ends are given, the first one counts."""
    batch_tokens: int = Field(default=1024, ge=16)
    """Size of a batch: sentences times the longest side, padding included."""
    accumulate_batches: int = Field(default=1, ge=1)
    """Batches whose gradients are summed for one update."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """AdamW, or Muon for the matrices and AdamW for the rest."""
    learning_rate: float = Field(default=2e-3, gt=0)
    """Peak learning rate (of AdamW)."""
    muon_learning_rate: float = Field(default=0.02, gt=0)
    """Peak learning rate of Muon's matrices."""
    betas: tuple[UnitInterval, UnitInterval] = (0.9, 0.98)
    """AdamW's decay of the first and second moments."""
    epsilon: float = Field(default=1e-9, gt=0)
    """Added to AdamW's denominator."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Decoupled weight decay, on matrices only."""
    warmup: int = Field(default=300, ge=0)
    """Updates over which the rate rises to its peak."""
    schedule: Literal["inverse-sqrt", "cosine", "constant"] = "cosine"
    """How the rate falls after the warm-up."""
    clip_grad_norm: float = Field(default=1.0, ge=0)
    """Longest gradient; longer ones are shortened to it. 0: never."""
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of the target probability spread over the whole vocabulary."""
    rdrop: float = Field(default=0.0, ge=0)
    """R-Drop: every batch runs twice with other dropout, and the two predictions are drawn together so strongly."""
    guided_alignment: float = Field(default=0.0, ge=0)
    """How strongly one head of cross-attention is taught which pieces belong together, as counting finds. 0: not."""
    validate_every: int = Field(default=400, ge=1)
    """Updates between two looks at the dev set."""
    validation_sentences: int = Field(default=200, ge=0)
    """Dev sentences translated (greedily) for BLEU at each check. 0: none."""
    save_every: int = Field(default=200, ge=1)
    """Updates between two checkpoints."""
    metric: Literal["loss", "bleu"] = "loss"
    """What decides on dev which checkpoint is best and when to stop."""
    patience: int = Field(default=8, ge=0)
    """Checks without a better dev score before training stops. 0: never stop early."""
    average_checkpoints: int = Field(default=5, ge=1)
    """Checkpoints averaged at the end (the last ones). 1: no averaging."""
    ema: float = Field(default=0.0, ge=0, lt=1)
    """Decay of an exponential moving average of the weights, which is then what is checked and saved. 0: off."""
    head_stats_every: int = Field(default=0, ge=0)
    """Updates between two looks at what every head does, kept in heads.jsonl; costs a second or so each. 0: never."""
    init_from: str = ""
    """Run folder whose tokeniser, sizes and weights this run begins with; `--from` sets it."""
    padding_free: Literal["auto", "plain", "packed"] = "auto"
    """How training computes the model: as its layers say, or packed, the same but faster on a CPU; auto: by device."""
    precision: Literal["auto", "float32", "float64", "bfloat16"] = "auto"
    """Numbers of training; bfloat16: products alone, weights stay float32; auto: that on a GPU that has it."""
    shard: bool = False
    """Spread weights, gradients and moments over the processes of torchrun: for models larger than one device."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps …"""
    threads: int = Field(default=0, ge=0)
    """CPU threads. 0: one for each core."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Same seed, same machine, same result."""

    @model_validator(mode="after")
    def bleu_needs_sentences(self) -> Self:
        if self.metric == "bleu" and not self.validation_sentences:
            raise ValueError("train.metric=bleu needs train.validation_sentences above 0")
        return self

    @property
    def last_step(self) -> int | None:
        """Where training by steps ends; None where the clock or the corpus decides."""
        return self.steps or (None if self.minutes or self.epochs or self.tokens else DEFAULT_STEPS)
