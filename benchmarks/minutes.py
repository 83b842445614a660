"""Is `--minutes` kept, also beside programs that keep cores busy? The whole command is timed, report included.

    python benchmarks/minutes.py --corpus multi30k/raw --minutes 2 --busy 0 --busy 1 --busy 2

Each run trains with busy loops beside it. The seconds reserved for the end of training stand beside those that it took:
from the last step to the end of the command. Results: benchmarks/results/minutes.md.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from environment import described, write

BUSY_LOOP = "while True: pass"
COMMAND = """
import sys, time
from pathlib import Path
from regard.cli import main
from regard.jobs.train.session import TrainingSession

finish = TrainingSession._finish

def note_and_finish(session):
    Path(sys.argv[1]).write_text(f"{session.loop.budget.reserved_seconds} {time.time()}")
    yield from finish(session)

TrainingSession._finish = note_and_finish
main(sys.argv[2:])
"""
"""`regard`, which writes a file after the last step: the seconds that are reserved, and the time."""


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Programs that want a core each, inside the block."""
    programs = [subprocess.Popen([sys.executable, "-c", BUSY_LOOP]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


@dataclass(frozen=True)
class Timing:
    """Seconds of the whole command, and of its end: those that were reserved and those that it took."""

    command: float
    reserved: float
    end: float


def time_training(corpus: Path, minutes: float, folder: Path) -> Timing:
    """Train in a folder with the command line."""
    files = [str(corpus / f"train.{language}") for language in ("en", "de")]
    for option, name in (("--dev", "val"), ("--test", "test_2016_flickr")):
        for language in ("en", "de"):
            files += [option, str(corpus / f"{name}.{language}")]
    note = folder / "last_step.txt"
    options = ["--minutes", str(minutes), "--out", str(folder / "run")]
    start = time.time()
    subprocess.run(
        [sys.executable, "-c", COMMAND, str(note), "train", *files, *options], check=True, capture_output=True
    )
    end = time.time()
    reserved, last_step = map(float, note.read_text().split())
    return Timing(end - start, reserved, end - last_step)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="the folder multi30k/raw")
    parser.add_argument("--minutes", type=float, action="append", help="lengths of training; 2 if unset")
    parser.add_argument("--busy", type=int, action="append", help="numbers of busy loops; 0, 1 and 2 if unset")
    options = parser.parse_args()
    rows = ["| minutes | busy loops | seconds | of the minutes | reserved for the end | the end |"]
    rows += ["|---|---|---|---|---|---|"]
    for minutes in options.minutes or [2.0]:
        for busy in options.busy or [0, 1, 2]:
            with tempfile.TemporaryDirectory() as folder, busy_loops(busy):
                timing = time_training(options.corpus, minutes, Path(folder))
            seconds = f"{timing.command:.1f} | {timing.command / (60 * minutes):.3f}"
            end = f"{timing.reserved:.1f} | {timing.end:.1f}"
            rows.append(f"| {minutes:g} | {busy} | {seconds} | {end} |")
            print(rows[-1], flush=True)
    write("minutes", ["# `--minutes` beside other programs", "", *described(), "", *rows])


if __name__ == "__main__":
    main()
