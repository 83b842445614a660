"""How fast the same weights are decoded: by us, by CTranslate2, by transformers; loading apart, in turns, repeated.

    python benchmarks/decoding.py RUN test.en [--write NAME]

RUN is a run that a Marian folder can express (model.norm=post, model.positions.waves=halves), so that all of them
decode the same model. A number is sentences a second; the median of the rounds is kept.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from environment import described, write
from peers import HERE, PEERS

from regard.decode import Beam, Greedy, Search
from regard.interchange import ctranslate2
from regard.interchange.engine import PATIENCE
from regard.jobs.crew import Crew
from regard.jobs.engine import engine
from regard.jobs.exchange import export_run
from regard.jobs.load import load, load_tokenizers, use_threads
from regard.run import open_run

SINGLE = 60  # sentences of those that are translated one at a time
Decode = Callable[[Sequence[str], int], object]
"""Texts, and the beam -> whatever came of it."""


def search(beam: int) -> Search:
    return Greedy() if beam == 1 else Beam(beam)


def by_hand(folder: Path, tokens: Callable[[Sequence[str]], list[list[str]]], **threads: int) -> Decode:
    """CTranslate2 as its documentation shows it, with as much patience as our search has."""
    translator = ctranslate2.library().Translator(str(folder), device="cpu", **threads)

    def decode(texts: Sequence[str], beam: int) -> object:
        return translator.translate_batch(tokens(texts), beam_size=beam, patience=PATIENCE, max_batch_size=64)

    return decode


class Generate:
    """transformers, in its own environment."""

    def __init__(self, folder: Path, threads: int):
        python = PEERS["Marian (transformers), our batches"].python
        command = [str(python), str(HERE / "loops" / "generate.py"), str(folder), str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._read()

    def __call__(self, texts: Sequence[str], beam: int) -> object:
        assert self.process.stdin is not None
        batch = 1 if len(texts) <= SINGLE else 64
        self.process.stdin.write(json.dumps({"texts": list(texts), "beam": beam, "batch": batch}) + "\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("transformers ended; is it installed? (python benchmarks/peers.py hf)")
        return line


def many(run: Path, scratch: Path, stack: ExitStack) -> dict[str, Decode]:
    """Everybody who translates a whole file."""
    cores = os.cpu_count() or 1
    export_run(run, "ctranslate2", scratch / "int8", "int8")
    tokenizers = load_tokenizers(open_run(run), open_run(run).load_config())
    names = ctranslate2.words(tokenizers.source)

    def tokens(texts: Sequence[str]) -> list[list[str]]:
        return [[names[i] for i in (*row, 3)] for row in tokenizers.source.encode(texts)]

    crews = {kind: stack.enter_context(Crew(run, cores, kind)) for kind in ("int8", "none")}
    ours = engine(run, "int8", cores)
    return {
        "Regard, int8": lambda texts, beam: crews["int8"].candidates(texts, search(beam)),
        "Regard, float32": lambda texts, beam: crews["none"].candidates(texts, search(beam)),
        "Regard --engine ctranslate2, int8": lambda texts, beam: ours.candidates(texts, search(beam)),
        "CTranslate2 int8, a worker a core": by_hand(scratch / "int8", tokens, inter_threads=cores, intra_threads=1),
        "CTranslate2 int8, its defaults": by_hand(scratch / "int8", tokens),
        "transformers": Generate(scratch / "marian", cores),
    }


def one_at_a_time(run: Path, scratch: Path) -> dict[str, Decode]:
    """Everybody who answers one sentence after the other."""
    use_threads(1)
    ours = {kind: load(run, "cpu", kind) for kind in ("int8", "none")}

    def decode(kind: str) -> Decode:
        return lambda texts, beam: [ours[kind].translate([text], search(beam)) for text in texts]

    waiting = Generate(scratch / "marian", 1)
    return {"Regard, int8": decode("int8"), "Regard, float32": decode("none"), "transformers": waiting}


def measure(everybody: dict[str, Decode], texts: Sequence[str], beam: int, rounds: int) -> dict[str, float]:
    """Sentences a second of each, in turns."""
    times: dict[str, list[float]] = {name: [] for name in everybody}
    for decode in everybody.values():
        decode(texts[:16], beam)
    for _ in range(rounds):
        for name, decode in everybody.items():
            start = time.perf_counter()
            decode(texts, beam)
            times[name].append(time.perf_counter() - start)
    return {name: len(texts) / statistics.median(seconds) for name, seconds in times.items()}


def table(title: str, speeds: dict[str, float]) -> Iterator[str]:
    ours = speeds["Regard, int8"]
    yield f"| {title} | sentences/s | Regard in int8 is faster by |"
    yield "|---|---|---|"
    for name, speed in speeds.items():
        yield f"| {name} | {speed:,.1f} | {ours / speed:.2f}x |"
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md")
    given = parser.parse_args()
    texts = given.text.read_text(encoding="utf-8").split("\n")[:-1]
    rows: list[str] = []
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        scratch = Path(name)
        export_run(given.run, "marian", scratch / "marian")
        everybody = many(given.run, scratch, stack)
        for beam in (1, 5):
            rows += table(f"{len(texts):,} sentences, beam {beam}", measure(everybody, texts, beam, given.rounds))
            print("\n".join(rows[-len(everybody) - 3 :]), flush=True)
        everybody = one_at_a_time(given.run, scratch)
        for beam in (1, 5):
            few = measure(everybody, texts[:SINGLE], beam, given.rounds)
            rows += table(f"one at a time, one thread, beam {beam}", few)
            print("\n".join(rows[-len(everybody) - 3 :]), flush=True)
    if given.write:
        write(given.write, [*described(), f"- {given.run.name}, median of {given.rounds} rounds", "", *rows])


if __name__ == "__main__":
    main()
