"""Several processes train what one would have trained, and go on when one of them dies."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from regard.data.batch import DataPosition
from regard.model import weights
from regard.run import Run
from regard.training import log
from tests.jobs.conftest import TINY

STEPS = 20
EXACT = ("train.precision=float64", "model.dropout=0", "train.schedule=inverse-sqrt", "train.patience=0")


def command(files: Path, out: Path, *changes: str, ranks: int = 1, restarts: int = 0) -> list[str]:
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    several += ["--max-restarts", str(restarts), "-m", "regard"]
    start = [sys.executable, *(several if ranks > 1 else ["-m", "regard"])]
    pairs = [str(files / "train.en"), str(files / "train.fr"), "--dev", str(files / "dev.en"), str(files / "dev.fr")]
    settings = (*TINY, *EXACT, "train.threads=1", *changes)
    sets = [word for change in settings for word in ("--set", change)]
    return [*start, "train", *pairs, "--out", str(out), "--steps", str(STEPS), *sets]


def run(line: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    return done


def last(folder: Path) -> dict[str, torch.Tensor]:
    return weights.read(Run(folder).weights(STEPS))


def test_two_ranks_are_one_with_the_same_batches(files: Path, tmp_path: Path):
    run(command(files, tmp_path / "one", "train.accumulate_batches=2"))
    done = run(command(files, tmp_path / "two", ranks=2))
    one, two = last(tmp_path / "one"), last(tmp_path / "two")
    assert one.keys() == two.keys() and next(iter(one.values())).dtype == torch.float64
    for name in one:
        assert_close(two[name], one[name], rtol=0, atol=1e-9)
    steps = [log.read_steps(Run(tmp_path / name).log) for name in ("one", "two")]
    assert len(steps[1]) == STEPS  # one log, written by one of them
    for mine, theirs in zip(*steps, strict=True):
        assert mine.tokens == theirs.tokens and mine.loss == pytest.approx(theirs.loss, abs=1e-9)
    assert done.stderr.count("Training starts") == 1 and (tmp_path / "two" / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("train.ema=0.9", "train.accumulate_batches=2", "train.rdrop=1"),
        ("train.schedule=wsd", "train.label_smoothing=0.5:0.2,1:0", "train.rdrop=0.5:0,0.5:1", "train.save_every=7"),
    ],
    ids=str,
)
def test_a_model_in_shares_is_the_same_model(files: Path, tmp_path: Path, changes: tuple[str, ...]):
    run(command(files, tmp_path / "whole", *changes, ranks=2))
    run(command(files, tmp_path / "shares", *changes, "train.shard=true", ranks=2))
    for kind in (Run.weights, Run.resume_tensors):
        whole, shares = (weights.read(kind(Run(tmp_path / name), STEPS)) for name in ("whole", "shares"))
        assert whole.keys() == shares.keys()
        for name in whole:
            assert_close(shares[name], whole[name], rtol=0, atol=1e-9)


@pytest.mark.slow
def test_a_model_in_shares_goes_on_bit_for_bit_and_alone(files: Path, tmp_path: Path):
    changes = ("train.save_every=2", "train.shard=true", "train.ema=0.9")
    run(command(files, tmp_path / "whole", *changes, ranks=2))
    half = command(files, tmp_path / "half", *changes, ranks=2)
    half[half.index("--steps") + 1] = str(STEPS // 2)
    run(half)
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "regard"]
    run([sys.executable, *several, "train", "--resume", str(tmp_path / "half"), "--steps", str(STEPS)])
    for name, tensor in last(tmp_path / "whole").items():
        assert torch.equal(last(tmp_path / "half")[name], tensor)
    run([sys.executable, "-m", "regard", "train", "--resume", str(tmp_path / "half"), "--steps", str(STEPS + 2)])
    assert Run(tmp_path / "half").weights(STEPS + 2).exists()


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_run_goes_on_with_another_number_of_ranks(files: Path, tmp_path: Path, ranks: int):
    out, half, small = tmp_path / "run", STEPS // 2, "train.batch_tokens=64"  # so that the epoch does not end
    run(command(files, tmp_path / "whole", small, ranks=2))
    begun = command(files, out, small, ranks=2)
    begun[begun.index("--steps") + 1] = str(half)
    run(begun)
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "-m", "regard"]
    run([sys.executable, *several, "train", "--resume", str(out), "--steps", str(STEPS)])
    positions = [step.data_position for step in log.read_steps(Run(out).log)]
    assert len(positions) == STEPS and positions[half - 1] == DataPosition(0, 2 * half)
    assert positions[-1] == DataPosition(0, 2 * half + ranks * half)  # no batch twice, and none left out
    same = [torch.equal(last(out)[name], tensor) for name, tensor in last(tmp_path / "whole").items()]
    assert all(same) if ranks == 2 else not all(same)


@pytest.mark.slow
def test_what_was_refused_is_not_taken_for_a_run_to_go_on_with(files: Path, tmp_path: Path):
    out = tmp_path / "run"
    run(command(files, out))
    before = Run(out).log.read_text()
    again = command(files, out, "model.dim=16", ranks=2, restarts=1)
    done = subprocess.run(again, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode != 0 and Run(out).log.read_text() == before
    assert done.stderr.count(f"error: {out}") == 2  # the first try, and the second
    assert "the main process could not start training" in done.stderr and "gloo" not in done.stderr


@pytest.mark.slow
def test_a_rank_that_dies_is_started_again_and_the_end_is_the_same(files: Path, tmp_path: Path):
    changes = ("train.save_every=2",)
    run(command(files, tmp_path / "calm", *changes, ranks=2))
    out = tmp_path / "hurt"
    process = subprocess.Popen(
        command(files, out, *changes, ranks=2, restarts=3),
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 120
    while not (Run(out).latest.exists() and Run(out).saved_steps()) and time.monotonic() < deadline:
        time.sleep(0.05)
    victims = subprocess.run(["pgrep", "-f", f"regard train .*{out}"], capture_output=True, text=True).stdout.split()
    os.kill(int(victims[-1]), signal.SIGKILL)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    for name, tensor in last(tmp_path / "calm").items():
        assert_close(last(out)[name], tensor, rtol=0, atol=1e-9)
