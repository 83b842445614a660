"""Settings suggested for a model with one stack: a classifier, a tagger, a language model."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from regard.config import Config, ModelConfig, explicit_settings
from regard.training.planning.estimate import TrainingEstimate, estimate_training, format_epochs, training_throughput
from regard.training.planning.sizing import SIZE_SETTINGS, SizingInputs, SuggestedSetting

BATCH_TOKENS = 1024
FINETUNE_LEARNING_RATE, FINETUNE_DROPOUT, FINETUNE_OUTPUT_FACTOR = 1e-4, 0.1, 5.0
VOCAB_SIZES = ((100_000, 500), (500_000, 1000), (1_500_000, 2000), (4_000_000, 6000), (20_000_000, 8000))
"""By bytes of training text."""
MIN_BFLOAT16_DIM, MIN_BFLOAT16_SPEEDUP = 256, 2.0
"""From which on bfloat16 is faster as a whole: it also costs conversions, and padding (benchmarks/bfloat16.py)."""
ROTARY = SuggestedSetting("model.positions.kind", "rotary", "learns what stands beside a token far sooner")
"""Than sinusoids, where every token is a target (benchmarks/single_stack_positions.py)."""
VALIDATIONS_PER_EPOCH = 3
"""A validation reads dev, a twentieth of the texts, twice, each time at a third of the cost of training: three of them
take a tenth of an epoch's time."""
MAX_VOCAB_SIZE = 16_000


@dataclass(frozen=True)
class StackPreset:
    """A size of a single stack, and the bytes of text that it needs."""

    dim: int
    layers: int
    heads: int
    ffn: int
    min_bytes: int

    def model_config(self, model: ModelConfig) -> ModelConfig:
        """The model in this size."""
        return model.model_copy(update={"dim": self.dim, "layers": self.layers, "heads": self.heads, "ffn": self.ffn})


@dataclass(frozen=True)
class StackSizing:
    """How the settings of a task depend on its text and its time."""

    presets: tuple[StackPreset, ...]
    vocab_sizes: tuple[tuple[int, int], ...] = VOCAB_SIZES
    learning_rate: float = 1e-3
    dropouts: tuple[tuple[float, float], ...] = ((5, 0.1), (15, 0.2))
    """By epochs; 0.3 beyond the last."""
    settings: tuple[SuggestedSetting, ...] = ()
    """Further settings of the task."""
    scratch_settings: tuple[SuggestedSetting, ...] = ()
    """Those of a run that is not initialized from another."""
    batch_tokens: int = BATCH_TOKENS
    batch_reason: str = "small batches learn faster"
    max_rows: float = math.inf
    """Examples of a batch at most."""


LABEL_SIZING = StackSizing((StackPreset(128, 2, 4, 512, 0), StackPreset(192, 3, 4, 768, 20_000_000)), dropouts=())
"""A label is little to learn from: small models, and much dropout."""
TAG_SIZING = replace(
    LABEL_SIZING,
    settings=(SuggestedSetting("train.metric", "f1", "the loss of dev rises while its F1 still does"),),
    scratch_settings=(ROTARY,),
)
CLASSIFY_SIZING = replace(
    LABEL_SIZING,
    settings=(SuggestedSetting("train.metric", "accuracy", "the loss of dev rises while its accuracy still does"),),
    scratch_settings=(
        SuggestedSetting("data.subword_regularization", 0.1, "labels are few: every epoch differs"),
        SuggestedSetting("train.rdrop", 4.0, "dropout must not change a decision"),
        SuggestedSetting("train.ema", 0.999, "dev is flat after an epoch: averaged weights are steadier"),
    ),
)
"""A classifier from scratch knows its training texts after one epoch; what it still can gain is regularization."""
TOKEN_SIZING = StackSizing(
    (
        StackPreset(128, 4, 4, 512, 0),
        StackPreset(192, 4, 4, 768, 500_000),
        StackPreset(256, 6, 8, 1024, 20_000_000),
    ),
    scratch_settings=(ROTARY,),
)
"""Every token is a target."""
VECTOR_SIZING = StackSizing(
    (StackPreset(128, 2, 4, 512, 0), StackPreset(192, 3, 4, 768, 5_000_000), StackPreset(256, 4, 8, 1024, 20_000_000)),
    dropouts=((math.inf, 0.1),),
    batch_tokens=8192,
    batch_reason="rows of a batch are each other's negatives",
)
"""A text is one vector, which is learned from other texts: the more in a batch, the better. Much dropout spoils it."""


def suggest_single_stack(inputs: SizingInputs, config: Config, sizing: StackSizing) -> list[SuggestedSetting]:
    """A value for every setting that the user has not set, in the order of the settings."""
    explicit_names = explicit_settings(config)
    user_sized = bool(SIZE_SETTINGS & explicit_names)
    suggestions = _suggest(inputs, config, sizing, user_sized)
    own = explicit_names | (SIZE_SETTINGS if user_sized else set())
    has_odd_heads = user_sized and config.model.dim % (2 * config.model.heads) != 0  # rotated are pairs of dimensions
    if has_odd_heads or any(name.startswith("model.positions.") for name in explicit_names):
        own |= {ROTARY.name}
    return [suggestion for suggestion in suggestions if suggestion.name not in own]


def _suggest(inputs: SizingInputs, config: Config, sizing: StackSizing, user_sized: bool) -> Iterator[SuggestedSetting]:
    text, finetunes = f"{inputs.source_bytes:,} bytes of text", bool(config.train.init_from)
    of_task = (*sizing.settings, *(() if finetunes else sizing.scratch_settings))
    sizes = (size for max_bytes, size in sizing.vocab_sizes if inputs.source_bytes < max_bytes)
    vocab_size = next(sizes, MAX_VOCAB_SIZE)
    yield SuggestedSetting("data.vocab_size", vocab_size, text)
    preset = [preset for preset in sizing.presets if inputs.source_bytes >= preset.min_bytes][-1]
    model = config.model if user_sized else preset.model_config(config.model)
    for name in ("dim", "layers", "heads", "ffn"):
        yield SuggestedSetting(f"model.{name}", getattr(preset, name), text)
    speed = [
        SuggestedSetting("train.batch_tokens", sizing.batch_tokens, sizing.batch_reason),
        *_suggest_precision(model, inputs.bfloat16_speedup),
    ]
    of_training = [*speed, *(one for one in of_task if one.name.startswith("train."))]
    expected = _estimate(inputs, _apply(of_training, config, model), vocab_size, sizing.max_rows)
    steps = max(1, int(expected.steps))
    epochs = f"about {format_epochs(expected.epochs)} epochs"
    dropout = next((p for limit, p in sizing.dropouts if expected.epochs < limit), 0.3)
    yield SuggestedSetting("model.dropout", FINETUNE_DROPOUT if finetunes else dropout, epochs)
    yield from speed
    rate, reason = (FINETUNE_LEARNING_RATE, "fine-tuning") if finetunes else (sizing.learning_rate, "one stack")
    yield SuggestedSetting("train.learning_rate", rate, reason)
    if finetunes:
        yield SuggestedSetting("train.output_lr_factor", FINETUNE_OUTPUT_FACTOR, "its output layer is new")
    yield SuggestedSetting("train.warmup", min(1000, steps // 10), f"about {steps:,} steps")
    num_validations = int(min(25, max(5, VALIDATIONS_PER_EPOCH * expected.epochs)))
    validate_every = min(2000, max(50, steps // num_validations))
    yield SuggestedSetting("train.validate_every", validate_every, f"about {num_validations} validations")
    yield SuggestedSetting("train.save_every", validate_every // 2, "two checkpoints per validation")
    yield from of_task


def _suggest_precision(model: ModelConfig, bfloat16_speedup: float) -> Iterator[SuggestedSetting]:
    if model.dim >= MIN_BFLOAT16_DIM and bfloat16_speedup >= MIN_BFLOAT16_SPEEDUP:
        reason = f"this processor multiplies its matrices {bfloat16_speedup:.1f} times as fast as those of float32"
        yield SuggestedSetting("train.precision", "bfloat16", reason)


def _apply(suggestions: Sequence[SuggestedSetting], config: Config, model: ModelConfig) -> Config:
    """The config with this model and with suggested settings of training that the user has not set."""
    values = {one.name: one.value for one in suggestions if one.name not in explicit_settings(config)}
    train = config.train.model_copy(update={name.removeprefix("train."): value for name, value in values.items()})
    return Config(task=config.task, data=config.data, model=model, train=train)


def _estimate(inputs: SizingInputs, config: Config, vocab_size: int, max_rows: float) -> TrainingEstimate:
    vocab_size = config.data.vocab_size if "data.vocab_size" in explicit_settings(config) else vocab_size
    flops = training_throughput(config, inputs.flops_per_second, inputs.bfloat16_speedup)
    return estimate_training(config, inputs.pairs, inputs.mean_lengths, vocab_size, flops, inputs.processes, max_rows)
