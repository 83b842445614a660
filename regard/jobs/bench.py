"""How fast this machine trains and translates, how near that is to its limit, and what would make it faster."""

import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from regard import config as settings
from regard.config import Config, ModelConfig
from regard.data.batch import Batch, collate
from regard.data.tokenizer import EOS, PAD
from regard.decode import BeamSearch, GreedySearch, Limits
from regard.hardware import available_memory, measure_matmul_flops
from regard.jobs.load import KINDS, cores, use_threads
from regard.jobs.train.prepare import write_pieces
from regard.model.build import build
from regard.model.transformer import EncoderDecoder
from regard.run import open_run
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.translate import ModelStepper
from regard.training import optim
from regard.training.loss import LossModule
from regard.training.planning.cost import MeanLengths, training_flops

SENTENCES = 128  # to translate
SHORT = MeanLengths(15.0, 16.0)
FAIR = 0.95  # of a speed that is as good as the whole


@dataclass(frozen=True)
class Subject:
    """What is measured: a model, and texts of made-up pieces in lengths like those of real sentences."""

    model: ModelConfig
    vocabulary: int = 8000
    lengths: MeanLengths = SHORT

    def build(self) -> EncoderDecoder:
        torch.manual_seed(1)
        return build(self.model, self.vocabulary, self.vocabulary, joint=True, pad=PAD)

    def sentences(self, count: int, mean: float) -> list[list[int]]:
        rng = np.random.default_rng(1)
        lengths = np.maximum(2, rng.normal(mean - 1, mean / 4, count)).astype(int)
        return [rng.integers(EOS + 1, self.vocabulary, n).tolist() for n in sorted(lengths, reverse=True)]


def of_nothing(changes: Sequence[str]) -> tuple[Config, Subject]:
    """A small model, or the one that the settings describe."""
    small = Config(model=ModelConfig(dim=256, layers=3, heads=4, ffn=1024))
    config = settings.override(small, changes)
    return config, Subject(config.model)


def of_run(folder: Path, changes: Sequence[str]) -> tuple[Config, Subject]:
    """The model of a run, with as many pieces as it has, and sentences as long as those it was trained on."""
    run = open_run(folder)
    config = settings.override(run.load_config(), changes)
    data = write_pieces(run, config)
    pairs, sides = len(data.train), (data.train.source_ids, data.train.target_ids)
    lengths = MeanLengths(*(len(side.values) / pairs + 1 for side in sides))
    return config, Subject(config.model, data.tokenizers.target.vocab_size, lengths)


def bench(config: Config, subject: Subject, seconds: float = 10.0) -> Iterator[str]:
    """Lines for people, as they are found. `seconds` is how long each speed is measured."""
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    threads = use_threads(config.train.threads)
    half = _with_threads(max(1, threads // 2), measure_matmul_flops)
    rate = measure_matmul_flops()
    yield _machine(threads)
    yield f"matrix products: {rate / 1e9:,.0f} GFLOP a second in float32"
    pieces, share = training(config, subject, seconds)
    m, parameters = subject.model, sum(p.numel() for p in subject.build().parameters())
    yield f"model: {m.depth('encoder')}+{m.depth('decoder')} layers of width {m.dim}, {parameters:,} parameters"
    batch = config.train.batch_tokens
    yield f"training: {pieces:,.0f} target pieces a second in batches of {batch:,}, {share:.2f} of what products allow"
    speeds: dict[str, float] = {}
    for kind in KINDS:
        for name, search in (("greedy", GreedySearch(scored=False)), ("beam 5", BeamSearch())):
            speeds[kind] = decoding(subject, kind, search, seconds)
            numbers = "float32" if kind == "none" else kind
            yield f"translating, {name}, {numbers}: {speeds[kind]:,.0f} pieces a second on each core"
    yield from advice(threads, busy, half / rate, speeds["int8"] / speeds["none"])


def training(config: Config, subject: Subject, seconds: float) -> tuple[float, float]:
    """Target pieces a second, and the share of the rate that matrix products reach in between."""
    c = config.train
    model = subject.build()
    learner = LossModule(model, c.label_smoothing, padding_free=c.padding_free != "plain")
    optimizers = optim.build(c, model)
    batch = _batch(subject, c.batch_tokens)
    work = training_flops(subject.model, subject.vocabulary, _mean(batch)) * len(batch.source)
    times: list[float] = []
    rates: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 4 or time.perf_counter() < end:
        start = time.perf_counter()
        (learner(batch).objective / batch.num_tokens).backward()
        optimizers.step(0.01)
        times.append(time.perf_counter() - start)
        rates.append(measure_matmul_flops(tries=1))
    update = statistics.median(times[2:])  # the first ones make room
    return batch.num_tokens / update, work / update / statistics.median(rates)


def decoding(subject: Subject, kind: str, search: GreedySearch | BeamSearch, seconds: float) -> float:
    """Pieces a second that one thread writes."""
    stepwise = IncrementalDecoder(subject.build().eval(), KINDS[kind])
    sources = subject.sentences(SENTENCES, subject.lengths.source)
    search = replace(
        search, limits=Limits(factor=1.0, extra=0, loop_repeats=1000)
    )  # what learnt nothing never ends by itself

    def measure() -> float:
        speeds: list[float] = []
        end = time.perf_counter() + seconds
        while len(speeds) < 2 or time.perf_counter() < end:
            start = time.perf_counter()
            found = search.search(ModelStepper(stepwise, sources, range(len(sources))))
            speeds.append(sum(len(one[0].ids) for one in found) / (time.perf_counter() - start))
        return statistics.median(speeds[1:])

    with torch.inference_mode():
        return _with_threads(1, measure)


def advice(threads: int, busy: float, half: float, eight_bits: float) -> Iterator[str]:
    """What would make it faster here."""
    if cores() < (os.cpu_count() or 1):
        yield f"! this process may use {cores()} of the machine's {os.cpu_count()} cores"
    if busy > 0.5:
        yield f"! other programs keep {busy:.1f} cores busy: without them these numbers are higher"
    elif threads > 1 and half > FAIR:
        yield f"! {threads // 2} threads multiply as fast as {threads}: try train.threads={threads // 2}"
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        yield "! there is a GPU, which train.device=auto uses; these numbers are the CPU's"
    if eight_bits > 1.1:
        yield f"! regard translate --quantize int8 is {eight_bits:.1f} times as fast with a beam"
    install = "" if importlib.util.find_spec("ctranslate2") else " (pip install 'regard[ctranslate2]')"
    yield f"! not measured here, but worth a try: regard translate --engine ctranslate2{install}"


def _machine(threads: int) -> str:
    free = f", {available_memory() / 2**30:.0f} GB free" if available_memory() else ""
    return f"machine: {threads} threads, {torch.backends.cpu.get_cpu_capability()}{free}, torch {torch.__version__}"


def _batch(subject: Subject, tokens: int) -> Batch:
    """A batch of so many tokens, of sentences of usual and nearly one length, as training makes them."""
    longest = max(subject.lengths.source, subject.lengths.target)
    count = max(1, int(tokens / longest))
    usual = slice(2 * count, 3 * count)  # of the longest first
    sources, targets = (
        subject.sentences(5 * count, mean)[usual] for mean in (subject.lengths.source, subject.lengths.target)
    )
    return collate(sources, targets)


def _mean(batch: Batch) -> MeanLengths:
    sides = (batch.source, batch.target_out)
    source, target = (float((side != PAD).sum()) / len(side) for side in sides)
    return MeanLengths(source, target)


def _with_threads(count: int, measure: Callable[[], float]) -> float:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return measure()
    finally:
        torch.set_num_threads(before)
