"""Files of documents in which one sentence says what a summary repeats, and runs that have learned from them."""

import json
import random
from pathlib import Path

from regard import config as settings
from regard.config import Config
from regard.jobs.train.fit import train_run
from regard.run import Run
from tests.jobs.conftest import TINY

COLORS = ("red", "green", "blue", "black", "white", "pink", "gold")
ANIMALS = ("cat", "dog", "horse", "bird", "fish", "cow", "sheep", "duck", "frog", "mouse", "lion")
VERBS = ("sleeps", "runs", "sings", "eats", "hides")
FILLERS = ("It rains in the town.", "Many people walk there.", "The old house stands still.", "A train has come.")
COUNTS = {"train": 251, "dev": 31, "test": 29}


def make_row(row: tuple[str, str, str], rng: random.Random) -> dict[str, object]:
    """A document of three to five sentences; its key sentence is never the first one."""
    color, animal, verb = row
    fillers = rng.sample(FILLERS, rng.randint(2, 4))
    key = f"Here we see that the {color} {animal} {verb}."
    position = rng.randint(1, len(fillers))
    references = [f"the {color} {animal} {verb}", f"a {animal} that is {color}"]
    return {
        "source": [*fillers[:position], key, *fillers[position:]],
        "target": references[:1],
        "more": references,
        "title": f"On a {animal}",
    }


def write_files(parent: Path) -> Path:
    """train.jsonl with one reference for each document, dev.jsonl and test.jsonl with two."""
    folder = parent / "summaries"
    folder.mkdir()
    rng = random.Random(7)
    rows = [(color, animal, verb) for color in COLORS for animal in ANIMALS for verb in VERBS]
    rng.shuffle(rows)
    made = [make_row(row, rng) for row in rows]
    begin = 0
    for name, count in COUNTS.items():
        lines = []
        for row in made[begin : begin + count]:
            more = row.pop("more")
            lines.append(json.dumps(row | ({} if name == "train" else {"target": more})) + "\n")
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        begin += count
    return folder


def make_config(folder: Path, task: str, *changes: str) -> Config:
    data = {name: [str(folder / f"{name}.jsonl")] for name in COUNTS}
    return settings.override(settings.build({"task": task, "data": data}), [*TINY, "data.max_length=97", *changes])


def train(folder: Path, task: str, *changes: str, out: Path | None = None) -> Run:
    run = out or folder / "runs" / task
    list(train_run(run, make_config(folder, task, *changes), False, lambda: False))
    return Run(run)


TRAININGS = {
    "summarize": ("train.steps=40", "train.learning_rate=0.01", "train.validate_every=20"),
    "extract": (
        *("train.steps=60", "train.learning_rate=0.01", "train.validate_every=20"),
        *("model.architecture=encoder", "model.dropout=0", "train.batch_tokens=512"),
    ),
}
