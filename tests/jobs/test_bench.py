"""What a machine can do is measured, and what is said of it follows from the numbers."""

import os
import re

from regard.config import Config, ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.decode import GreedySearch
from regard.jobs.bench import (
    BenchmarkWorkload,
    _default_workload,
    _make_batch,
    _run_workload,
    measure_decoding,
    run_benchmark,
    suggest_speedups,
)
from regard.jobs.train.fit import train_run

SMALL = BenchmarkWorkload(ModelConfig(dim=16, heads=2, ffn=32, layers=1), vocab_size=101)


def test_every_speed_is_a_positive_number():
    lines = run_benchmark(Config(), SMALL, seconds=0).lines()
    speeds = [line for line in lines if " per second" in line or "GFLOP/s" in line]
    assert [line.split(":")[0] for line in speeds] == [
        "matrix multiplication",
        "training",
        "translation, greedy, float32",
        "translation, beam 5, float32",
        "translation, greedy, int8",
        "translation, beam 5, int8",
    ]
    assert all(int(re.search(r": ([\d,]+)", line)[1].replace(",", "")) > 0 for line in speeds[1:])
    share = float(re.search(r"([\d.]+) of the speed of matrix multiplication", speeds[1])[1])
    assert 0 <= share < 1.5  # of a toy it may round to nothing


def test_advice_follows_from_what_was_measured(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert not [
        line
        for line in suggest_speedups(4, load_average=0.0, half_threads_ratio=0.5, int8_speedup=1.0)
        if "ctranslate2" not in line.lower()
    ]
    assert "try train.threads=2" in " ".join(
        suggest_speedups(4, load_average=0.0, half_threads_ratio=0.99, int8_speedup=1.0)
    )
    assert "2.5 cores busy" in " ".join(
        suggest_speedups(4, load_average=2.5, half_threads_ratio=0.99, int8_speedup=1.0)
    )
    assert "threads=" not in " ".join(suggest_speedups(4, load_average=2.5, half_threads_ratio=0.99, int8_speedup=1.0))
    assert "--quantize int8 is 1.4 times" in " ".join(
        suggest_speedups(4, load_average=0.0, half_threads_ratio=0.5, int8_speedup=1.42)
    )
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert "of the machine's 64 cores" in " ".join(
        suggest_speedups(1, load_average=0.0, half_threads_ratio=0.5, int8_speedup=1.0)
    )


def test_only_pieces_that_were_written_are_counted(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr("regard.jobs.bench.time.perf_counter", lambda: float(next(clock)))
    written = sum(len(source) + 1 for source in SMALL.sentences(128, SMALL.lengths.source))  # as many as it may
    assert 0.5 * written < measure_decoding(SMALL, "none", GreedySearch(), 0.0) <= written


def test_a_batch_has_the_padding_of_real_ones():
    batch = _make_batch(SMALL, 1024)
    real = float((batch.source != PAD).float().mean())
    assert 0.8 < real < 1 and 0.8 * 1024 < batch.source.numel() < 1.25 * 1024


def test_the_subject_is_the_model_of_a_run_or_of_the_settings(tmp_path, tiny):
    assert _default_workload({"model.dim": 64})[1].model_config.dim == 64
    for _ in train_run(tmp_path / "run", tiny("train.steps=2"), False, lambda: False):
        pass
    config, subject = _run_workload(tmp_path / "run", {"train.batch_tokens": 64})
    assert (subject.model_config.dim, subject.vocab_size, config.train.batch_tokens) == (32, 400, 64)
    assert 3 < subject.lengths.source < 30
