"""What all-MiniLM-L6-v2 scores here, by the commands that a user would type, beside scores that are known of it.

    PYTHONPATH=. python benchmarks/anchors.py FOLDER --data CORPORA --encoder MINILM

Search on Cranfield and MED (documents truncated to the window of the encoder), similarity on STS-B, and senses of words
on MCL-WiC. Nothing is trained but a threshold, and word2vec on the texts of MCL-WiC. Writes results/anchors.md.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from environment import described, write

from tests.jobs.retrieval.test_collections import convert

KNOWN_NDCG = {"cranfield": {"BM25": 52.0, "dense": 50.6, "fused": 55.9}, "med": {}}
KNOWN_SPEARMAN = 82.0
HEAD = ("", "| corpus | system | score | value | 95 % interval | known |", "|---|---|---|---|---|---|")


def run_regard(*arguments: object) -> str:
    """What a command prints."""
    words = [str(argument) for argument in arguments]
    print("regard", *words, flush=True)
    return subprocess.run(
        [sys.executable, "-m", "regard", *words], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def search_lines(folder: Path, data: Path, minilm: Path) -> Iterator[str]:
    for name, known in KNOWN_NDCG.items():
        out = folder / name
        out.mkdir(exist_ok=True)
        convert(data, name, out)
        documents = (out / "docs.jsonl", "--out", out / "index", "--overwrite", "--max-passages", 1)
        run_regard("index", minilm, *documents, "--language", "en")
        judged = ("--queries", out / "queries.jsonl", "--judgments", out / "qrels.txt", "--json")
        found = json.loads(run_regard("search", out / "index", *judged))
        for system, scores in found["systems"].items():
            yield line(name, system, "nDCG@10", scores["ndcg_10"], known.get(system))
        for test in found["tests"]["ndcg_10"]:
            yield (
                f"| {name} | {test['first']} − {test['second']} | nDCG@10 | {test['difference']:+.2f} "
                f"| {test['low']:+.2f} to {test['high']:+.2f} | p = {test['p_randomized']:.4f} |"
            )


def similarity_lines(data: Path, minilm: Path) -> Iterator[str]:
    found = json.loads(run_regard("evaluate", minilm, data / "stsb_en" / "test.csv", "--json"))
    yield line("STS-B", "MiniLM", "Spearman", found["spearman"], KNOWN_SPEARMAN)
    for name, scores in found["opponents"].items():
        yield line("STS-B", name, "Spearman", scores["spearman"])


def sense_lines(data: Path, minilm: Path) -> Iterator[str]:
    files = (data / "mcl_wic" / "dev.jsonl", "--task", "senses", "--fit", data / "mcl_wic" / "train.jsonl")
    found = json.loads(run_regard("evaluate", minilm, *files, "--json"))
    opponents = found.pop("opponents")
    for name, score in found.items():
        if isinstance(score, dict) and "value" in score:
            yield line("MCL-WiC", "MiniLM", name, score)
    for name, scores in opponents.items():
        yield line("MCL-WiC", name, "accuracy", next(iter(scores.values())))


def line(corpus: str, system: str, measure: str, score: dict, known: float | None = None) -> str:
    interval = f"{score['low']:.2f} to {score['high']:.2f}"
    return f"| {corpus} | {system} | {measure} | {score['value']:.2f} | {interval} | {'' if known is None else known} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    minilm = options.folder / "minilm"
    if not minilm.exists():
        run_regard("import", options.encoder, "--out", minilm)
    lines = [*described(), *HEAD, *search_lines(options.folder, options.data, minilm)]
    lines += [*similarity_lines(options.data, minilm), *sense_lines(options.data, minilm)]
    print("\n".join(lines))
    write("anchors", lines)


if __name__ == "__main__":
    main()
