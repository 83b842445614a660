"""What weights of eight bits cost in quality: the same runs in float32 and in int8, greedily and by beam.

    python benchmarks/eight_bits.py FOLDER --run RUN test.en test.de [--run RUN test.en test.fr …] [--write]

Translations are kept in FOLDER, so that what is done is not done again. BLEU is that of text which is tokenized and
lowercased already, as papers on Multi30k give it; p is how often a difference as large comes by luck (sacreBLEU's
paired bootstrap).
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from environment import described, write
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from regard.decode import BeamSearch, GreedySearch, Search
from regard.jobs.load import load
from regard.run import write_text

SEARCHES: dict[str, Search] = {"greedy": GreedySearch(scored=False), "beam 5": BeamSearch(5)}
KINDS = ("none", "int8")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def translated(run: Path, source: Path, kind: str, search: str, kept: Path) -> list[str]:
    if not kept.exists():
        found = load(run, "cpu", kind).translate(lines(source), SEARCHES[search])
        write_text(kept, "".join(f"{text}\n" for text in found))
    return lines(kept)


def table(folder: Path, runs: list[list[Path]]) -> Iterator[str]:
    yield "| run | search | float32 | int8 | p | the same text |"
    yield "|---|---|---|---|---|---|"
    signatures = set()
    for run, source, reference in runs:
        for search in SEARCHES:
            stem = f"{run.name}.{search.replace(' ', '-')}"
            both = [translated(run, source, kind, search, folder / f"{stem}.{kind}") for kind in KINDS]
            bleu = BLEU(lowercase=True, tokenize="none", force=True)
            test = PairedTest(list(zip(KINDS, both, strict=True)), {"BLEU": bleu}, [lines(reference)], test_type="bs")
            signature, found = test()
            signatures.add(str(signature["BLEU"]))
            scores = [f"{one.score:.2f} ± {one.ci:.2f}" for one in found["BLEU"]]
            same = sum(a == b for a, b in zip(*both, strict=True)) / len(both[0])
            yield f"| {run.name} | {search} | {' | '.join(scores)} | {found['BLEU'][1].p_value:.2f} | {same:.1%} |"
    yield ""
    yield from (f"BLEU: `{signature}`" for signature in sorted(signatures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    three = ("RUN", "SOURCE", "TARGET")
    parser.add_argument("--run", type=Path, nargs=3, action="append", required=True, metavar=three)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    rows = [*described(), "", *table(given.folder, given.run)]
    print("\n".join(rows))
    if given.write:
        write("eight_bits", rows)


if __name__ == "__main__":
    main()
