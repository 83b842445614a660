"""Texts whose label is that of one of their words."""

import random
from pathlib import Path

WORDS = {"neg": ("awful", "dull", "poor"), "pos": ("fine", "great", "lovely", "superb")}
NOUNS = ("film", "book", "song", "meal", "room", "play", "walk")


def write_reviews(path: Path, count: int, seed: int) -> None:
    """Write a table of texts and labels; every text is unique, so that none is dropped as a duplicate."""
    generator = random.Random(seed)
    rows = ["text,label"]
    for number in range(count):
        label = generator.choice(["neg", "pos", "pos"])
        rows.append(f"the {generator.choice(NOUNS)} {seed}{number} was {generator.choice(WORDS[label])},{label}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
