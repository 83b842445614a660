"""Benchmark of this machine: speed of training and translation, utilization, and suggestions for more speed."""

import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard import config as settings
from regard.config import Config, ModelConfig
from regard.data.batch import Batch, collate
from regard.data.tokenizers.tokenizer import EOS, PAD
from regard.decode import BeamSearch, GreedySearch, Limits
from regard.hardware import available_memory, configure_cpu, count_cores, measure_matmul_flops
from regard.jobs.load import LINEAR_FACTORIES
from regard.jobs.tasks.translation.data import open_training_data
from regard.model.build import build
from regard.model.transformer import EncoderDecoder
from regard.progress import stage, track
from regard.report.text import escape_html
from regard.run import open_run
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.translate.loss import TranslationLoss
from regard.tasks.translate.translator import ModelStepper
from regard.training import optim
from regard.training.planning.cost import MeanLengths, training_flops

DECODING_SENTENCES = 128
DEFAULT_LENGTHS = MeanLengths(15.0, 16.0)
SATURATION_RATIO = 0.95  # of the full speed, from which on half the threads are as good as all


@dataclass(frozen=True)
class BenchmarkWorkload:
    """What is measured: a model, and sentences of random tokens with realistic lengths."""

    model_config: ModelConfig
    vocab_size: int = 8000
    lengths: MeanLengths = DEFAULT_LENGTHS

    def build_model(self) -> EncoderDecoder:
        torch.manual_seed(1)
        return build(self.model_config, self.vocab_size, self.vocab_size, joint=True, pad=PAD)

    def sentences(self, count: int, mean: float) -> list[list[int]]:
        rng = np.random.default_rng(1)
        lengths = np.maximum(2, rng.normal(mean - 1, mean / 4, count)).astype(int)
        return [rng.integers(EOS + 1, self.vocab_size, n).tolist() for n in sorted(lengths, reverse=True)]


@dataclass(frozen=True)
class DecodingSpeed:
    """Tokens per second that one core generates, by search and kind of weights."""

    search: str
    dtype: str
    tokens_per_second: float


@dataclass(frozen=True)
class Benchmark:
    """What this machine can do, and suggestions for more speed."""

    hardware: str
    matmul_flops: float
    """Floating-point operations per second of matrix multiplication in float32."""
    model: str
    batch_tokens: int
    training_tokens_per_second: float
    utilization: float
    """Floating-point operations per second of training, relative to plain matrix multiplication."""
    decoding: tuple[DecodingSpeed, ...]
    suggestions: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape_html(str(self))}</pre>"

    def lines(self) -> list[str]:
        """The benchmark as text."""
        return [
            self.hardware,
            f"matrix multiplication: {self.matmul_flops / 1e9:,.0f} GFLOP/s in float32",
            self.model,
            f"training: {self.training_tokens_per_second:,.0f} target tokens per second in batches of "
            f"{self.batch_tokens:,}, {self.utilization:.2f} of the speed of matrix multiplication",
            *(
                f"translation, {speed.search}, {speed.dtype}: {speed.tokens_per_second:,.0f} tokens per second on "
                f"each core"
                for speed in self.decoding
            ),
            *self.suggestions,
        ]


def measure_machine(folder: Path | None, values: Mapping[str, Any], seconds: float = 5.0) -> Benchmark:
    """Measure the model of a run, or a small model, with other settings; `seconds` for each measurement."""
    config, workload = _default_workload(values) if folder is None else _run_workload(folder, values)
    return run_benchmark(config, workload, seconds)


def _default_workload(values: Mapping[str, Any]) -> tuple[Config, BenchmarkWorkload]:
    """A small model, or the model of the settings."""
    small_config = Config(model=ModelConfig(dim=256, layers=3, heads=4, ffn=1024))
    config = settings.with_values(small_config, values)
    return config, BenchmarkWorkload(config.model)


def _run_workload(folder: Path, values: Mapping[str, Any]) -> tuple[Config, BenchmarkWorkload]:
    """The model of a run with its vocabulary size, and sentences as long as its training sentences."""
    run = open_run(folder)
    config = settings.with_values(run.load_config(), values)
    data = open_training_data(run, config)
    pairs, sides = len(data.train), (data.train.source_ids, data.train.target_ids)
    lengths = MeanLengths(*(len(side.values) / pairs + 1 for side in sides))
    return config, BenchmarkWorkload(config.model, data.tokenizers.target.vocab_size, lengths)


def run_benchmark(config: Config, workload: BenchmarkWorkload, seconds: float) -> Benchmark:
    """Measure matrix multiplication, training, and every kind of decoding."""
    load_average = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    threads = configure_cpu(config.train.threads)
    half_threads_flops = _with_threads(max(1, threads // 2), measure_matmul_flops)
    matmul_flops = measure_matmul_flops()
    with stage("measuring training"):
        tokens_per_second, utilization = measure_training(config, workload, seconds)
    searches = (("greedy", GreedySearch(scored=False)), ("beam 5", BeamSearch()))
    kinds = [(quantize, name, search) for quantize in LINEAR_FACTORIES for name, search in searches]
    speeds = {
        (quantize, name): measure_decoding(workload, quantize, search, seconds)
        for quantize, name, search in track(kinds, "measuring translation")
    }
    int8_speedup = speeds["int8", "beam 5"] / speeds["none", "beam 5"]
    suggestions = suggest_speedups(threads, load_average, half_threads_flops / matmul_flops, int8_speedup)
    return Benchmark(
        hardware=_describe_hardware(threads),
        matmul_flops=matmul_flops,
        model=_describe_model(workload),
        batch_tokens=config.train.batch_tokens,
        training_tokens_per_second=tokens_per_second,
        utilization=utilization,
        decoding=tuple(
            DecodingSpeed(name, "float32" if quantize == "none" else quantize, speed)
            for (quantize, name), speed in speeds.items()
        ),
        suggestions=tuple(suggestions),
    )


def _describe_model(workload: BenchmarkWorkload) -> str:
    m, parameters = workload.model_config, sum(p.numel() for p in workload.build_model().parameters())
    return f"model: {m.depth('encoder')}+{m.depth('decoder')} layers of width {m.dim}, {parameters:,} parameters"


def measure_training(config: Config, workload: BenchmarkWorkload, seconds: float) -> tuple[float, float]:
    """Target tokens per second, and the utilization: FLOPs per second relative to plain matrix multiplication."""
    c = config.train
    model = workload.build_model()
    learner = TranslationLoss(model, c.label_smoothing, padding_free=c.padding_free is not False)
    optimizers = optim.build_optimizers(c, model)
    batch = _make_batch(workload, c.batch_tokens)
    batch_flops = training_flops(workload.model_config, workload.vocab_size, _mean_lengths(batch)) * len(batch.source)
    times: list[float] = []
    matmul_flops: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 4 or time.perf_counter() < end:
        start = time.perf_counter()
        (learner(batch).objective / batch.num_targets).backward()
        optimizers.step(0.01)
        times.append(time.perf_counter() - start)
        matmul_flops.append(measure_matmul_flops(tries=1))
    step_seconds = statistics.median(times[2:])  # the first ones allocate memory
    return batch.num_targets / step_seconds, batch_flops / step_seconds / statistics.median(matmul_flops)


def measure_decoding(
    workload: BenchmarkWorkload, quantize: str, search: GreedySearch | BeamSearch, seconds: float
) -> float:
    """Tokens per second that one thread generates."""
    incremental_decoder = IncrementalDecoder(workload.build_model().eval(), LINEAR_FACTORIES[quantize])
    sources = workload.sentences(DECODING_SENTENCES, workload.lengths.source)
    search = replace(
        search, limits=Limits(factor=1.0, extra=0, loop_repeats=1000)
    )  # an untrained model hardly ever generates EOS

    def measure() -> float:
        speeds: list[float] = []
        end = time.perf_counter() + seconds
        while len(speeds) < 2 or time.perf_counter() < end:
            start = time.perf_counter()
            results = search.search(ModelStepper(incremental_decoder, sources, range(len(sources))))
            num_targets = sum(max(1, len(hypotheses[0].ids)) for hypotheses in results)  # EOS alone takes a step, too
            speeds.append(num_targets / (time.perf_counter() - start))
        return statistics.median(speeds[1:])

    with torch.inference_mode():
        return _with_threads(1, measure)


def suggest_speedups(
    threads: int, load_average: float, half_threads_ratio: float, int8_speedup: float
) -> Iterator[str]:
    """Suggestions that would make this machine faster."""
    if count_cores() < (os.cpu_count() or 1):
        yield f"! this process may use {count_cores()} of the machine's {os.cpu_count()} cores"
    if load_average > 0.5:
        yield f"! other programs keep {load_average:.1f} cores busy: without them, these numbers would be higher"
    elif threads > 1 and half_threads_ratio > SATURATION_RATIO:
        yield f"! {threads // 2} threads multiply as fast as {threads}: try train.threads={threads // 2}"
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        yield "! there is a GPU, which train.device=auto uses; these numbers are for the CPU"
    if int8_speedup > 1.1:
        yield f"! regard translate --engine torch --quantize int8 is {int8_speedup:.1f} times as fast with a beam"
    if importlib.util.find_spec("ctranslate2"):
        yield "! regard translate uses --engine ctranslate2 by default, which is not measured here"
    else:
        yield "! CTranslate2 may be faster (in Regard's source folder: pip install '.[ctranslate2]')"


def _describe_hardware(threads: int) -> str:
    free_memory = f", {available_memory() / 2**30:.0f} GB free" if available_memory() else ""
    return (
        f"machine: {threads} threads, {torch.backends.cpu.get_cpu_capability()}{free_memory}, torch {torch.__version__}"
    )


def _make_batch(workload: BenchmarkWorkload, tokens: int) -> Batch:
    """A batch of about `tokens` tokens, of sentences of typical and similar length, as in training."""
    max_mean_length = max(workload.lengths.source, workload.lengths.target)
    count = max(1, int(tokens / max_mean_length))
    middle = slice(2 * count, 3 * count)  # sentences are sorted, longest first
    sources, targets = (
        workload.sentences(5 * count, mean)[middle] for mean in (workload.lengths.source, workload.lengths.target)
    )
    return collate(sources, targets)


def _mean_lengths(batch: Batch) -> MeanLengths:
    sides = (batch.source, batch.target_out)
    source, target = (float((side != PAD).sum()) / len(side) for side in sides)
    return MeanLengths(source, target)


def _with_threads(count: int, measure: Callable[[], float]) -> float:
    previous_count = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return measure()
    finally:
        torch.set_num_threads(previous_count)
