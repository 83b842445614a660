"""How fast toolkits train: target tokens a second, in turns on the same machine, whose speed is measured between.

    python benchmarks/training.py SCRATCH --train train.en train.de --dev val.en val.de --size S [--write NAME]

Every toolkit is a process that is stopped while others have their turn (SIGSTOP), so all of them see the same machine,
whose speed swings. Each step is stamped with the time that its process has been running until then, so a step that is
stopped halfway is counted whole, with all of its time. All of them stay in memory: those of size B take more than 24
GB, or 20 without the nn.Transformer loop (--peers). Before every turn a matrix product is timed; the fraction of the
limit is the work of the model on real tokens over the rate of products at the time.
"""

import argparse
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from environment import described, write
from material import BATCH, SIZES, Material, Size, make
from peers import PEERS, Peer, versions

from regard.config import ModelConfig
from regard.hardware import configure_cpu, measure_matmul_flops
from regard.training.planning.cost import MeanLengths, training_flops

WARM = 3  # steps before anything is counted
OURS = "Regard"


class Contender:
    """A toolkit at work: a process that can be stopped, and the steps it has logged."""

    def __init__(self, peer: Peer, process: subprocess.Popen[str]):
        self.peer, self.process = peer, process
        self.steps: list[tuple[float, int]] = []  # the clock at its end, and its target tokens
        self.rounds: list[float] = []  # tokens a second
        self.rates: list[float] = []
        self.peak = 0
        self._ran, self._since = 0.0, time.perf_counter()
        self._running = True

    def clock(self) -> float:
        """Seconds that the process has been running."""
        return self._ran + (time.perf_counter() - self._since if self._running else 0.0)

    def go(self) -> None:
        os.killpg(self.process.pid, signal.SIGCONT)
        self._since, self._running = time.perf_counter(), True

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGSTOP)
        self._ran, self._running = self.clock(), False

    def turn(self, seconds: float) -> None:
        self.rates.append(measure_matmul_flops(tries=3))
        before = len(self.steps)
        self.go()
        time.sleep(seconds)
        self.stop()
        time.sleep(0.2)  # for what it has said to arrive
        self.peak = max(self.peak, _memory(self.process.pid))
        if len(self.steps) > before:
            self.rounds.append(_speed(self.steps[before - 1 :]))

    @property
    def speed(self) -> float:
        """Target tokens a second, over all turns."""
        return _speed(self.steps[WARM - 1 :]) if len(self.steps) > WARM else float("nan")

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _speed(steps: list[tuple[float, int]]) -> float:
    """From the end of the first of these steps to the end of the last."""
    return sum(tokens for _, tokens in steps[1:]) / (steps[-1][0] - steps[0][0])


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
    contender = Contender(peer, process)
    threading.Thread(target=_listen, args=(contender, scratch / "log"), daemon=True).start()
    while len(contender.steps) < WARM:
        time.sleep(0.1)
        if process.poll() is not None:
            raise SystemExit(f"{peer.name} ended with {process.returncode}:\n{(scratch / 'log').read_text()[-2000:]}")
    contender.stop()
    return contender


def _listen(contender: Contender, log: Path) -> None:
    assert contender.process.stdout is not None
    with log.open("w", encoding="utf-8") as file:
        for line in contender.process.stdout:
            file.write(line)
            file.flush()
            if (tokens := contender.peer.count(line)) is not None:
                contender.steps.append((contender.clock(), tokens))


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
    return training_flops(model, vocabulary, MeanLengths(*map(float, counts))) / float(counts[1])


def lines(contenders: list[Contender], flops: float) -> Iterator[str]:
    ours = next(c for c in contenders if c.peer.name == OURS)
    yield "| toolkit | target tokens/s | fraction of sgemm | Regard is faster by | in single rounds | peak memory |"
    yield "|---|---|---|---|---|---|"
    for c in contenders:
        fraction = c.speed * flops / float(np.median(c.rates))
        ratios = [mine / other for mine, other in zip(ours.rounds, c.rounds, strict=False)]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""
        cells = (c.peer.name, f"{c.speed:,.0f}", f"{fraction:.2f}", f"{ours.speed / c.speed:.2f}x", spread)
        yield f"| {' | '.join(cells)} | {c.peak / 2**20:,.0f} MB |"


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
    configure_cpu(0)
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
        rate = statistics.median(rate for c in contenders for rate in c.rates)
        about = [
            f"- {size}, batches of {BATCH:,} tokens; {given.rounds} rounds of turns of {given.seconds:g} s",
            f"- matrix products meanwhile: {rate / 1e9:.0f} GFLOP/s",
            *(f"- {line}" for line in versions(given.peers)),
        ]
        write(given.write, [*described(), *about, "", *table])


if __name__ == "__main__":
    main()
