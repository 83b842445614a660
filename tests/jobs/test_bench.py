"""What a machine can do is measured, and what is said of it follows from the numbers."""

import os
import re

from regard.config import Config, ModelConfig
from regard.data.tokenizer import PAD
from regard.decode import GreedySearch
from regard.jobs.bench import Subject, _batch, advice, bench, decoding, of_nothing, of_run
from regard.jobs.train.fit import fit

SMALL = Subject(ModelConfig(dim=16, heads=2, ffn=32, layers=1), vocabulary=101)


def test_every_speed_is_a_positive_number():
    lines = list(bench(Config(), SMALL, seconds=0))
    speeds = [line for line in lines if " a second" in line]
    assert [line.split(":")[0] for line in speeds] == [
        "matrix products",
        "training",
        "translating, greedy, float32",
        "translating, beam 5, float32",
        "translating, greedy, int8",
        "translating, beam 5, int8",
    ]
    assert all(int(re.search(r": ([\d,]+)", line)[1].replace(",", "")) > 0 for line in speeds[1:])
    share = float(re.search(r"([\d.]+) of what products allow", speeds[1])[1])
    assert 0 <= share < 1.5  # of a toy it may round to nothing


def test_advice_follows_from_what_was_measured(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert not [line for line in advice(4, busy=0.0, half=0.5, eight_bits=1.0) if "ctranslate2" not in line]
    assert "try train.threads=2" in " ".join(advice(4, busy=0.0, half=0.99, eight_bits=1.0))
    assert "2.5 cores busy" in " ".join(advice(4, busy=2.5, half=0.99, eight_bits=1.0))
    assert "threads=" not in " ".join(advice(4, busy=2.5, half=0.99, eight_bits=1.0))
    assert "--quantize int8 is 1.4 times" in " ".join(advice(4, busy=0.0, half=0.5, eight_bits=1.42))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert "of the machine's 64 cores" in " ".join(advice(1, busy=0.0, half=0.5, eight_bits=1.0))


def test_only_pieces_that_were_written_are_counted(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr("regard.jobs.bench.time.perf_counter", lambda: float(next(clock)))
    written = sum(len(source) + 1 for source in SMALL.sentences(128, SMALL.lengths.source))  # as many as it may
    assert 0.5 * written < decoding(SMALL, "none", GreedySearch(), 0.0) <= written


def test_a_batch_has_the_padding_of_real_ones():
    batch = _batch(SMALL, 1024)
    real = float((batch.source != PAD).float().mean())
    assert 0.8 < real < 1 and 0.8 * 1024 < batch.source.numel() < 1.25 * 1024


def test_the_subject_is_the_model_of_a_run_or_of_the_settings(tmp_path, tiny):
    assert of_nothing(["model.dim=64"])[1].model.dim == 64
    for _ in fit(tmp_path / "run", tiny("train.steps=2"), False, lambda: False):
        pass
    config, subject = of_run(tmp_path / "run", ["train.batch_tokens=64"])
    assert (subject.model.dim, subject.vocabulary, config.train.batch_tokens) == (32, 400, 64)
    assert 3 < subject.lengths.source < 30
