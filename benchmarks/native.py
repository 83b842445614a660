"""How fast native code translates, beside CTranslate2 by hand and torch: one process, one thread, in turns.

    python benchmarks/native.py RUN test.en [--rounds 7] [--sentences 500] [--write NAME]

A number is sentences a second of processor time, the median of the rounds; a ratio is the median of those of the
rounds, with the lowest and the highest. CTranslate2 has batches of 64 and is as patient as our search; it stops at the
length that our longest output may have. How many translations are the same as those of torch in float32 stands beside.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from environment import described, write

from regard.data.tokenizers.tokenizer import EOS, Tokenizers
from regard.decode import BeamSearch, GreedySearch, Search
from regard.hardware import configure_cpu
from regard.interchange import ctranslate2
from regard.interchange.engine import PATIENCE
from regard.jobs.convert import export_run
from regard.jobs.load import load
from regard.run import open_run
from regard.tasks.translate.translator import Translator

Decode = Callable[[Sequence[str], int], list[str]]
"""Texts, and the beam -> translations."""
SELDOM = 3
OURS, REFERENCE = "Regard, native int8", "Regard, torch float32"


def search(beam: int) -> Search:
    return GreedySearch(scored=False) if beam == 1 else BeamSearch(beam)


def by_us(translator: Translator) -> Decode:
    return lambda texts, beam: translator.translate(texts, search(beam))


class ByHand:
    """CTranslate2 as its documentation shows it, on one thread."""

    def __init__(self, folder: Path, tokenizers: Tokenizers):
        library = ctranslate2.import_ctranslate2()
        self.translator = library.Translator(str(folder), device="cpu", inter_threads=1, intra_threads=1)
        self.tokenizers = tokenizers
        self.names = ctranslate2.vocabulary_tokens(tokenizers.source)
        self.ids = {name: i for i, name in enumerate(ctranslate2.vocabulary_tokens(tokenizers.target))}

    def __call__(self, texts: Sequence[str], beam: int) -> list[str]:
        rows = [[self.names[i] for i in (*row, EOS)] for row in self.tokenizers.source.encode(texts)]
        longest = 2 * max(map(len, rows)) + 16
        patience = {"patience": PATIENCE} if beam > 1 else {}
        results = self.translator.translate_batch(
            rows, beam_size=beam, max_batch_size=64, max_decoding_length=longest, **patience
        )
        return [self.tokenizers.target.decode([self.ids[name] for name in one.hypotheses[0]]) for one in results]


def singly(decode: Decode) -> Decode:
    return lambda texts, beam: [decode([text], beam)[0] for text in texts]


def timed(decode: Decode, texts: Sequence[str], beam: int) -> tuple[list[str], float]:
    start = time.process_time()
    return decode(texts, beam), time.process_time() - start


def measure(decoders: dict[str, Decode], texts: Sequence[str], beam: int, rounds: int) -> list[str]:
    """A row for each of them, in turns in another order each time; torch is measured in every SELDOM-th round."""
    outputs = {name: timed(decode, texts, beam)[0] for name, decode in decoders.items()}  # which warms them up, too
    seconds: dict[str, dict[int, float]] = {name: {} for name in decoders}
    order = random.Random(1)
    for turn in range(rounds):
        for name in order.sample(list(decoders), len(decoders)):
            if "torch" not in name or turn % SELDOM == 0:
                seconds[name][turn] = timed(decoders[name], texts, beam)[1]
    rows = []
    for name, times in seconds.items():
        ratios = sorted(one / seconds[OURS][turn] for turn, one in times.items())
        same = sum(a == b for a, b in zip(outputs[name], outputs[REFERENCE], strict=True)) / len(texts)
        speed, ratio = len(texts) / statistics.median(times.values()), statistics.median(ratios)
        rows.append(f"| {name} | {speed:,.0f} | {ratio:.2f}x ({ratios[0]:.2f} to {ratios[-1]:.2f}) | {same:.1%} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--singles", type=int, default=60)
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md")
    given = parser.parse_args()
    configure_cpu(1)
    texts = given.text.read_text(encoding="utf-8").split("\n")[:-1][: given.sentences]
    report: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        export_run(given.run, "ctranslate2", Path(folder) / "int8", "int8")
        translators = {
            OURS: load(given.run, "cpu", "int8", engine="native"),
            "Regard, native float32": load(given.run, "cpu", "none", engine="native"),
            "Regard, torch int8": load(given.run, "cpu", "int8"),
            REFERENCE: load(given.run, "cpu", "none"),
        }
        decoders = {name: by_us(translator) for name, translator in translators.items()}
        decoders["CTranslate2 int8"] = ByHand(Path(folder) / "int8", translators[OURS].tokenizers)
        few = texts[:: max(1, len(texts) // given.singles)]
        each = {name: singly(decode) for name, decode in decoders.items()}
        for title, parts, sentences in ((f"{len(texts):,} sentences", decoders, texts), ("one at a time", each, few)):
            for beam in (1, 5):
                table = [f"| {title}, beam {beam} | sentences/s | native int8 is faster by | the same text |"]
                table += ["|---|---|---|---|", *measure(parts, sentences, beam, given.rounds), ""]
                print("\n".join(table), flush=True)
                report += table
    if given.write:
        config = open_run(given.run).load_config().model
        about = f"- {config.layers} + {config.layers} layers, {config.dim} wide, {given.rounds} rounds"
        write(given.write, [*described(), about, f"- ctranslate2 {version('ctranslate2')}", "", *report])


if __name__ == "__main__":
    main()
