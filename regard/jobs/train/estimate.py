"""The cost of training on some files, without training."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from regard import config as settings
from regard.config import Config
from regard.errors import ConfigError
from regard.hardware import available_memory, configure_cpu, measure_matmul_flops, pick_device
from regard.jobs.tasks.registry import task_of
from regard.jobs.tasks.task import TextSize, TrainingData
from regard.jobs.tasks.translation.prepare import count_directions, read_training_pairs
from regard.progress import stage
from regard.training.planning.cost import compute_parameter_counts, training_bytes
from regard.training.planning.estimate import TrainingEstimate, estimate_training, training_throughput
from regard.training.planning.sizing import SizingInputs, SuggestedSetting

BFLOAT16_TRIES = 3
"""Few: on processors without bfloat16 it is slow, and the answer is clear."""


def choose_missing_settings(
    config: Config, size: TextSize, world_size: int = 1
) -> tuple[Config, list[SuggestedSetting]]:
    """The settings, with a choice for each one that the user has not set."""
    matmul_flops, bfloat16_speedup = 1e11, 1.0
    if config.train.minutes:  # where the steps are given, the hardware must not matter: same seed, same result
        matmul_flops = measure_matmul_flops()
        if pick_device(config.train.device).type == "cpu":
            bfloat16_speedup = _measure_bfloat16_speedup(matmul_flops)
    inputs = SizingInputs(*size, matmul_flops, available_memory(), world_size, bfloat16_speedup)
    choices = task_of(config).suggest_settings(inputs, config)
    return settings.with_values(config, {choice.name: choice.value for choice in choices}), choices


def measure_throughput(config: Config) -> float:
    """The throughput of this machine in the precision of the config, in operations of float32."""
    matmul_flops, speedup = measure_matmul_flops(), 1.0
    if config.train.precision == "bfloat16" and pick_device(config.train.device).type == "cpu":
        speedup = _measure_bfloat16_speedup(matmul_flops)
    return training_throughput(config, matmul_flops, speedup)


def _measure_bfloat16_speedup(matmul_flops: float) -> float:
    return measure_matmul_flops(BFLOAT16_TRIES, "bfloat16") / matmul_flops


def describe_choices(choices: Sequence[SuggestedSetting]) -> Iterator[str]:
    """The choices as text, those with the same reason together."""
    for reason in dict.fromkeys(choice.reason for choice in choices):
        names = ", ".join(f"{choice.name}={choice.value}" for choice in choices if choice.reason == reason)
        yield f"chosen: {names} ({reason})"


@dataclass(frozen=True)
class FileEstimate:
    """What training on some files would take."""

    pairs: int
    """Those to train on."""
    choices: tuple[SuggestedSetting, ...]
    """The settings that training would choose, with their reasons."""
    cost: TrainingEstimate
    config: Config = field(repr=False)
    """The settings, with those that training would choose."""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def lines(self) -> list[str]:
        """The estimate as text."""
        return [f"{self.pairs:,} pairs", *describe_choices(self.choices), *self.cost.lines()]


def estimate_files(config: Config) -> FileEstimate:
    """The choices and the cost, from the pairs that training would store: the same ones give the same choices."""
    configure_cpu(config.train.threads)
    pairs, source, target = 0, 0, 0
    for pair in read_training_pairs(config):
        pairs, source, target = pairs + 1, source + len(pair.source.encode()), target + len(pair.target.encode())
    size = count_directions(TextSize(pairs, source, target), config)
    config, choices = choose_missing_settings(config, size)
    lengths = SizingInputs(*size, 0.0).mean_lengths
    with stage("measuring this machine"):
        throughput = measure_throughput(config)
    cost = estimate_training(config, size.examples, lengths, config.data.vocab_size, throughput)
    return FileEstimate(pairs, tuple(choices), cost, config)


def estimate_corpus(config: Config, data: TrainingData, throughput: float, world_size: int = 1) -> TrainingEstimate:
    """The cost on a tokenized corpus, for processes of this throughput each."""
    task = task_of(config)
    count, lengths = task.count_examples(data), task.mean_lengths(data)
    rows = task.max_batch_rows(config)
    return estimate_training(config, count, lengths, data.vocab_size, throughput, world_size, rows)


def require_memory(config: Config, vocab_size: int, output_size: int) -> None:
    """Refuse a model that does not fit into memory: a system out of memory kills the process without a message."""
    parameter_counts = compute_parameter_counts(config.model, vocab_size, vocab_size, config.data.joint_vocab)
    required_bytes, free_bytes = (
        training_bytes(config.model, parameter_counts, output_size, config.train.batch_tokens),
        available_memory(),
    )
    if (
        free_bytes
        and required_bytes > free_bytes
        and pick_device(config.train.device).type == "cpu"
        and not config.train.shard
    ):
        raise ConfigError(
            f"training would take about {required_bytes / 2**30:,.1f} GB, and {free_bytes / 2**30:,.1f} GB are free: "
            f"{parameter_counts.total:,} parameters, batches of {config.train.batch_tokens:,} tokens. "
            f"Lower model.dim, model.layers or train.batch_tokens."
        )
