"""Files of texts and their positives, which share a color and an animal, and an encoder that has learned them."""

import random
from pathlib import Path

from regard import config as settings
from regard.config import Config
from regard.jobs.train.fit import train_run
from tests.jobs.conftest import TINY

COLORS = ("red", "green", "blue", "black", "white", "pink", "gold")
ANIMALS = ("cat", "dog", "horse", "bird", "fish", "cow", "sheep", "duck", "frog", "mouse", "lion")
VERBS = {"sleeps": "rests", "runs": "races", "sings": "hums", "eats": "dines", "hides": "lurks"}
SMALL = (*TINY, "data.vocab_size=330", "embed.batch_rows=24", "train.batch_tokens=4096")


def make_rows() -> list[tuple[str, str, str]]:
    rows = [(color, animal, verb) for color in COLORS for animal in ANIMALS for verb in VERBS]
    random.Random(3).shuffle(rows)
    return rows[:311]


def make_pair(row: tuple[str, str, str]) -> tuple[str, str]:
    color, animal, verb = row
    return f"the {color} {animal} {verb}", f"some {animal} that is {color} {VERBS[verb]}"


def similarity(first: tuple[str, ...], second: tuple[str, ...]) -> float:
    """How many of the three words are the same; from 0 to 5."""
    return round(5 / 3 * sum(a == b for a, b in zip(first, second, strict=True)), 2)


def write_files(parent: Path) -> Path:
    """train, dev and test: .tsv of pairs, .csv of pairs with similarities, .txt of single texts."""
    folder = parent / "related"
    folder.mkdir()
    rows, rng = make_rows(), random.Random(5)
    for name, part in (("train", rows[:251]), ("dev", rows[251:282]), ("test", rows[282:])):
        pairs = [make_pair(row) for row in part]
        others = [tuple(rng.choice((own, rng.choice(rows)[i])) for i, own in enumerate(row)) for row in part]
        (folder / f"{name}.tsv").write_text("".join(f"{text}\t{positive}\n" for text, positive in pairs))
        graded = zip(part, others, strict=True)
        lines = (f"{make_pair(row)[0]},{make_pair(other)[1]},{similarity(row, other)}\n" for row, other in graded)
        (folder / f"{name}.csv").write_text("".join(lines))
        (folder / f"{name}.txt").write_text("".join(f"{text} and {positive}\n" for text, positive in pairs))
    return folder


def make_config(folder: Path, *changes: str, suffix: str = "tsv", held_out: bool = False) -> Config:
    names = ("train",) if held_out else ("train", "dev", "test")
    data = {name: [str(folder / f"{name}.{suffix}")] for name in names}
    return settings.override(settings.build({"task": "embed", "data": data}), [*SMALL, *changes])


def train(folder: Path, config: Config) -> list:
    return list(train_run(folder, config, False, lambda: False))


def train_embedder(related: Path) -> Path:
    folder = related / "runs" / "encoder"
    changes = ("train.steps=60", "train.learning_rate=0.005", "train.validate_every=30", "model.dropout=0.05")
    train(folder, make_config(related, *changes))
    return folder
