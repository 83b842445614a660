"""Documents of invented sentences, and settings that train on them in a second."""

from pathlib import Path

import numpy as np

import regard
from regard.run import Run

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "bird",
    "sees",
    "hears",
    "old",
    "small",
    "red",
    "house",
    "tree",
    "and",
    "in",
    "on",
    "under",
]
SMALL: dict[str, object] = {
    "model.dim": 16,
    "model.layers": 2,
    "model.heads": 2,
    "model.ffn": 23,
    "model.dropout": 0.1,
    "data.vocab_size": 301,
    "data.max_length": 29,
    "train.batch_tokens": 211,
    "train.learning_rate": 0.01,
    "train.schedule": "constant",
    "train.warmup": 7,  # alarms come after twice as many steps
    "train.validate_every": 5,
    "train.save_every": 5,
    "train.average_checkpoints": 1,
    "train.threads": 1,
}
DENOISE = SMALL | {"denoise.documents": "blank-line", "train.validation_sentences": 5}
MASKED = SMALL | {"masked_lm.documents": "blank-line", "masked_lm.mask_scheme": "80/10/10"}

SETTINGS = {"masked-lm": MASKED, "causal-lm": SMALL, "denoise": DENOISE}


def write_text(seed: int, lines: int) -> str:
    """A document of lines of different lengths."""
    rng = np.random.default_rng(seed)
    return "".join(" ".join(rng.choice(WORDS, rng.integers(3, 11))).capitalize() + ".\n" for _ in range(lines))


def train(task: str, path: Path, out: Path, steps: int = 10) -> Run:
    regard.train(path, task=task, out=out, steps=steps, settings=SETTINGS[task])
    return Run(out)


def write_documents(folder: Path) -> dict[str, Path]:
    """A file of one document, and one of 31 documents between blank lines."""
    files = {"one": folder / "one.txt", "many": folder / "many.txt"}
    files["one"].write_text(write_text(3, 401), encoding="utf-8")
    files["many"].write_text("\n".join(write_text(seed, 5 + seed % 7) for seed in range(31)), encoding="utf-8")
    return files
