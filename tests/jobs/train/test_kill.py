"""SIGKILL at random moments, before the first save and in the middle of saves: the end is the same, bit for bit."""

import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from regard import config as settings
from regard.atomic import TEMPORARY_SUFFIX
from regard.config import Config, TaskName
from regard.run import Run
from tests.jobs.conftest import TINY
from tests.jobs.train.test_fit import assert_same

START = [sys.executable, "-m", "regard", "train"]
TASKS = get_args(TaskName)
REGULAR = (
    "train.schedule=inverse-sqrt",
    "train.save_every=4",
    "train.validate_every=16",
    "train.average_checkpoints=3",
    "train.patience=0",
)


def arguments(files: Path, out: Path, steps: int) -> list[str]:
    pairs = [str(files / "train.en"), str(files / "train.fr"), "--dev", str(files / "dev.en"), str(files / "dev.fr")]
    return [*pairs, "--out", str(out), "--steps", str(steps), *(w for c in (*TINY, *REGULAR) for w in ("--set", c))]


def start(command: list[str]) -> subprocess.Popen[bytes]:
    def heed_signals() -> None:
        """What nohup ignores for the tests is heeded by the program."""
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=heed_signals)


def wait_until_saving(process: subprocess.Popen[bytes], folder: Path, patience: float) -> None:
    end = time.monotonic() + patience
    while time.monotonic() < end and process.poll() is None:
        if folder.is_dir() and any(folder.rglob(f"*{TEMPORARY_SUFFIX}")):
            return


def disturbed(config: Path, out: Path, kills: int, seed: int) -> list[str]:
    """Train, killed so many times; what each kill met."""
    rng, met = random.Random(seed), []
    while True:
        fresh = not Run(out).config.exists()
        command = [*START, str(config), "--out", str(out)] if fresh else [*START, "--resume", str(out)]
        process = start(command)
        if len(met) < kills:
            time.sleep(rng.uniform(0.0, 1.5) if not met else rng.uniform(2.0, 4.5))
            if len(met) % 2:
                wait_until_saving(process, out, patience=5.0)
            process.send_signal(signal.SIGKILL)
        error = process.communicate()[1].decode()
        if process.returncode == 0:
            return met
        assert process.returncode == -signal.SIGKILL, error
        saving = any(out.rglob(f"*{TEMPORARY_SUFFIX}")) if out.is_dir() else False
        saved = Run(out).latest.exists()
        met.append("during a save" if saving else "after a save" if saved else "before the first save")


@pytest.mark.slow
@pytest.mark.parametrize(("task", "kills", "steps"), [(task, 25 if task == "translate" else 7, 700) for task in TASKS])
def test_killed_and_resumed_ends_as_if_undisturbed(
    task: str, kills: int, steps: int, config_of: Callable[..., Config], tmp_path: Path, capsys
):
    """At any moment, by the clock; tests of every task kill at chosen ones."""
    config = tmp_path / "config.toml"
    config.write_text(settings.dump(config_of(task, *REGULAR, f"train.steps={steps}")), encoding="utf-8")
    whole = start([*START, str(config), "--out", str(tmp_path / "whole")])
    error = whole.communicate()[1].decode()
    assert whole.returncode == 0, error
    met = disturbed(config, tmp_path / "killed", kills, seed=11)
    with capsys.disabled():
        print(f"\n{len(met)} kills: " + ", ".join(f"{met.count(kind)} {kind}" for kind in sorted(set(met))))
    assert len(met) == kills
    assert "before the first save" in met
    assert_same(tmp_path / "whole", tmp_path / "killed")
    assert not list((tmp_path / "killed").rglob(f"*{TEMPORARY_SUFFIX}"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=str)
def test_a_signal_saves_and_says_how_to_go_on(files: Path, tmp_path: Path, number: signal.Signals):
    process = start([*START, *arguments(files, tmp_path / "run", 100_000)])
    while not Run(tmp_path / "run").latest.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(number)
    error = process.communicate()[1].decode()
    assert process.returncode == 128 + number and "Traceback" not in error
    words = " ".join(error.replace("\\\n", " ").split())  # a long command is continued on the next line
    assert f"Continue with: regard train --resume {tmp_path / 'run'}" in words
    step = Run(tmp_path / "run").read_latest().step
    assert f"saved at step {step:,}" in error


@pytest.mark.slow
def test_a_full_disk_keeps_the_old_checkpoint_and_going_on_is_exact(files: Path, tmp_path: Path):
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))

    for name in ("whole", "full"):
        done = start([*START, *arguments(files, tmp_path / name, 8)])
        assert done.wait() == 0
        done.stderr.close()
    command = [*START, "--resume", str(tmp_path / "full"), "--steps", "20"]
    stuck = subprocess.run(command, capture_output=True, text=True, preexec_fn=small_files)
    assert stuck.returncode == 2 and "Traceback" not in stuck.stderr
    assert "could not be written" in stuck.stderr and "continue with --resume" in stuck.stderr
    full = Run(tmp_path / "full")
    assert full.read_latest().step == 8 and full.verify(full.weights(8))
    for name in ("whole", "full"):
        command = [*START, "--resume", str(tmp_path / name), "--steps", "20"]
        assert subprocess.run(command, capture_output=True).returncode == 0
    assert_same(tmp_path / "whole", tmp_path / "full")
