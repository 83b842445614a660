"""Is `--minutes` kept, also beside programs that keep cores busy? The whole command is timed, report included.

    python benchmarks/minutes.py --corpus multi30k/raw --minutes 2 --busy 0 --busy 1 --busy 2

Each run trains with busy loops beside it. Results: benchmarks/results/minutes.md.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from environment import described, write

BUSY_LOOP = "while True: pass"


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


def time_training(corpus: Path, minutes: float, out: Path) -> float:
    """Seconds of the whole command."""
    files = [str(corpus / f"train.{language}") for language in ("en", "de")]
    for option, name in (("--dev", "val"), ("--test", "test_2016_flickr")):
        for language in ("en", "de"):
            files += [option, str(corpus / f"{name}.{language}")]
    command = [sys.executable, "-m", "regard", "train", *files, "--minutes", str(minutes), "--out", str(out)]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="the folder multi30k/raw")
    parser.add_argument("--minutes", type=float, action="append", help="lengths of training; 2 if unset")
    parser.add_argument("--busy", type=int, action="append", help="numbers of busy loops; 0, 1 and 2 if unset")
    options = parser.parse_args()
    rows = ["| minutes | busy loops | seconds | of the minutes |", "|---|---|---|---|"]
    for minutes in options.minutes or [2.0]:
        for busy in options.busy or [0, 1, 2]:
            with tempfile.TemporaryDirectory() as folder, busy_loops(busy):
                seconds = time_training(options.corpus, minutes, Path(folder) / "run")
            rows.append(f"| {minutes:g} | {busy} | {seconds:.1f} | {seconds / (60 * minutes):.3f} |")
            print(rows[-1], flush=True)
    write("minutes", ["# `--minutes` beside other programs", "", *described(), "", *rows])


if __name__ == "__main__":
    main()
