"""How fast toolkits train: target tokens a second, in turns on the same machine, whose speed is measured between.

    python benchmarks/training.py SCRATCH --train train.en train.de --dev val.en val.de --size S [--write NAME]

Every toolkit is a process that is stopped while others have their turn (SIGSTOP), so all of them see the same machine,
whose speed swings. Before every turn a matrix product is timed. What is compared is tokens a second of its own turns;
the fraction of the limit is the work of the model on real tokens over the rate of products at the time.
"""

import argparse
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from environment import described, write
from material import SIZES, Material, Size, make
from peers import PEERS, Peer

from regard.config import ModelConfig
from regard.jobs.load import use_threads
from regard.train.cost import Lengths, operations
from regard.train.machine import multiply_rate

WARM = 3  # steps before anything is counted


@dataclass
class Contender:
    """A toolkit at work: a process that can be stopped, and what it has said so far."""

    peer: Peer
    process: subprocess.Popen[str]
    steps: "queue.Queue[int]"
    seconds: float = 0.0
    tokens: list[int] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    peak: int = 0

    def turn(self, seconds: float) -> None:
        self.rates.append(multiply_rate(tries=3))
        start = time.perf_counter()
        os.killpg(self.process.pid, signal.SIGCONT)
        time.sleep(seconds)
        os.killpg(self.process.pid, signal.SIGSTOP)
        self.seconds += time.perf_counter() - start
        self.peak = max(self.peak, _memory(self.process.pid))
        self.tokens += self.told()

    def told(self) -> list[int]:
        found = []
        with suppress(queue.Empty):
            while True:
                found.append(self.steps.get_nowait())
        return found

    @property
    def speed(self) -> float:
        return sum(self.tokens) / self.seconds

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def start(peer: Peer, material: Material, size: Size, scratch: Path) -> Contender:
    """Start a toolkit and let it warm up, then stop it."""
    scratch.mkdir(parents=True, exist_ok=True)
    command = peer.command(peer, material, size, scratch)
    threads = str(os.cpu_count())
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "PYTHONUNBUFFERED": "1", **dict(peer.variables)}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    )
    steps: queue.Queue[int] = queue.Queue()
    threading.Thread(target=_listen, args=(process, peer, steps, scratch / "log"), daemon=True).start()
    for _ in range(WARM):
        _wait(process, steps, scratch / "log")
    os.killpg(process.pid, signal.SIGSTOP)
    return Contender(peer, process, steps)


def _wait(process: subprocess.Popen[str], steps: "queue.Queue[int]", log: Path) -> None:
    while True:
        try:
            steps.get(timeout=2)
            return
        except queue.Empty:
            if process.poll() is not None:
                raise SystemExit(f"{process.args[0]} ended with {process.returncode}; see {log}") from None


def _listen(process: subprocess.Popen[str], peer: Peer, steps: "queue.Queue[int]", log: Path) -> None:
    assert process.stdout is not None
    with log.open("w", encoding="utf-8") as file:
        for line in process.stdout:
            file.write(line)
            file.flush()
            if (tokens := peer.count(line)) is not None:
                steps.put(tokens)


def _memory(pid: int) -> int:
    """Bytes that a process and its children have had at most."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError, KeyError, ValueError):
            fields = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
            if os.getpgid(int(path.parent.name)) == pid:
                total += int(fields["VmHWM"].split()[0]) * 1024
    return total


def work(material: Material, size: Size) -> float:
    """Floating-point operations of training, for each target token."""
    counts = [
        np.mean([len(line.split(" ")) + 1 for line in material.lines("train", side).read_text().split("\n")[:-1]])
        for side in ("source", "target")
    ]
    model = ModelConfig(dim=size.dim, layers=size.layers, heads=size.heads, ffn=size.ffn)
    vocabulary = len(material.vocabulary.read_text().split("\n")) + 3
    return operations(model, vocabulary, Lengths(*map(float, counts))) / float(counts[1])


def lines(contenders: list[Contender], flops: float) -> Iterator[str]:
    ours = contenders[0].speed
    yield "| toolkit | target tokens/s | fraction of sgemm | Regard is faster by | GF/s meanwhile | peak memory |"
    yield "|---|---|---|---|---|---|"
    for c in contenders:
        rate = float(np.median(c.rates))
        cells = (c.peer.name, f"{c.speed:,.0f}", f"{c.speed * flops / rate:.2f}", f"{ours / c.speed:.2f}x")
        yield f"| {' | '.join(cells)} | {rate / 1e9:.0f} | {c.peak / 2**20:,.0f} MB |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--train", nargs=2, required=True)
    parser.add_argument("--dev", nargs=2, required=True)
    parser.add_argument("--size", choices=SIZES, default="S")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=15.0, help="of a turn")
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md")
    given = parser.parse_args()
    use_threads(0)
    material = make(given.scratch / "material", {"train": given.train, "dev": given.dev})
    size = SIZES[given.size]
    contenders = []
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for name in given.peers:
                contenders.append(start(PEERS[name], material, size, Path(scratch) / str(len(contenders))))
            for number in range(given.rounds):
                order = contenders[number % len(contenders) :] + contenders[: number % len(contenders)]
                for contender in order:
                    contender.turn(given.seconds)
                print(
                    f"round {number + 1}",
                    *(f"{c.peer.name} {c.speed:,.0f}" for c in contenders),
                    sep="\n  ",
                    flush=True,
                )
        finally:
            for contender in contenders:
                contender.close()
    table = list(lines(contenders, work(material, size)))
    print("\n".join(table))
    if given.write:
        about = f"- {size}, batches of 4,096 tokens; {given.rounds} rounds of turns of {given.seconds:g} s"
        write(given.write, [*described(), about, "", *table])


if __name__ == "__main__":
    main()
