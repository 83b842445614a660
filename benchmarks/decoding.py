"""How fast the same weights are decoded: by us, by CTranslate2, by transformers; loading apart, in turns, repeated.

    python benchmarks/decoding.py RUN test.en [--references test.fr] [--write NAME]

All decode the same model. A peer that is not installed, or cannot express it, is left out with a sentence: transformers
has a Marian model (model.norm=post, model.positions.sinusoid_layout=halves). Rows with a shortlist are there if RUN has
one (`regard shortlist RUN`). A number is sentences a second; the median of the rounds is kept, in each of which they
come in another order, for some leave the machine busier than others. A ratio is the median of those of each round. How
many translations are the same as Regard's in float32 stands beside it: int8 rounds, and searches differ in when they
stop. RUN should be trained well: Regard ends a translation that goes round in circles, and the others go on with it to
the longest.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from environment import described, write
from peers import HERE, PEERS, versions

from regard.data.tokenizers.tokenizer import EOS, Tokenizers
from regard.decode import BeamSearch, GreedySearch, Search
from regard.errors import RegardError
from regard.hardware import configure_cpu
from regard.interchange import ctranslate2
from regard.interchange.engine import PATIENCE
from regard.jobs.convert import export_run
from regard.jobs.load import load, load_tokenizers
from regard.jobs.shortlist.record import load_shortlist
from regard.jobs.translate.engine import open_engine
from regard.jobs.translate.worker_pool import TranslationBackend, WorkerPool
from regard.metrics import choose_tokenization, corpus_bleu
from regard.run import open_run

SINGLE = 60  # sentences of those that are translated one at a time
SLOW, SELDOM = 3, 3  # a toolkit that is SLOW times as slow as ours is measured in every SELDOM-th round
Decode = Callable[[Sequence[str], int], list[str]]
"""Texts, and the beam -> translations."""
OURS, PLAIN = "Regard, int8", "Regard, float32"


@dataclass(frozen=True)
class Measured:
    speed: float
    ratio: float
    """How much faster ours is."""
    same: float
    """Share of the translations that are those of Regard in float32."""
    bleu: float | None


def search(beam: int) -> Search:
    return GreedySearch(scored=False) if beam == 1 else BeamSearch(beam)


class ByHand:
    """CTranslate2 as its documentation shows it, with the patience and the longest output of our search."""

    def __init__(self, folder: Path, tokenizers: Tokenizers, batch: int = 64, **threads: int):
        self.translator = ctranslate2.import_ctranslate2().Translator(str(folder), device="cpu", **threads)
        self.tokenizers, self.batch = tokenizers, batch
        self.names = ctranslate2.vocabulary_tokens(tokenizers.source)
        self.ids = {name: i for i, name in enumerate(ctranslate2.vocabulary_tokens(tokenizers.target))}

    def __call__(self, texts: Sequence[str], beam: int) -> list[str]:
        rows = [[self.names[i] for i in (*row, EOS)] for row in self.tokenizers.source.encode(texts)]
        longest = 2 * max(map(len, rows)) + 16
        found = self.translator.translate_batch(
            rows, beam_size=beam, patience=PATIENCE, max_batch_size=self.batch, max_decoding_length=longest
        )
        return [self.tokenizers.target.decode([self.ids[name] for name in one.hypotheses[0]]) for one in found]


class Generate:
    """transformers, in its own environment."""

    def __init__(self, folder: Path, threads: int, batch: int = 64):
        self.batch = batch
        python = PEERS["Marian (transformers), our batches"].python
        command = [str(python), str(HERE / "loops" / "generate.py"), str(folder), str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._read()

    def __call__(self, texts: Sequence[str], beam: int) -> list[str]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"texts": list(texts), "beam": beam, "batch": self.batch}) + "\n")
        self.process.stdin.flush()
        return json.loads(self._read())

    def _read(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("transformers ended; is it installed? (python benchmarks/peers.py hf)")
        return line


def transformers_of(scratch: Path, threads: int, batch: int = 64) -> dict[str, Decode]:
    """transformers, if it is installed and the model was exported for it."""
    return {"transformers": Generate(scratch / "marian", threads, batch)} if (scratch / "marian").exists() else {}


def export_for_transformers(run: Path, scratch: Path) -> str:
    """Write the folder that transformers reads; why it is left out, if it is."""
    peer = PEERS["Marian (transformers), our batches"]
    if not peer.installed:
        return "transformers is left out: it is not installed (python benchmarks/peers.py hf)"
    try:
        export_run(run, "marian", scratch / "marian")
    except RegardError as error:
        return f"transformers is left out: {error}"
    return ""


def by_us(crew: TranslationBackend) -> Decode:
    return lambda texts, beam: [found[0].text for found in crew.candidates(texts, search(beam))]


def many(run: Path, scratch: Path, stack: ExitStack) -> dict[str, Decode]:
    """Everybody who translates a whole file."""
    cores = os.cpu_count() or 1
    tokenizers = load_tokenizers(open_run(run), open_run(run).load_config())
    crews = {kind: stack.enter_context(WorkerPool(run, cores, kind)) for kind in ("int8", "none")}
    each = {"inter_threads": cores, "intra_threads": 1}
    listed: dict[str, Decode] = {}
    if open_run(run).shortlist.exists():
        listed["Regard, int8, shortlist"] = by_us(stack.enter_context(WorkerPool(run, cores, "int8", True)))
        listed["Regard --engine ctranslate2, int8, shortlist"] = by_us(open_engine(run, "int8", cores, True))
    return {
        OURS: by_us(crews["int8"]),
        PLAIN: by_us(crews["none"]),
        "Regard --engine ctranslate2, int8": by_us(open_engine(run, "int8", cores)),
        **listed,
        "CTranslate2 int8, a worker a core": ByHand(scratch / "int8", tokenizers, **each),
        "CTranslate2 float32, a worker a core": ByHand(scratch / "float32", tokenizers, **each),
        "CTranslate2 int8, its defaults": ByHand(scratch / "int8", tokenizers),
        **transformers_of(scratch, cores),
    }


def one_at_a_time(run: Path, scratch: Path) -> dict[str, Decode]:
    """Everybody who answers one sentence after the other."""
    configure_cpu(1)
    ours = {kind: load(run, "cpu", kind) for kind in ("int8", "none")}
    alone = {"inter_threads": 1, "intra_threads": 1}

    def singly(decode: Decode) -> Decode:
        return lambda texts, beam: [decode([text], beam)[0] for text in texts]

    listed: dict[str, Decode] = {}
    if open_run(run).shortlist.exists():
        shortlist = load_shortlist(open_run(run), ours["int8"].tokenizers)
        listed["Regard, int8, shortlist"] = singly(by_us(ours["int8"].with_shortlist(shortlist)))
        listed["Regard --engine ctranslate2, int8, shortlist"] = singly(by_us(open_engine(run, "int8", 1, True)))
    return {
        OURS: singly(by_us(ours["int8"])),
        PLAIN: singly(by_us(ours["none"])),
        "Regard --engine ctranslate2, int8": singly(by_us(open_engine(run, "int8", 1))),
        **listed,
        "CTranslate2 int8": singly(ByHand(scratch / "int8", ours["none"].tokenizers, 1, **alone)),
        **transformers_of(scratch, 1, batch=1),
    }


def measure(
    everybody: dict[str, Decode], texts: Sequence[str], references: Sequence[str], beam: int, rounds: int
) -> dict[str, Measured]:
    """Sentences a second of each, in turns, and how many come out as in float32."""
    said, first = {}, {}
    for name, decode in everybody.items():  # which warms them up, too
        said[name], first[name] = timed(decode, texts, beam)
    pace = {name: SELDOM if first[name] > SLOW * first[OURS] else 1 for name in everybody}
    names, order = list(everybody), random.Random(1)
    times: dict[str, dict[int, float]] = {name: {} for name in names}
    for turn in range(rounds):
        for name in order.sample(names, len(names)):
            if turn % pace[name] == 0:
                times[name][turn] = timed(everybody[name], texts, beam)[1]
    same = {name: sum(a == b for a, b in zip(said[name], said[PLAIN], strict=True)) / len(texts) for name in names}
    speed = {name: len(texts) / statistics.median(times[name].values()) for name in names}
    ratio = {name: statistics.median(t / times[OURS][turn] for turn, t in times[name].items()) for name in names}
    return {name: Measured(speed[name], ratio[name], same[name], bleu_of(said[name], references)) for name in names}


def bleu_of(texts: Sequence[str], references: Sequence[str]) -> float | None:
    return corpus_bleu(texts, references, choose_tokenization("", references)).value if references else None


def timed(decode: Decode, texts: Sequence[str], beam: int) -> tuple[list[str], float]:
    start = time.perf_counter()
    return decode(texts, beam), time.perf_counter() - start


def table(title: str, found: dict[str, Measured]) -> Iterator[str]:
    yield f"| {title} | sentences/s | Regard in int8 is faster by | the same text | BLEU |"
    yield "|---|---|---|---|---|"
    for name, one in found.items():
        bleu = "" if one.bleu is None else f"{one.bleu:.2f}"
        yield f"| {name} | {one.speed:,.1f} | {one.ratio:.2f}x | {one.same:.1%} | {bleu} |"
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--references", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md")
    given = parser.parse_args()
    texts = given.text.read_text(encoding="utf-8").split("\n")[:-1]
    references = given.references.read_text(encoding="utf-8").split("\n")[:-1] if given.references else []
    rows: list[str] = []
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        scratch = Path(name)
        if missing := export_for_transformers(given.run, scratch):
            print(missing, flush=True)
        for kind, numbers in (("int8", "int8"), ("float32", "none")):
            export_run(given.run, "ctranslate2", scratch / kind, numbers)
        everybody = many(given.run, scratch, stack)
        for beam in (1, 5):
            rows += table(
                f"{len(texts):,} sentences, beam {beam}", measure(everybody, texts, references, beam, given.rounds)
            )
            print("\n".join(rows[-len(everybody) - 3 :]), flush=True)
        everybody = one_at_a_time(given.run, scratch)
        for beam in (1, 5):
            few = measure(everybody, texts[:SINGLE], references[:SINGLE], beam, given.rounds)
            rows += table(f"one at a time, one thread, beam {beam}", few)
            print("\n".join(rows[-len(everybody) - 3 :]), flush=True)
    if given.write:
        about = f"- {open_run(given.run).load_config().model.dim} wide, median of {given.rounds} rounds"
        peers = missing or versions(["Marian (transformers), our batches"])[0]
        write(given.write, [*described(), about, f"- {peers}; ctranslate2 {version('ctranslate2')}", "", *rows])


if __name__ == "__main__":
    main()
