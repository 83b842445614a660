"""All schemes of positions on the same work: translation, and lengths that were never seen.

    python benchmarks/positions.py FOLDER [--multi30k FOLDER_OF_RAW_FILES] [--only translate|lengths] [--write]

Every cell is one small training; what is finished is not done again, so the work can be spread over evenings, and over
processes: --share 1/2 in one and --share 2/2 in the other. --write makes results/positions.md and the charts in
docs/images out of the cells that are there.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import torch
from environment import described, write
from lengths import BUCKETS, LONGEST, Task, measure
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from regard.config import Config, ModelConfig, override
from regard.data.corpora import english_french
from regard.jobs.evaluate import read_scores, read_sentences
from regard.jobs.train.fit import train_run
from regard.report import Chart, Table, bar_chart, overlay_curves
from regard.run import open_run, write_text

IMAGES = Path(__file__).parent.parent / "docs" / "images"

SCHEMES: dict[str, dict[str, object]] = {
    "none": {},
    "sinusoidal": {},
    "learned": {"length": 256},
    "concatenated": {"width": 16},
    "relative": {},
    "bias": {"length": 256},
    "t5": {},
    "alibi": {"sides": "two-sided"},
    "rotary": {},
}
BASE = "sinusoidal"
SEEDS = (1, 2, 3)
STEPS = {"built-in": 1500, "multi30k": 1000, "lengths": 2500}
SMALL = ("model.dim=64", "model.layers=2", "model.heads=4", "model.ffn=128", "model.dropout=0.1")
LARGER = ("model.dim=128", "model.layers=3", "model.heads=4", "model.ffn=256", "model.dropout=0.1")


@dataclass(frozen=True)
class Cell:
    """One training, by a name that says which."""

    name: str
    work: Callable[[], dict[str, object]]


def settings(scheme: str) -> list[str]:
    options = {"kind": scheme, **SCHEMES[scheme]}
    return [f"model.positions.{name}={value}" for name, value in options.items()]


def translate(folder: Path, files: dict[str, list[str]], changes: list[str]) -> dict[str, object]:
    """Train, and keep the test scores and the translations."""
    data = [f"data.{name}={json.dumps(paths)}" for name, paths in files.items()]
    fixed = ["train.guided_alignment=0", "train.validation_sentences=0", "train.threads=1", "data.max_length=200"]
    for _ in train_run(folder, override(Config(), [*data, *fixed, *changes]), True, lambda: False):
        pass
    run = open_run(folder)
    saved = read_scores(run, "test")
    sentences = [[sentence.reference, sentence.translation] for sentence in read_sentences(run, "test")]
    return {"bleu": saved.scores["bleu"].value, "loss": saved.loss, "sentences": sentences}


def built_in(folder: Path) -> dict[str, list[str]]:
    """The corpus of the demo, in files."""
    splits = english_french.split(8000, 300, 1000, 5, seed=1)
    files: dict[str, list[str]] = {}
    for name in ("train", "dev", "test"):
        files[name] = [str(folder / f"{name}.{side}") for side in ("source", "target")]
        for path, side in zip(files[name], ("source", "target"), strict=True):
            write_text(Path(path), "".join(f"{getattr(pair, side)}\n" for pair in getattr(splits, name)))
    return files


def cells(folder: Path, multi30k: Path | None, only: str) -> Iterator[Cell]:
    runs = folder / "runs"
    if only != "lengths":
        files = built_in(folder)
        for seed in SEEDS:
            for scheme in SCHEMES:
                name = f"built-in.{scheme}.{seed}"
                changes = [*SMALL, *settings(scheme), f"train.steps={STEPS['built-in']}", f"train.seed={seed}"]
                yield Cell(name, lambda n=name, c=changes: translate(runs / n, files, c))
    if only != "translate":
        for architecture, seeds in (("decoder", SEEDS), ("encoder-decoder", SEEDS[:1])):
            for seed in seeds:
                for task in ("copy", "reverse"):
                    for scheme in SCHEMES:
                        yield Cell(f"{architecture}.{task}.{scheme}.{seed}", _lengths(architecture, task, scheme, seed))
    if only != "lengths" and multi30k is not None:
        names = {"train": "train", "dev": "val", "test": "test_2016_flickr"}
        files = {name: [str(multi30k / f"{stem}.{side}") for side in ("en", "fr")] for name, stem in names.items()}
        for scheme in SCHEMES:
            name = f"multi30k.{scheme}.1"
            changes = [*LARGER, *settings(scheme), f"train.steps={STEPS['multi30k']}"]
            yield Cell(name, lambda n=name, c=changes, f=files: translate(runs / n, f, c))


def _lengths(architecture: str, task: str, scheme: str, seed: int) -> Callable[[], dict[str, object]]:
    positions = {"kind": scheme, **SCHEMES[scheme]}
    c = ModelConfig(dim=64, layers=2, heads=4, ffn=128, dropout=0.0, positions=positions)  # type: ignore[arg-type]
    return lambda: dict(measure(architecture, c, Task(task), seed, STEPS["lengths"]))


def against(one: list[list[str]], other: list[list[str]]) -> float:
    """The chance (p) of a difference in BLEU as large as this by luck, by paired bootstrap."""
    references = [[row[0] for row in one]]
    systems = [("base", [row[1] for row in one]), ("other", [row[1] for row in other])]
    test = PairedTest(systems, {"BLEU": BLEU(force=True)}, references, test_type="bs", n_samples=1000)
    return float(test()[1]["BLEU"][1].p_value)


def table(found: dict[str, dict], corpus: str) -> Iterator[str]:
    """BLEU of every scheme, and whether it differs from the base."""
    seeds = [seed for seed in SEEDS if f"{corpus}.{BASE}.{seed}" in found]
    if not seeds:
        return
    yield f"| scheme | BLEU, mean of {len(seeds)} | each | against {BASE} | p of each |"
    yield "|---|---|---|---|---|"
    for scheme in SCHEMES:
        rows = [(found[f"{corpus}.{BASE}.{s}"], found.get(f"{corpus}.{scheme}.{s}")) for s in seeds]
        if any(other is None for _, other in rows):
            continue
        scores = [other["bleu"] for _, other in rows]
        difference = mean(scores) - mean(base["bleu"] for base, _ in rows)
        p = [f"{against(base['sentences'], other['sentences']):.3f}" for base, other in rows] if scheme != BASE else []
        each = ", ".join(f"{score:.1f}" for score in scores)
        yield f"| {scheme} | {mean(scores):.2f} | {each} | {difference:+.2f} | {', '.join(p)} |"


def lengths_table(found: dict[str, dict], architecture: str, task: str) -> Iterator[str]:
    """Exact match by length, in percent; bold is beyond what was trained on."""
    names = [f"{first}-{last}" for first, last in BUCKETS]
    yield f"| {architecture}, {task} | {' | '.join(names)} |"
    yield f"|---|{'---|' * len(names)}"
    for scheme in SCHEMES:
        rows = [found[name] for s in SEEDS if (name := f"{architecture}.{task}.{scheme}.{s}") in found]
        if rows:
            yield f"| {scheme} | {' | '.join(_spread([row[name] for row in rows]) for name in names)} |"


def _spread(shares: list[float]) -> str:
    low, high = 100 * min(shares), 100 * max(shares)
    return f"{100 * mean(shares):.0f}" if high - low < 1 else f"{100 * mean(shares):.0f} ({low:.0f}-{high:.0f})"


def bleu_chart(found: dict[str, dict]) -> Chart:
    """A bar a scheme and corpus: the mean over seeds, between the worst and the best of them."""
    columns: dict[str, list] = {name: [] for name in ("scheme", "corpus", "bleu", "low", "high")}
    for corpus in ("built-in", "multi30k"):
        for scheme in SCHEMES:
            scores = [found[name]["bleu"] for s in SEEDS if (name := f"{corpus}.{scheme}.{s}") in found]
            if not scores:
                continue
            for name, value in zip(columns, (scheme, corpus, mean(scores), min(scores), max(scores)), strict=True):
                columns[name].append(value)
    return bar_chart(
        Table(columns),
        "scheme",
        "bleu",
        series="corpus",
        interval=("low", "high"),
        title="Translation with every scheme of positions, the same steps for all",
        x_title="scheme",
        y_title="test BLEU",
    )


def lengths_chart(found: dict[str, dict], architecture: str) -> Chart:
    """A curve a scheme over lengths, a panel a task."""
    tables = {}
    for task in ("copy", "reverse"):
        rows = [
            (last, 100 * mean(shares), scheme)
            for scheme in SCHEMES
            for first, last in BUCKETS
            if (shares := _shares(found, f"{architecture}.{task}.{scheme}", f"{first}-{last}"))
        ]
        tables[task] = Table(dict(zip(("length", "exact", "scheme"), map(list, zip(*rows, strict=True)), strict=True)))
    return overlay_curves(
        tables,
        "length",
        "exact",
        "scheme",
        title=f"Trained on 1 to {LONGEST} symbols, asked for up to {BUCKETS[-1][1]} ({architecture})",
        x_title="symbols, up to",
        y_title="all right, %",
        highlighted=list(SCHEMES),
    )


def _shares(found: dict[str, dict], cell: str, bucket: str) -> list[float]:
    return [found[name][bucket] for s in SEEDS if (name := f"{cell}.{s}") in found]


def draw(found: dict[str, dict]) -> None:
    charts = {"positions-bleu": bleu_chart(found)}
    for architecture in ("decoder", "encoder-decoder"):
        charts[f"positions-lengths-{architecture}"] = lengths_chart(found, architecture)
    for name, chart in charts.items():
        (IMAGES / f"{name}.png").write_bytes(chart.to_png())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--multi30k", type=Path)
    parser.add_argument("--only", choices=("translate", "lengths", ""), default="")
    parser.add_argument("--share", default="1/1", help="which part of the cells, as 1/2")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    done = given.folder / "cells"
    done.mkdir(parents=True, exist_ok=True)
    number, of = map(int, given.share.split("/"))
    for i, cell in enumerate(cells(given.folder, given.multi30k, given.only)):
        path = done / f"{cell.name}.json"
        if i % of == number - 1 and not path.exists():
            write_text(path, json.dumps(cell.work()))
            print(cell.name, flush=True)
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(done.glob("*.json"))}
    rows = [*described(), f"- lengths: trained on 1 to {LONGEST}; steps {STEPS}", ""]
    for corpus in ("built-in", "multi30k"):
        rows += [f"## {corpus}", "", *table(found, corpus), ""]
    for architecture in ("decoder", "encoder-decoder"):
        for task in ("copy", "reverse"):
            rows += [*lengths_table(found, architecture, task), ""]
    print("\n".join(rows))
    if given.write:
        write("positions", rows)
        draw(found)


if __name__ == "__main__":
    main()
