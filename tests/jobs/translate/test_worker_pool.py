"""Worker processes: their errors are raised as they would be in this process."""

import os
import signal
from pathlib import Path

import pytest

from regard.errors import ConfigError, RunError
from regard.jobs.train import fit as job
from regard.jobs.translate.engine_choice import open_chosen
from regard.jobs.translate.worker_pool import (
    MAX_GROUP_TEXTS,
    RuntimeOptions,
    WorkerPool,
    split_into_groups,
)
from regard.run import Run

TEXTS = ["The old queen saw the horses."] * 3


@pytest.fixture
def run(tmp_path: Path, tiny) -> Run:
    for _ in job.train_run(tmp_path / "run", tiny("train.steps=2"), False, lambda: False):
        pass
    return Run(tmp_path / "run")


def test_damage_that_a_process_finds_is_named(run: Run):
    weights = run.best_weights()
    weights.write_bytes(weights.read_bytes() + b"x")
    with WorkerPool(run.folder, 2) as pool, pytest.raises(RunError, match=f"{weights.name}: damaged"):
        pool.candidates(TEXTS)


def test_a_process_that_dies_is_told_in_a_sentence(run: Run):
    with WorkerPool(run.folder, 1) as pool:
        assert len(pool.candidates(TEXTS)) == 3
        for process in pool._executor._processes.values():
            os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(RunError, match=r"worker processes died\. .* Try --workers 1"):
            pool.candidates(TEXTS)


@pytest.mark.parametrize("count", [0, 1, 7, 101, 3001])
def test_groups_are_alike_and_hold_every_text_once(count: int):
    texts = ["a" * (i * 7919 % 211) for i in range(count)]
    groups = split_into_groups(texts)
    assert sorted(i for group in groups for i in group) == list(range(count))
    assert all(0 < len(group) <= MAX_GROUP_TEXTS for group in groups)
    letters = [sum(len(texts[i]) for i in group) for group in groups]
    assert max(letters, default=0) - min(letters, default=0) <= 211


def test_an_engine_for_cpus_is_not_asked_for_elsewhere(run: Run):
    options = RuntimeOptions(device="cuda", engine="ctranslate2")
    with (
        pytest.raises(ConfigError, match="--engine ctranslate2 --device cuda: it runs on the CPU"),
        open_chosen(run.folder, options),
    ):
        pass
