"""What training on some files would take, without training."""

from collections.abc import Iterator

from regard import config as settings
from regard.config import Config
from regard.data.store import Corpus
from regard.errors import ConfigError
from regard.hardware import available_memory, measure_matmul_flops
from regard.jobs.load import pick_device, use_threads
from regard.jobs.train.prepare import stream
from regard.training.planning.cost import MeanLengths, compute_parameter_counts, training_bytes
from regard.training.planning.estimate import TrainingEstimate, estimate_training
from regard.training.planning.sizing import SizingInputs, SuggestedSetting, suggest_settings


def sized(
    config: Config, pairs: int, characters: tuple[int, int], ranks: int = 1
) -> tuple[Config, list[SuggestedSetting]]:
    """The settings with everything chosen that nobody has given."""
    # Where steps alone are counted the machine does not matter, and must not: same seed, same result.
    rate = measure_matmul_flops() if config.train.minutes else 1e11
    standing = suggest_settings(SizingInputs(pairs, *characters, rate, available_memory(), ranks), config)
    return settings.override(config, [f"{choice.name}={choice.value}" for choice in standing]), standing


def told(choices: list[SuggestedSetting]) -> Iterator[str]:
    """Choices for people, those with the same reason together."""
    for reason in dict.fromkeys(choice.reason for choice in choices):
        names = ", ".join(f"{choice.name}={choice.value}" for choice in choices if choice.reason == reason)
        yield f"chosen: {names} ({reason})"


def estimate_files(config: Config) -> list[str]:
    """Choices and costs, from a look through the files."""
    use_threads(config.train.threads)
    pairs, source, target = 0, 0, 0
    for pair in stream(config, config.data.train).read():
        pairs, source, target = pairs + 1, source + len(pair.source.encode()), target + len(pair.target.encode())
    config, choices = sized(config, pairs, (source, target))
    lengths = SizingInputs(pairs, source, target, 0.0).mean_lengths
    cost = estimate_training(config, pairs, lengths, config.data.vocab_size, measure_matmul_flops())
    return [f"{pairs:,} pairs", *told(choices), *cost.lines()]


def estimate_corpus(config: Config, train: Corpus, vocabulary: int, rate: float, ranks: int = 1) -> TrainingEstimate:
    """The same once the pieces are counted, for so many processes of this rate."""
    pairs = len(train)
    lengths = MeanLengths(len(train.source_ids.values) / pairs + 1, len(train.target_ids.values) / pairs + 1)
    return estimate_training(config, pairs, lengths, vocabulary, rate, ranks)


def require_memory(config: Config, vocabulary: int) -> None:
    """Refuse what this machine cannot hold before it tries: a system out of memory kills without a word."""
    parts = compute_parameter_counts(config.model, vocabulary, vocabulary, config.data.joint_vocab)
    needed, free = training_bytes(config.model, parts, vocabulary, config.train.batch_tokens), available_memory()
    if free and needed > free and pick_device(config.train.device).type == "cpu" and not config.train.shard:
        raise ConfigError(
            f"training would take about {needed / 2**30:,.1f} GB, and {free / 2**30:,.1f} GB are free: "
            f"{parts.total:,} parameters, batches of {config.train.batch_tokens:,} pieces. "
            f"Lower model.dim, model.layers or train.batch_tokens."
        )
