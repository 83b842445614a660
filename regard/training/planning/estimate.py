"""Estimates of training before it starts: steps, epochs, minutes and memory on this machine."""

import math
from dataclasses import dataclass, replace

from regard.config import Config, share_above_zero
from regard.training.planning.batch_growth import mean_growth
from regard.training.planning.cost import (
    MeanLengths,
    ParameterCounts,
    compute_parameter_counts,
    training_bytes,
    training_flops,
)

BASE_EFFICIENCY, EFFICIENCY_PER_DOUBLING, MAX_EFFICIENCY = 0.61, 0.115, 0.9  # see `matmul_efficiency`
BATCH_OVERHEAD_SECONDS = 0.012  # of a batch, besides its matrix multiplications
LAYER_OVERHEAD_SECONDS = 0.005
BFLOAT16_CONVERSIONS = 80.0  # per unit of width, in the time of float32's matrices: benchmarks/results/bfloat16.md
NON_PADDING_RATIO = 0.93  # fraction of a batch that is not padding


@dataclass(frozen=True)
class TrainingEstimate:
    """The expected cost of a training."""

    parameter_counts: ParameterCounts
    flops_per_pair: float
    memory_bytes: int
    tokens_per_second: float
    steps_per_epoch: float
    seconds_per_step: float
    steps: float

    @property
    def minutes(self) -> float:
        return self.steps * self.seconds_per_step / 60

    @property
    def epochs(self) -> float:
        return self.steps / self.steps_per_epoch

    def with_batches(self, steps_per_epoch: float, last_step: int, minutes: float | None) -> "TrainingEstimate":
        """The same by the batches as they are: their number is not an estimate."""
        by_time = 60 * minutes / self.seconds_per_step if minutes else math.inf
        return replace(self, steps_per_epoch=steps_per_epoch, steps=min(last_step, by_time))

    def lines(self) -> list[str]:
        """The estimate as text."""
        p = self.parameter_counts
        shares = f"embeddings {p.embeddings:,}, positions {p.positions:,}, encoder {p.encoder:,}, decoder {p.decoder:,}"
        shares += f", output {p.output:,}" if p.output else ", output shared with the embeddings"
        steps = max(1, round(self.steps))
        return [
            f"parameters: {p.total:,} ({shares})",
            f"compute: {self.flops_per_pair / 1e9:.2f} GFLOP to train on a pair once",
            f"memory: about {self.memory_bytes / 2**20:,.0f} MB",
            f"speed: about {self.tokens_per_second:,.0f} target tokens per second, "
            f"{self.seconds_per_step:.2f} s per step",
            f"time: {format_minutes(self.minutes)} for {steps:,} step{'' if steps == 1 else 's'}, "
            f"{format_epochs(self.epochs)} epochs",
        ]


def format_minutes(minutes: float) -> str:
    """An estimated time in words; never none at all."""
    if minutes < 0.75:
        return "less than a minute"
    if minutes < 90:
        count = round(minutes)
        return f"about {count} minute{'' if count == 1 else 's'}"
    hours = minutes / 60
    return f"about {hours:.1f} hours" if hours < 48 else f"about {hours / 24:.1f} days"


def format_epochs(epochs: float) -> str:
    """A number of epochs; a small part of one is not 0.0."""
    return f"{epochs:.1f}" if epochs >= 0.95 else f"{epochs:.2g}"


def matmul_efficiency(width: int) -> float:
    """The fraction of the measured matmul throughput that training reaches; wider models come closer to it."""
    return min(MAX_EFFICIENCY, BASE_EFFICIENCY + EFFICIENCY_PER_DOUBLING * max(0.0, math.log2(width / 128)))


def training_throughput(config: Config, flops_per_second: float, bfloat16_speedup: float) -> float:
    """The throughput of float32 at which training would take as long as in the precision of the config.

    bfloat16 makes only the matrices faster: the rest stays, and conversions are added, less so for wide models.
    """
    if config.train.precision != "bfloat16":
        return flops_per_second
    width = config.model.dim
    rest = 1 / matmul_efficiency(width) - 1
    return flops_per_second * (1 + rest) / (1 / bfloat16_speedup + rest + BFLOAT16_CONVERSIONS / width)


def estimate_training(
    config: Config,
    pairs: float,
    lengths: MeanLengths,
    vocab_size: int,
    flops_per_second: float,
    processes: int = 1,
    max_rows: float = math.inf,
) -> TrainingEstimate:
    """The cost of a config on a corpus, at this many floating-point operations per second of each process (of float32,
    or as `training_throughput` has it).

    `max_rows` are the pairs of a batch at most, where not its tokens alone limit it.
    """
    m, c = config.model, config.train
    parameter_counts = compute_parameter_counts(m, vocab_size, vocab_size, config.data.joint_vocab)
    flops_per_pair = training_flops(m, vocab_size, lengths) * (1 + share_above_zero(c.rdrop))
    pairs_per_batch = min(max_rows, NON_PADDING_RATIO * c.batch_tokens / max(lengths.source, lengths.target))
    layers = sum(m.depth(stack) for stack in m.architecture.split("-"))
    batches_per_step = c.accumulate_batches * mean_growth(c.batch_growth)
    seconds_per_step = batches_per_step * (
        pairs_per_batch * flops_per_pair / (matmul_efficiency(m.dim) * flops_per_second)
        + BATCH_OVERHEAD_SECONDS
        + LAYER_OVERHEAD_SECONDS * layers
    )
    pairs_per_step = processes * batches_per_step * pairs_per_batch
    steps_per_epoch = max(1.0, pairs / pairs_per_step)
    step_limits = [
        c.last_step,
        c.minutes and 60 * c.minutes / seconds_per_step,
        c.epochs and c.epochs * steps_per_epoch,
        c.tokens and c.tokens / (pairs_per_step * lengths.target),
    ]
    return TrainingEstimate(
        parameter_counts=parameter_counts,
        flops_per_pair=flops_per_pair,
        memory_bytes=training_bytes(m, parameter_counts, vocab_size, c.batch_tokens),
        tokens_per_second=pairs_per_step * lengths.target / seconds_per_step,
        steps_per_epoch=steps_per_epoch,
        seconds_per_step=seconds_per_step,
        steps=min(end for end in step_limits if end),
    )
