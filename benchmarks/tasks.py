"""Models of every task but translation on real corpora, in minutes on two cores, each beside a cheap opponent.

    python benchmarks/tasks.py FOLDER --data CORPORA --encoder MINILM [--only sst2-scratch …] [--seeds 1 2 3]
    python benchmarks/tasks.py FOLDER --data CORPORA --write

Every cell is a run in FOLDER, trained by the command that a user would type; a cell that is finished is not trained
again, and one that was killed goes on. MINILM is the folder of all-MiniLM-L6-v2. Checkpoints and settings are chosen on
dev alone; test is scored once, at the end of each run. All seeds of sst2-after-masked-lm start from one
pretraining, the first. The result of a finished cell is kept in results/tasks.json, so that it is not lost with FOLDER;
--write makes results/tasks.md of it. No sentence of the corpora is in it.
"""

import argparse
import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from environment import RESULTS, commit, described, write

from regard.metrics.intervals import UNBOUNDED, ratio_interval
from regard.run import Run


@dataclass(frozen=True)
class Cell:
    """A training, by its command. {data}, {folder} and {seed} are filled in."""

    name: str
    score: str
    floor: str
    options: str

    def command(self, data: Path, folder: Path, seed: int, out: Path) -> list[str]:
        filled = self.options.format(data=data, folder=folder, seed=seed)
        return ["train", *filled.split(), "--set", f"train.seed={seed}", "--out", str(out)]


STSB = "{data}/stsb_en/train.csv --dev {data}/stsb_en/dev.csv --test {data}/stsb_en/test.csv --task embed"
SST2 = "{data}/sst2/train.tsv --test {data}/sst2/test.tsv --task classify"
SCITLDR, AESLC = (
    f"{{data}}/{name}/train.jsonl --dev {{data}}/{name}/dev.jsonl --test {{data}}/{name}/test.jsonl"
    for name in ("scitldr", "aeslc")
)
CELLS = (
    Cell("sst2-scratch", "accuracy", "80 in 5 minutes", f"{SST2} --minutes 5"),
    Cell("sst2-scratch-long", "accuracy", "aim: 83 in 30 minutes", f"{SST2} --minutes 30"),
    Cell("sst2-from-minilm", "accuracy", "89 in 15 minutes", f"{SST2} --from {{folder}}/minilm --minutes 15"),
    Cell(
        "reviews-masked-lm",
        "loss",
        "",
        "{data}/reviews/polarity2_reviews.txt --task masked-lm --minutes 20 --set masked_lm.documents=blank-line",
    ),
    Cell(
        "sst2-after-masked-lm",
        "accuracy",
        "reported",
        f"{SST2} --from {{folder}}/reviews-masked-lm-1 --minutes 5",
    ),
    Cell(
        "banking77-from-minilm",
        "accuracy",
        "90",
        "{data}/banking77/train.csv --test {data}/banking77/test.csv --task classify "
        "--from {folder}/minilm --minutes 15",
    ),
    Cell(
        "wnut17-scratch",
        "f1",
        "reported",
        "{data}/wnut17/wnut17train.conll --dev {data}/wnut17/emerging.dev.conll "
        "--test {data}/wnut17/emerging.test.annotated --task tag --minutes 5",
    ),
    Cell(
        "wnut17-from-minilm",
        "f1",
        "40 in 10 minutes",
        "{data}/wnut17/wnut17train.conll --dev {data}/wnut17/emerging.dev.conll "
        "--test {data}/wnut17/emerging.test.annotated --task tag --from {folder}/minilm --minutes 10",
    ),
    Cell(
        "shakespeare",
        "bits_per_byte",
        "below 2.40 in 20 minutes",
        "{data}/novels/shakespeare.txt --task causal-lm --minutes 20",
    ),
    Cell("stsb-scratch", "spearman", "TF-IDF, known words only: 64.7", f"{STSB} --minutes 5"),
    Cell(
        "stsb-scratch-words",
        "spearman",
        "TF-IDF, known words only: 64.7",
        f"{STSB} --minutes 5 --set data.vocab_size=8000 --set model.layers=1",
    ),
    Cell("stsb-from-minilm", "spearman", "MiniLM, not trained: 82.0", f"{STSB} --from {{folder}}/minilm --minutes 8"),
    Cell(
        "scitldr-extractive-from-minilm",
        "rouge2",
        "ROUGE-1 41, ROUGE-2 19.5 in 10 minutes",
        f"{SCITLDR} --task extract --from {{folder}}/minilm --minutes 10",
    ),
    Cell("scitldr-scratch", "rouge2", "above 2 in 10 minutes", f"{SCITLDR} --task summarize --minutes 10"),
    Cell(
        "aeslc-extractive-from-minilm",
        "rouge2",
        "reported",
        f"{AESLC} --task extract --from {{folder}}/minilm --minutes 8",
    ),
    Cell("aeslc-scratch", "rouge2", "reported", f"{AESLC} --task summarize --minutes 8"),
)
KEPT = RESULTS / "tasks.json"
PAIRED = (("sst2-scratch", "sst2-after-masked-lm"), ("sst2-scratch", "sst2-from-minilm"))


def train(cell: Cell, options: argparse.Namespace, seed: int) -> None:
    """Train a cell and keep its result, unless that is done; go on with one that was killed."""
    out = options.folder / f"{cell.name}-{seed}"
    if (out / "scores" / "test.json").exists():
        return
    resumed = ["train", "--resume", str(out)] if out.exists() else cell.command(options.data, options.folder, seed, out)
    print("regard", *resumed, flush=True)
    subprocess.run([sys.executable, "-m", "regard", *resumed, "--plain"], check=True)
    keep(cell, options, seed)


def import_encoder(options: argparse.Namespace) -> None:
    if options.encoder and not (options.folder / "minilm").exists():
        command = [
            sys.executable,
            "-m",
            "regard",
            "import",
            str(options.encoder),
            "--out",
            str(options.folder / "minilm"),
        ]
        subprocess.run(command, check=True)


def finished(cell: Cell, folder: Path) -> list[Path]:
    """The runs of a cell that have a test score, by seed."""
    return sorted(out for out in folder.glob(f"{cell.name}-[0-9]*") if (out / "scores" / "test.json").exists())


def keep(cell: Cell, options: argparse.Namespace, seed: int) -> None:
    """Add a finished cell to what is kept, in place of an earlier training of it."""
    kept = read_kept()
    out = options.folder / f"{cell.name}-{seed}"
    kept["rows"][out.name] = row(cell, out)
    kept["paired"] |= dict(paired_lines(options.folder))
    kept["notes"] += [note for note in options.note if note not in kept["notes"]]
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_kept() -> dict[str, Any]:
    """Lines of the table by run, lines of comparisons by pair, and notes."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"rows": {}, "paired": {}, "notes": []}


def page_lines(kept: dict[str, Any]) -> Iterator[str]:
    yield from described()
    yield from (f"- {note}" for note in kept["notes"])
    yield ""
    yield "| run | seed | commit | minutes | steps | dev | test | opponents on test | floor |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for cell in CELLS:
        names = sorted(name for name in kept["rows"] if name.rpartition("-")[0] == cell.name)
        yield from (kept["rows"][name] for name in names)
    yield ""
    yield from kept["paired"].values()


def row(cell: Cell, out: Path) -> str:
    scores = json.loads((out / "scores" / "test.json").read_text(encoding="utf-8"))
    events = [json.loads(line) for line in Run(out).log.read_text(encoding="utf-8").split("\n")[:-1]]
    seconds = sum(event.get("seconds", 0) for event in events if event["kind"] in ("step", "validation"))
    steps = max(event["number"] for event in events if event["kind"] == "step")
    best = json.loads(Run(out).best.read_text(encoding="utf-8"))["step"]
    validations = {event["step"]: event for event in events if event["kind"] == "validation"}
    dev = (validations.get(best) or {}).get("score") or {}
    cells = (
        cell.name,
        out.name.rpartition("-")[2],
        commit().rpartition(" ")[2],
        f"{seconds / 60:.1f}",
        f"{steps:,}",
        f"{dev['value']:.2f}" if dev else "",
        with_interval(scores["scores"][cell.score]),
        "; ".join(opponent_texts(cell, scores)),
        cell.floor,
    )
    return f"| {' | '.join(cells)} |"


def with_interval(score: dict[str, float | None]) -> str:
    if score["low"] is None:
        return f"{score['value']:.2f}"
    return f"**{score['value']:.2f}** [{score['low']:.2f}, {score['high']:.2f}]"


def opponent_texts(cell: Cell, scores: dict[str, dict[str, dict[str, dict[str, float]]]]) -> Iterator[str]:
    for name, of_opponent in scores.get("opponents", {}).items():
        if score := of_opponent.get(cell.score):
            p = f" (p = {score['p_randomized']:.4f})" if "p_randomized" in score else ""
            yield f"{name} {score['value']:.2f}{p}"


def correct_answers(out: Path) -> list[float]:
    """1 for every test text that is classified correctly, otherwise 0."""
    with (out / "scores" / "test.examples.tsv").open(encoding="utf-8", newline="") as file:
        return [float(line["correct"]) for line in csv.DictReader(file, delimiter="\t")]


def paired_lines(folder: Path) -> Iterator[tuple[str, str]]:
    """Differences of accuracy between cells, on the same texts, averaged over the seeds that both have, by name."""
    cells = {cell.name: cell for cell in CELLS}
    for first, second in PAIRED:
        sides = [
            {out.name.rpartition("-")[2]: out for out in finished(cells[name], folder)} for name in (first, second)
        ]
        seeds = sorted(sides[0].keys() & sides[1].keys())
        if seeds:
            means = [np.mean([correct_answers(side[seed]) for seed in seeds], 0) for side in sides]
            gains = 100 * (means[1] - means[0])
            interval = ratio_interval(gains, np.ones(len(gains)), UNBOUNDED)
            limits = f" [{interval.low:+.2f}, {interval.high:+.2f}]" if interval else ""
            yield (
                f"{second} − {first}",
                (
                    f"- {second} − {first}: {gains.mean():+.2f}{limits} points of accuracy, paired by text, "
                    f"seeds {', '.join(seeds)}, {len(gains):,} texts"
                ),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--only", nargs="*", choices=[cell.name for cell in CELLS])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--note", action="append", default=[], help="what else the results depend on; may be repeated")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.write:
        import_encoder(options)
        for cell in CELLS:
            if options.only is None or cell.name in options.only:
                for seed in options.seeds:
                    train(cell, options, seed)
    lines = list(page_lines(read_kept()))
    print("\n".join(lines))
    if options.write:
        write("tasks", lines)


if __name__ == "__main__":
    main()
