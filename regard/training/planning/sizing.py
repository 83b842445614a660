"""Settings suggested from the corpus, the hardware and the available time: a good starting point.

Every suggestion comes with its reason, and never replaces a setting of the user.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from regard.config import Config, ModelConfig, explicit_settings, with_values
from regard.errors import ConfigError
from regard.training.planning.cost import MeanLengths, compute_parameter_counts, training_bytes
from regard.training.planning.estimate import TrainingEstimate, estimate_training, format_epochs, training_throughput

BYTES_PER_TOKEN = 3.5
DEFAULT_BATCH_TOKENS, MIN_BATCH_TOKENS = 1024, 128


@dataclass(frozen=True)
class SizingInputs:
    """What is known before a setting is chosen."""

    pairs: int
    source_bytes: int
    target_bytes: int
    flops_per_second: float
    """Floating-point operations per second of matrix multiplication on this machine."""
    available_memory: int = 0
    """Bytes that are free; 0 if unknown."""
    processes: int = 1
    """Processes that train together."""
    bfloat16_speedup: float = 1.0
    """How many times as fast as in float32 this processor multiplies matrices in bfloat16."""

    @property
    def target_tokens(self) -> int:
        """Approximate number of tokens of all targets."""
        return round(self.target_bytes / BYTES_PER_TOKEN)

    @property
    def mean_lengths(self) -> MeanLengths:
        divisor = self.pairs * BYTES_PER_TOKEN
        return MeanLengths(self.source_bytes / divisor + 1, self.target_bytes / divisor + 1)


@dataclass(frozen=True)
class SuggestedSetting:
    """A setting, its value, and the reason."""

    name: str
    value: Any
    reason: str


@dataclass(frozen=True)
class SizePreset:
    """A model size, and the text and the steps that it needs."""

    dim: int
    layers: int
    heads: int
    ffn: int
    min_target_tokens: int
    """Approximate number; tokens, not pairs, because captions are shorter than sentences of talks."""
    min_steps: int

    def model_config(self) -> ModelConfig:
        return ModelConfig(dim=self.dim, layers=self.layers, heads=self.heads, ffn=self.ffn)


SIZE_PRESETS = (
    SizePreset(128, 3, 4, 256, 0, 0),
    SizePreset(128, 4, 4, 256, 100_000, 2_000),
    SizePreset(192, 4, 4, 768, 700_000, 7_000),
    SizePreset(256, 4, 4, 1024, 1_500_000, 25_000),
    SizePreset(256, 6, 4, 1024, 3_000_000, 40_000),
    SizePreset(384, 6, 6, 1536, 12_000_000, 80_000),
    SizePreset(512, 6, 8, 2048, 30_000_000, 150_000),
)
VOCAB_SIZES = ((5_000, 1000), (15_000, 2000), (60_000, 6000), (200_000, 8000), (1_000_000, 16_000))
MAX_VOCAB_SIZE = 32_000


SIZE_SETTINGS = frozenset(
    f"model.{name}" for name in ("dim", "layers", "heads", "ffn", "encoder_layers", "decoder_layers")
)


RecipeChoice = Callable[[float, float], Sequence[SuggestedSetting]]
"""Minutes of training and target tokens -> settings of a task that were measured to learn best with them."""


def suggest_settings(
    inputs: SizingInputs, config: Config, choose_recipe: RecipeChoice = lambda minutes, target_tokens: ()
) -> list[SuggestedSetting]:
    """A value for every setting that the user has not set, in the order of the settings.

    What a recipe has goes before what is computed here, where it contradicts nothing that the user has set.
    """
    explicit_names = explicit_settings(config)
    # The size is one choice: dim from the user and layers from here would not fit each other.
    user_sized = bool(SIZE_SETTINGS & explicit_names)
    suggestions = {c.name: c for c in _suggest(inputs, config, explicit_names, user_sized, choose_recipe)}
    own_names = explicit_names | (SIZE_SETTINGS if user_sized else frozenset())
    if any(name.startswith("model.positions.") for name in explicit_names):  # options of the user's scheme
        own_names |= {name for name in suggestions if name.startswith("model.positions.")}
    return _drop_conflicts(config, [c for c in suggestions.values() if c.name not in own_names])


def _drop_conflicts(config: Config, suggestions: Sequence[SuggestedSetting]) -> list[SuggestedSetting]:
    """The suggestions that contradict neither the settings of the user nor those before them."""
    values: dict[str, Any] = {}
    for suggestion in suggestions:
        try:
            with_values(config, {**values, suggestion.name: suggestion.value})
        except ConfigError:
            continue
        values[suggestion.name] = suggestion.value
    return [suggestion for suggestion in suggestions if suggestion.name in values]


def _suggest(
    inputs: SizingInputs,
    config: Config,
    explicit_names: frozenset[str],
    user_sized: bool,
    choose_recipe: RecipeChoice,
) -> Iterator[SuggestedSetting]:
    vocab_size = next((vocab_size for max_pairs, vocab_size in VOCAB_SIZES if inputs.pairs < max_pairs), MAX_VOCAB_SIZE)
    yield SuggestedSetting("data.vocab_size", vocab_size, f"{inputs.pairs:,} pairs")
    vocab_size = config.data.vocab_size if "data.vocab_size" in explicit_names else vocab_size
    preset = _choose_preset(inputs, config, vocab_size)
    model = config.model if user_sized else preset.model_config()
    batch_tokens = _choose_batch_tokens(inputs, model, vocab_size)
    train = (
        config.train
        if "train.batch_tokens" in explicit_names
        else config.train.model_copy(update={"batch_tokens": batch_tokens})
    )
    expected = _estimate(inputs, config.model_copy(update={"model": model, "train": train}), vocab_size)
    steps = int(expected.steps)
    size_reason = f"about {inputs.target_tokens:,} target tokens, and {steps:,} steps"
    for name, value in (("dim", preset.dim), ("layers", preset.layers), ("heads", preset.heads), ("ffn", preset.ffn)):
        yield SuggestedSetting(f"model.{name}", value, size_reason)
    dropout = 0.1 if expected.epochs < 15 else 0.2 if expected.epochs < 40 else 0.3
    yield SuggestedSetting("model.dropout", dropout, f"about {format_epochs(expected.epochs)} epochs")
    batch_reason = "small batches learn faster, and are large enough for efficient matrix multiplication on a CPU"
    yield SuggestedSetting(
        "train.batch_tokens",
        batch_tokens,
        batch_reason if batch_tokens == DEFAULT_BATCH_TOKENS else "the largest batch that fits into the free memory",
    )
    yield SuggestedSetting("train.learning_rate", round(default_learning_rate(model.dim), 5), f"width {model.dim}")
    warmup = min(1000, max(steps // 20, min(200, steps // 5)))
    yield SuggestedSetting("train.warmup", warmup, f"about {steps:,} steps")
    minutes = config.train.minutes or expected.minutes
    yield from choose_recipe(minutes, inputs.target_tokens)
    validate_every = min(2000, max(100, steps // 25))
    yield SuggestedSetting("train.validate_every", validate_every, "about 25 validations")
    yield SuggestedSetting("train.save_every", validate_every // 2, "two checkpoints per validation")


def default_learning_rate(width: int) -> float:
    """The peak learning rate for a model of this width."""
    return 4e-3 * (128 / width) ** 0.5


def _choose_preset(inputs: SizingInputs, config: Config, vocab_size: int) -> SizePreset:
    """The largest model for which the corpus and the time suffice."""
    candidates = [preset for preset in SIZE_PRESETS if inputs.target_tokens >= preset.min_target_tokens]
    configs = {preset: config.model_copy(update={"model": preset.model_config()}) for preset in candidates}
    return [
        preset for preset in candidates if _estimate(inputs, configs[preset], vocab_size).steps >= preset.min_steps
    ][-1]


def _choose_batch_tokens(inputs: SizingInputs, model: ModelConfig, vocab_size: int) -> int:
    """The default batch size, or what fits into half of the free memory."""
    batch_tokens, parameter_counts = (
        DEFAULT_BATCH_TOKENS,
        compute_parameter_counts(model, vocab_size, vocab_size, joint_vocab=True),
    )
    while inputs.available_memory and batch_tokens > MIN_BATCH_TOKENS:
        if training_bytes(model, parameter_counts, vocab_size, batch_tokens) <= inputs.available_memory / 2:
            break
        batch_tokens //= 2
    return batch_tokens


def _estimate(inputs: SizingInputs, config: Config, vocab_size: int) -> TrainingEstimate:
    """The cost of a config with these inputs."""
    flops = training_throughput(config, inputs.flops_per_second, inputs.bfloat16_speedup)
    return estimate_training(config, inputs.pairs, inputs.mean_lengths, vocab_size, flops, inputs.processes)
