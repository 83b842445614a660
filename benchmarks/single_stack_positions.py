"""Sinusoidal against rotary positions for models with one stack, trained from scratch on little text.

    python benchmarks/single_stack_positions.py FOLDER --data CORPORA [--only tag …] [--seeds 1 2]
    python benchmarks/single_stack_positions.py FOLDER --data CORPORA --write

All else of a pair of trainings is equal: the seed, the tokenizer, the steps, two layers of width 128. The best score of
dev counts; test is not touched. The score of a finished cell is kept in results/single_stack_positions.json, and it is
not trained again; --write makes results/single_stack_positions.md of it.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from environment import RESULTS, described, write

from regard.run import Run

KEPT = RESULTS / "single_stack_positions.json"
SCHEMES = ("sinusoidal", "rotary")
COMMON = (
    "--set model.dim=128 --set model.layers=2 --set model.heads=4 --set model.ffn=512 --set model.dropout=0.1 "
    "--set train.precision=float32 --set train.patience=0 --plain"
)


@dataclass(frozen=True)
class Cell:
    """A task on a corpus, by the options of its command; {data} is filled in."""

    task: str
    score: str
    """Of dev; empty for the loss."""
    steps: int
    options: str

    def command(self, data: Path, out: Path, scheme: str, seed: int) -> list[str]:
        words = f"{self.options.format(data=data)} --task {self.task} --steps {self.steps} {COMMON}".split()
        sets = ["--set", f"model.positions.kind={scheme}", "--set", f"train.validate_every={self.steps // 6}"]
        return ["train", *words, *sets, "--seed", str(seed), "--out", str(out), "--overwrite"]


CELLS = (
    Cell("masked-lm", "", 1500, "{data}/reviews/polarity2_reviews.txt --set masked_lm.documents=blank-line"),
    Cell("causal-lm", "", 1500, "{data}/novels/shakespeare.txt"),
    Cell("tag", "F1", 1800, "{data}/wnut17/wnut17train.conll --dev {data}/wnut17/emerging.dev.conll"),
    Cell("classify", "accuracy", 1800, "{data}/sst2/train.tsv"),
    Cell("embed", "Spearman correlation", 300, "{data}/stsb_en/train.csv --dev {data}/stsb_en/dev.csv"),
)


def read_kept() -> dict[str, list[float]]:
    """The score of each validation, by cell."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}


def measure(cell: Cell, scheme: str, seed: int, options: argparse.Namespace) -> None:
    key = f"{cell.task} {scheme} {seed}"
    if key in read_kept():
        return
    out = options.folder / key.replace(" ", "-")
    command = cell.command(options.data, out, scheme, seed)
    print("regard", *command, flush=True)
    subprocess.run([sys.executable, "-m", "regard", *command], check=True, stdout=subprocess.DEVNULL)
    events = [json.loads(line) for line in Run(out).log.read_text(encoding="utf-8").split("\n")[:-1]]
    validations = [event for event in events if event["kind"] == "validation"]
    scores = [event["score"]["value"] if cell.score else event["loss"] for event in validations]
    KEPT.write_text(json.dumps(read_kept() | {key: scores}, indent=1) + "\n", encoding="utf-8")
    print(key, [round(score, 3) for score in scores], flush=True)


def page_lines() -> Iterator[str]:
    yield from described()
    yield ""
    yield "Dev, after each sixth of the steps; two layers of width 128; losses are nats a token, less is better."
    yield ""
    yield "| task | steps | score | positions | seed | of dev |"
    yield "|---|---|---|---|---|---|"
    kept = read_kept()
    for cell in CELLS:
        for key in sorted((key for key in kept if key.startswith(f"{cell.task} ")), key=lambda key: key.split()[::-1]):
            _, scheme, seed = key.split()
            scores = " · ".join(f"{score:.2f}" for score in kept[key])
            yield f"| {cell.task} | {cell.steps:,} | {cell.score or 'loss'} | {scheme} | {seed} | {scores} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=[cell.task for cell in CELLS])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for seed in options.seeds if not options.write else ():
        for cell in CELLS:
            for scheme in SCHEMES:
                if options.only is None or cell.task in options.only:
                    measure(cell, scheme, seed, options)
    if options.write:
        write("single_stack_positions", list(page_lines()))


if __name__ == "__main__":
    main()
