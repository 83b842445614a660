"""Documents of random words, and an encoder that adds up a random vector for each of them."""

import random
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.formats.retrieval import SearchDocument
from regard.retrieval.dense.encoder import Encoder
from regard.retrieval.dense.passages import Span, split_passages
from regard.retrieval.index_folder import EncoderIdentity

D, WINDOW = 13, 7
WORDS = [f"{a}{b}" for a in ("wing", "heat", "flow", "slab", "lift", "drag") for b in ("", "s", "ing", "er", "less")]


def embed(texts: Sequence[str]) -> np.ndarray:
    """The same vector for a text whatever is embedded with it."""
    rows = [sum((_vector(word) for word in re.findall(r"\w+", text.lower())), np.zeros(D)) for text in texts]
    return np.stack([row / (np.linalg.norm(row) or 1) for row in rows]).astype(np.float32)


def _vector(word: str) -> np.ndarray:
    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(D)


def token_spans(text: str) -> list[Span]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def encoder(checksum: str = "a1") -> Encoder:
    identity = EncoderIdentity("toy", "runs/toy", checksum * 32)
    return Encoder(identity, embed, lambda text: split_passages(text, token_spans(text), WINDOW))


def documents(count: int, seed: int = 3) -> list[SearchDocument]:
    """Some have a title, some several passages, some are the same as others, and one is empty."""
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(WORDS, k=rng.choice((2, 5, 11, 31)))) for _ in range(count)]
    texts[count // 2] = ""
    texts[count // 3] = texts[count // 4]
    titles = [rng.choice(WORDS) if n % 3 == 0 and texts[n] else "" for n in range(count)]
    return [SearchDocument(f"d{n}", titles[n], texts[n], f"docs:{n}") for n in range(count)]


def read_tree(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
