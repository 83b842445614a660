"""What a shortlist changes: for shorter and longer lists, how many translations stay, BLEU, and the time.

    python benchmarks/shortlist.py RUN test.en test.fr [--write NAME]

The lists are counted in the run's own training text. Both engines compute in int8 with one thread, in one process; in
every round each setting has its turn, in another order. A ratio is the median over the rounds of the processor time
without a shortlist divided by that with one. One sentence at a time, a list is that of the sentence; in a batch of 64
it is that of all of its sentences together.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from environment import described, write

from regard.data.lexicon import count_lexicon, sample_corpus
from regard.data.shortlist import build_shortlist
from regard.data.store import open_corpus
from regard.data.tokenizers.tokenizer import EOS
from regard.decode import BeamSearch, GreedySearch, Search
from regard.hardware import configure_cpu
from regard.interchange.ctranslate2 import write_vocabulary_map
from regard.interchange.engine import CTranslate2Translator
from regard.jobs.convert import write_model
from regard.jobs.load import load
from regard.metrics import choose_tokenization, corpus_bleu
from regard.run import open_run

THRESHOLDS = (0.01, 0.003, 0.001, 0.0003, 0.0)
SINGLE, BATCH = 60, 64
PLAIN = "all tokens"
Translate = Callable[[Sequence[str], Search], list[str]]


def settings(folder: Path, scratch: Path) -> tuple[dict[str, dict[str, Translate]], list[str]]:
    """Both engines with all tokens and with every list, and how long the lists are."""
    run, ours = open_run(folder), load(folder, "cpu", "int8")
    tokenizers = ours.tokenizers
    corpus = open_corpus(run.store, "train", tokenizers)
    start = time.process_time()
    lexicon = count_lexicon(sample_corpus(corpus), tokenizers.source.vocab_size, tokenizers.target.vocab_size)
    about = [f"- counting the tokens took {time.process_time() - start:.1f} s of processor time"]
    write_model(folder, "ctranslate2", scratch, "int8")
    engines = {
        "Regard": {PLAIN: best(ours)},
        "CTranslate2": {PLAIN: best(CTranslate2Translator(scratch, tokenizers, 1))},
    }
    sources = tokenizers.source.encode(open_corpus(run.store, "dev", tokenizers).source[:200])
    for threshold in THRESHOLDS:
        shortlist = build_shortlist(lexicon, tokenizers, threshold)
        write_vocabulary_map(shortlist, tokenizers, scratch)
        mean = statistics.mean(len(shortlist.select([*row, EOS])) for row in sources)
        name = f"{threshold:g} ({mean:,.0f} of {shortlist.target_size:,})"
        engines["Regard"][name] = best(ours.with_shortlist(shortlist))
        engines["CTranslate2"][name] = best(CTranslate2Translator(scratch, tokenizers, 1, uses_shortlist=True))
    return engines, about


def best(translator: object) -> Translate:
    return lambda texts, search: [found[0].text for found in translator.candidates(texts, search)]  # type: ignore[attr-defined]


def in_parts(translate: Translate, size: int) -> Translate:
    """The same, for so many texts at a time."""
    return lambda texts, search: [
        text for begin in range(0, len(texts), size) for text in translate(texts[begin : begin + size], search)
    ]


def measure(
    everybody: dict[str, Translate], texts: Sequence[str], references: Sequence[str], search: Search, rounds: int
) -> Iterator[str]:
    """A row for each setting: the share that stays, BLEU, and how much faster it is."""
    outputs = {name: translate(texts, search) for name, translate in everybody.items()}  # which warms them up, too
    seconds: dict[str, list[float]] = {name: [] for name in everybody}
    order = random.Random(1)
    for _ in range(rounds):
        for name in order.sample(list(everybody), len(everybody)):
            start = time.process_time()
            everybody[name](texts, search)
            seconds[name].append(time.process_time() - start)
    tokenization = choose_tokenization("", references)
    bleu = {name: corpus_bleu(found, references, tokenization).value for name, found in outputs.items()}
    for name, found in outputs.items():
        unchanged = sum(one == other for one, other in zip(found, outputs[PLAIN], strict=True)) / len(texts)
        ratio = statistics.median(plain / own for plain, own in zip(seconds[PLAIN], seconds[name], strict=True))
        yield f"| {name} | {unchanged:.1%} | {bleu[name] - bleu[PLAIN]:+.2f} | {ratio:.2f}x |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md")
    given = parser.parse_args()
    texts, references = (
        path.read_text(encoding="utf-8").split("\n")[: given.sentences] for path in (given.source, given.target)
    )
    configure_cpu(1)
    rows: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        engines, about = settings(given.run, Path(name))
        for engine, everybody in engines.items():
            for title, size, count in ((f"batches of {BATCH}", BATCH, len(texts)), ("one at a time", 1, SINGLE)):
                parts = {name: in_parts(translate, size) for name, translate in everybody.items()}
                for search in (GreedySearch(scored=False), BeamSearch(5)):
                    kind = "greedy" if isinstance(search, GreedySearch) else "beam 5"
                    head = f"{engine} int8, {kind}, {title}: probability from which on a token is listed"
                    table = [f"| {head} | unchanged | BLEU | faster |", "|---|---|---|---|"]
                    table += measure(parts, texts[:count], references[:count], search, given.rounds)
                    print("\n".join([*table, ""]), flush=True)
                    rows += [*table, ""]
    if given.write:
        size = f"{open_run(given.run).load_config().model.dim} wide, {len(texts):,} sentences"
        write(given.write, [*described(), f"- {size}, median of {given.rounds} rounds", *about, "", *rows])


if __name__ == "__main__":
    main()
