"""Settings of training: its length, optimizer, regularization, validation and hardware."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from regard.config.base import MAX_EPOCHS, MAX_MINUTES, MAX_STEPS, MAX_THREADS, MAX_TOKENS, Settings
from regard.config.piecewise import Scheduled, ScheduledBounds

DEFAULT_STEPS = 20_000

TRACKING_SERVICES = frozenset({"wandb", "mlflow", "comet", "comet_ml", "neptune", "clearml", "swanlab", "trackio"})

UnitInterval = Annotated[float, Field(ge=0, lt=1)]


class TrainConfig(Settings):
    steps: int | None = Field(default=None, ge=1, le=MAX_STEPS)
    """Optimizer steps; unset: as many as train.minutes allows, or 20,000."""
    minutes: float | None = Field(default=None, gt=0, le=MAX_MINUTES)
    """Minutes to train for, validation included; also the end of the learning-rate schedule."""
    epochs: float | None = Field(default=None, gt=0, le=MAX_EPOCHS)
    """Passes over the training pairs, converted to steps at the start."""
    tokens: float | None = Field(default=None, ge=1, le=MAX_TOKENS)
    """Target tokens to train on, converted like epochs. Of several limits, the first one reached counts."""
    batch_tokens: int = Field(default=1024, ge=16, le=100_000_000)
    """Tokens of a batch: sentences times the longest side, padding included."""
    accumulate_batches: int = Field(default=1, ge=1, le=1_000_000)
    """Batches whose gradients are accumulated for one optimizer step."""
    batch_growth: float = Field(default=1.0, ge=1, le=1_000)
    """Factor that the accumulated batches of a step grow to, linearly until the end. 1: as many throughout."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """AdamW, or Muon for the matrices and AdamW for the rest."""
    learning_rate: float = Field(default=2e-3, gt=0, le=1e30)
    """Peak learning rate (of AdamW)."""
    muon_learning_rate: float = Field(default=0.02, gt=0, le=1e30)
    """Peak learning rate of Muon."""
    muon_polynomials: Literal["jordan", "polar-express"] = "jordan"
    """Newton-Schulz polynomials of Muon: one for all iterations, or one for each (fewer iterations are as exact)."""
    muon_iterations: int = Field(default=5, ge=1, le=20)
    """Newton-Schulz iterations of Muon: 5 for jordan, 4 for polar-express."""
    muon_bfloat16: bool = False
    """Iterate in bfloat16: several times as fast where the processor has instructions for it, slower elsewhere."""
    muon_split_heads: bool = False
    """Orthogonalize the matrices of attention head by head instead of as a whole: far fewer operations."""
    betas: tuple[UnitInterval, UnitInterval] = (0.9, 0.98)
    """Coefficients of AdamW for the running averages of the gradient and its square."""
    epsilon: float = Field(default=1e-9, gt=0, le=1)
    """Term added to AdamW's denominator for numerical stability."""
    weight_decay: float = Field(default=0.01, ge=0, le=1_000)
    """Decoupled weight decay, on matrices only."""
    warmup: int = Field(default=300, ge=0, le=MAX_STEPS)
    """Steps over which the learning rate rises to its peak."""
    schedule: Literal["inverse-sqrt", "cosine", "constant", "wsd"] = "cosine"
    """Learning-rate schedule after the warm-up; wsd (warm-up, stable, decay): constant, then a decay to 0."""
    decay: float = Field(default=0.2, gt=0, le=1)
    """Share of training, at its end, over which the learning rate decays (wsd)."""
    decay_shape: Literal["linear", "1-sqrt"] = "1-sqrt"
    """How it decays: in a line, or by 1 - √x, faster at first (wsd)."""
    clip_grad_norm: float = Field(default=1.0, ge=0, le=1e9)
    """Maximum gradient norm (clipping); 0 disables it."""
    label_smoothing: Annotated[Scheduled, ScheduledBounds(ge=0, lt=1)] = 0.1
    """Probability mass spread uniformly over the vocabulary; may change over training, as in 0.8:0.1,1:0."""
    rdrop: Annotated[Scheduled, ScheduledBounds(ge=0, le=1e6)] = 0.0
    """R-Drop: weight of the KL divergence of two passes with other dropout; 0.6:0,0.6:5: in the last 40 %. 0: off."""
    guided_alignment: Annotated[Scheduled, ScheduledBounds(ge=0, le=1e6)] = 0.0
    """Guided alignment: weight of the loss that aligns cross-attention with IBM model 1, as in 0:0.3,0.5:0. 0: off."""
    guided_heads: tuple[str, ...] = ()
    """Heads that are aligned, as in decoder.1.cross.0,decoder.2.cross.0; unset: one head of a middle layer."""
    validate_every: int = Field(default=400, ge=1, le=MAX_STEPS)
    """Steps between two validations."""
    validation_sentences: int = Field(default=200, ge=0, le=MAX_STEPS)
    """Dev sentences translated (greedily) for BLEU at each validation; other tasks predict for all of dev. 0: none."""
    save_every: int = Field(default=200, ge=1, le=MAX_STEPS)
    """Steps between two checkpoints."""
    metric: Literal["loss", "bleu", "accuracy", "macro_f1", "f1", "mrr", "spearman", "rouge1", "rouge2", "rougeL"] = (
        "loss"
    )
    """Validation metric that selects the best checkpoint: the loss, or a score of the task (bleu, accuracy, f1 …)."""
    patience: int = Field(default=8, ge=0, le=MAX_STEPS)
    """Validations without improvement before training stops early. 0: never."""
    average_checkpoints: int = Field(default=5, ge=1, le=10_000)
    """Checkpoints averaged at the end (the last ones). 1: no averaging."""
    ema: float = Field(default=0.0, ge=0, lt=1)
    """Decay of an exponential moving average of the weights, which is then validated and saved. 0: off."""
    head_stats_every: int = Field(default=0, ge=0, le=MAX_STEPS)
    """Steps between two measurements of all attention heads, saved in heads.jsonl; about a second each. 0: never."""
    track: tuple[Literal["tensorboard"], ...] = ()
    """Trackers of training curves; tensorboard: event files in the run folder (extra `track`)."""
    track_histograms: int = Field(default=0, ge=0, le=MAX_STEPS)
    """Steps between two histograms of every weight and gradient in TensorBoard. 0: never."""
    output_lr_factor: float = Field(default=1.0, gt=0, le=1_000)
    """Factor of the learning rate of the output layer: above 1 where it is new and the rest is pretrained."""
    init_from: str = ""
    """Run folder whose tokenizer, sizes and weights this run is initialized from; `--from` sets it."""
    padding_free: Literal["auto", True, False] = "auto"
    """Compute batches without padding: the same gradients, faster on a CPU. auto: wherever it is possible."""
    precision: Literal["auto", "float32", "float64", "bfloat16"] = "auto"
    """Number format; bfloat16: autocast, weights stay float32; auto: bfloat16 on a GPU that supports it."""
    shard: bool = False
    """Shard weights, gradients and optimizer state over the processes of torchrun (FSDP)."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps …"""
    threads: int = Field(default=0, ge=0, le=MAX_THREADS)
    """CPU threads. 0: OMP_NUM_THREADS, or one per core; fewer where the machine is busy and fewer are faster."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Random seed: same seed, same machine, same result."""

    @field_validator("padding_free", mode="before")
    @classmethod
    def booleans_may_be_words(cls, value: object) -> object:
        return {"true": True, "false": False}.get(str(value).lower(), value)

    @field_validator("track", mode="before")
    @classmethod
    def tracker_may_be_a_word(cls, value: object) -> object:
        trackers = (value,) if isinstance(value, str) else value
        if isinstance(trackers, list | tuple):
            for tracker in trackers:
                _require_offline(tracker)
        return trackers

    @field_validator("guided_heads", mode="before")
    @classmethod
    def heads_may_be_words(cls, value: object) -> object:
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @model_validator(mode="after")
    def histograms_need_tensorboard(self) -> Self:
        if self.track_histograms and not self.track:
            raise ValueError("train.track_histograms needs train.track=tensorboard, which shows them")
        if self.track_histograms and self.shard:
            raise ValueError(
                "train.track_histograms and train.shard=true: histograms need full tensors; leave out one of them"
            )
        return self

    @model_validator(mode="after")
    def scores_need_sentences(self) -> Self:
        if self.metric != "loss" and not self.validation_sentences:
            raise ValueError(f"train.metric={self.metric} needs train.validation_sentences above 0")
        return self

    @property
    def decay_start(self) -> float:
        """The progress of training from which the learning rate leaves its stable part; infinite without one."""
        return 1 - self.decay if self.schedule == "wsd" else math.inf

    @property
    def last_step(self) -> int | None:
        """Where training by steps ends; None where the clock or the corpus decides."""
        return self.steps or (None if self.minutes or self.epochs or self.tokens else DEFAULT_STEPS)


def _require_offline(tracker: object) -> None:
    if str(tracker).lower() in TRACKING_SERVICES:
        raise ValueError(
            f"train.track={tracker}: Regard has no tracking service, because nothing that it does sends data from your "
            f"machine; use train.track=tensorboard, which writes files into the run folder"
        )
