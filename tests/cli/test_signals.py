"""A signal that ends the program: displays end, the terminal has its cursor, and the exit code names the signal."""

import contextlib
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import TINY_SETTINGS, run_command

PROGRAM = """
import time
from regard import cli
from regard.progress import stage

@cli.app.command("wait", cls=cli.help.HelpfulCommand)
def wait():
    with stage("waiting"):
        time.sleep(600)
    print("not reached")

cli.main(["wait"])
"""
DEFAULTS = {signal.SIGTERM: "SIG_DFL", signal.SIGHUP: "SIG_DFL", signal.SIGINT: "default_int_handler"}
HIDE_CURSOR, SHOW_CURSOR = b"\x1b[?25l", b"\x1b[?25h"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)], ids=str
)
def test_a_signal_ends_the_program_in_order(number: signal.Signals, code: int):
    terminal, inside = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    text = b""
    program = f"import signal; signal.signal({number:d}, signal.{DEFAULTS[number]})\n{PROGRAM}"  # whatever nohup did
    with subprocess.Popen([sys.executable, "-c", program], stdout=inside, stderr=inside, env=environment) as process:
        os.close(inside)
        while HIDE_CURSOR not in text:
            text += os.read(terminal, 65536)
        process.send_signal(number)
        with contextlib.suppress(OSError):  # raised when the program has ended
            while block := os.read(terminal, 65536):
                text += block
    os.close(terminal)
    assert process.returncode == code and b"Traceback" not in text and b"not reached" not in text, text
    assert text.rindex(SHOW_CURSOR) > text.rindex(HIDE_CURSOR)


SWALLOWING_PROGRAM = """
import os, time
from regard import cli

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), {number})
        for _ in range(1000):  # the handler runs here
            pass

@cli.app.command("wait", cls=cli.help.HelpfulCommand)
def wait():
    Finalized()
    time.sleep(60)
    print("not reached")

cli.main(["wait"])
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)], ids=str
)
def test_a_signal_inside_a_finalizer_is_not_lost(number: signal.Signals, code: int):
    program = f"import signal; signal.signal({number:d}, signal.{DEFAULTS[number]})\n{SWALLOWING_PROGRAM}"
    command = [sys.executable, "-c", program.replace("{number}", f"{number:d}")]
    out = subprocess.run(command, capture_output=True, text=True)
    assert (out.returncode, out.stdout) == (code, "") and "ignored" not in out.stderr, out.stderr


def test_a_signal_that_is_ignored_stays_so():
    code = (
        "import os, signal, sys\nfrom regard.cli.signals import exit_on_signals\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"  # as nohup does
        "with exit_on_signals():\n os.kill(os.getpid(), signal.SIGHUP)\n print('here')\n"
        "print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (out.returncode, out.stdout) == (0, "here\nTrue\n")


COMMANDS = {
    "train": ["train", "big.tsv", "--dev", "dev.tsv", "--steps", "100000", "--out", "out/run", *TINY_SETTINGS],
    "tune": [
        *["tune", "big.tsv", "--dev", "dev.tsv", "--over", "model.layers=1,2", "--steps-each", "100000"],
        *["--out", "out/study", *TINY_SETTINGS],
    ],
    "translate": ["translate", "run", "big.en"],
    "translate --out": ["translate", "run", "big.en", "--out", "out/x.fr", "--issues", "out/x.tsv"],
    "translate --workers": ["translate", "run", "big.en", "--out", "out/x.fr", "--workers", "2"],
    "translate --engine": ["translate", "run", "big.en", "--out", "out/x.fr", "--engine", "ctranslate2"],
    "evaluate": ["evaluate", "run", "big.tsv"],
    "compare": ["compare", "run", "dev.fr", "--on", "dev.tsv", "--out", "out/x"],
    "look": ["look", "run", "I see the dog.", "--out", "out/x.html"],
    "heads": ["heads", "run", "big.tsv", "--sentences", "1000", "--csv", "out/x.csv"],
    "senses": ["senses", "run", "dog", "senses.tsv", "--svg", "out/x.svg"],
    "distill": ["distill", "run", "--out", "out/x.jsonl"],
    "prune": ["prune", "run", "--finetune-steps", "100000", "--out", "out/x"],
    "export": ["export", "run", "--to", "marian", "--out", "out/x"],
    "import": ["import", "marian", "--out", "out/x"],
    "doctor": ["doctor", "big.tsv", "--fix", "out/x"],
    "demo": ["demo", "--out", "out/x"],
    "corpus": ["corpus", "english-french", "--pairs", "1000000", "--out", "out/x.tsv"],
    "bench": ["bench", "--seconds", "60"],
    "estimate": ["estimate", "big.tsv"],
    "report": ["report", "study"],
}
FAST = {("train", signal.SIGTERM), ("translate --workers", signal.SIGHUP), ("corpus", signal.SIGINT)}
NEEDED = {
    "import": ["export", "run", "--to", "marian", "--out", "marian"],
    "report": [
        "tune",
        "small.tsv",
        "--over",
        "model.layers=1,2",
        "--steps-each",
        "2",
        "--out",
        "study",
        *TINY_SETTINGS,
    ],
}
"""What must have been run before."""
KEPT = {"train": {"run"}, "tune": {"study"}, "demo": {"x", "x-corpus"}, "distill": {"x.jsonl.1.partial"}}
"""What is not complete, and yet kept, because it can be resumed."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_SECONDS = 20.0


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    for argv in (
        ["corpus", "english-french", "--pairs", "4000", "--seed", "3", "--out", "big.tsv"],
        ["corpus", "english-french", "--pairs", "31", "--seed", "5", "--out", "dev.tsv"],
        ["corpus", "english-french", "--pairs", "211", "--seed", "7", "--out", "small.tsv"],
        ["train", "small.tsv", "--dev", "dev.tsv", "--steps", "3", "--out", "run", *TINY_SETTINGS],
    ):
        assert run_command(argv, folder, folder / "output.txt") == 0, (folder / "output.txt").read_text()
    for name, column in (("big.en", 0), ("dev.fr", 1)):
        rows = (folder / f"{name[:3]}.tsv").read_text(encoding="utf-8").splitlines()
        (folder / name).write_text("".join(row.split("\t")[column] + "\n" for row in rows), encoding="utf-8")
    (folder / "senses.tsv").write_text("a\tI see the dog.\na\tThe dog eats.\nb\tA dog sleeps.\nb\tMy dog runs.\n")
    return folder


def list_living(group: int) -> Iterator[int]:
    """The processes of a group that have not ended."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                yield int(path.parent.name)


def wait_for_end(group: int) -> list[int]:
    """The processes of a group that still live after some time: helpers end when they see that the first has."""
    end = time.monotonic() + GRACE_SECONDS
    while (living := list(list_living(group))) and time.monotonic() < end:
        time.sleep(0.05)
    return living


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(name, number, marks=() if (name, number) in FAST else pytest.mark.slow, id=f"{name} {number.name}")
        for name in COMMANDS
        for number in SIGNALS
    ],
)
def test_every_command_ends_in_order_at_any_moment(name: str, number: signal.Signals, inputs: Path):
    """Ctrl-C and a closed terminal signal all processes of the program; `kill` only the first."""
    out = inputs / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    if name in NEEDED:
        run_command(NEEDED[name], inputs, inputs / "output.txt")
    rng = random.Random(f"{name} {number}")
    program = (
        f"import signal; signal.signal({number:d}, signal.{DEFAULTS[number]})\nfrom regard.__main__ import run\nrun()"
    )
    command = [sys.executable, "-c", program, *COMMANDS[name]]
    with subprocess.Popen(
        command, cwd=inputs, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, text=True
    ) as process:
        time.sleep(rng.uniform(0.1, 9.0))
        ended = process.poll() is not None
        if not ended:
            (os.kill if number == signal.SIGTERM else os.killpg)(process.pid, number)
        try:
            error = process.communicate(timeout=60)[1]
        finally:
            living = wait_for_end(process.pid)
            for each in living:
                os.kill(each, signal.SIGKILL)
    assert "Traceback" not in error and not living, error
    # As any program, it dies by the signal if it has not started yet.
    assert process.returncode in ((0,) if ended else (0, 128 + number, -number)), error
    assert not [path for path in out.rglob("*") if ".regard-" in path.name]
    names = {path.name for path in out.iterdir()}
    # What is there is complete or can be resumed: the signal may come after the end of writing.
    assert all(f"{each} was not written" not in " ".join(error.split()) for each in names - KEPT.get(name, set())), (
        error
    )
    if "run" in names:
        assert "regard train --resume out/run" in " ".join(error.split())
    if "study" in names:
        assert "regard tune out/study" in " ".join(error.split())
