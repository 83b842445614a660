"""Damaged and hostile inputs: the first 200 of `make fuzz`; and that its verdicts see what they are for."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz import runner

ROOT = Path(__file__).parent.parent
CASES, SEED = 200, 1
SECRET = "hunter2"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
def test_no_input_breaks_a_command():
    command = [sys.executable, "-m", "tests.fuzz", "--seed", str(SEED), "--count", str(CASES)]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert out.returncode == 0, out.stdout[-8000:] + out.stderr[-2000:]
    assert f"{CASES} cases in " in out.stdout and out.stdout.rstrip().endswith(": 0 faults")


def end_by_signal(argv: list[str]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave_a_secret(argv: list[str]) -> None:
    Path("log.txt").write_text(f"password {SECRET}")


def refuse_without_a_word(argv: list[str]) -> None:
    sys.exit(2)


FAULTS: dict[str, Callable[[list[str]], None]] = {
    "traceback: ZeroDivisionError": lambda argv: print(1 // 0),
    "killed by SIGKILL": end_by_signal,
    "hang: no end within": lambda argv: time.sleep(999),
    "traceback: MemoryError": lambda argv: print(len(bytearray(3 * runner.MEMORY))),
    "exit code 3": lambda argv: sys.exit(3),
    "exit code 2 without a sentence": refuse_without_a_word,
    "control character": lambda argv: print("\x1b[31mred"),
    "secret is printed": lambda argv: print(f"postgresql://user:{SECRET}@host"),
    "secret is in log.txt": leave_a_secret,
    "": lambda argv: print("all is well"),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_seen(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.cli.main", FAULTS[fault])
    case = runner.Case(0, "planted", tmp_path, ["translate"], secrets=(SECRET,))
    (verdict,) = runner.run_all([case], seconds=0.5 if fault.startswith("hang") else runner.SECONDS)
    assert verdict.fault.startswith(fault) and bool(verdict.fault) == bool(fault)
