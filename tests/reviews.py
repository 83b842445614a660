"""Texts whose label is that of one of their words."""

import random
from pathlib import Path

WORDS = {"neg": ("awful", "dull", "poor"), "pos": ("fine", "great", "lovely", "superb")}
NOUNS = ("film", "book", "song", "meal", "room", "play", "walk")
NOISE = 0.1
"""Fraction of wrong labels, so that no classifier is certain."""


def write_reviews(path: Path, count: int, seed: int) -> None:
    """Write a table of texts and labels; every text is unique, so that none is dropped as a duplicate."""
    generator = random.Random(seed)
    rows = ["text,label"]
    for number in range(count):
        label = generator.choice(["neg", "pos", "pos"])
        word = generator.choice(WORDS[label])
        if generator.random() < NOISE:
            label = "neg" if label == "pos" else "pos"
        rows.append(f"the {generator.choice(NOUNS)} {seed}{number} was {word},{label}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
