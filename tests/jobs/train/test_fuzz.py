"""Corpora damaged in a thousand ways: refused in a sentence, or read with every pair still a pair."""

import random
import shutil
from pathlib import Path

import pytest

from regard import config as settings
from regard.data.corpora import english_french
from regard.data.store import Texts
from regard.errors import RegardError
from regard.jobs.tasks.translation.prepare import write_texts
from regard.run import Run

PAIRS = [(pair.source, pair.target) for pair in english_french.generate(40, 5)]


def damage(raw: bytes, rng: random.Random) -> bytes:
    """One of the accidents that happen to files."""
    at, other = sorted(rng.randrange(len(raw)) for _ in range(2))
    accidents = [
        lambda: raw[:at],
        lambda: raw[:at] + rng.randbytes(rng.randrange(1, 9)) + raw[at:],
        lambda: raw[:at] + raw[other:],
        lambda: raw[:at] + bytes([raw[at] ^ (1 << rng.randrange(8))]) + raw[at + 1 :],
        lambda: raw.decode().encode(rng.choice(("utf-16", "utf-8-sig", "utf-32"))),
        lambda: raw.decode().encode("latin-1", "replace"),
        lambda: raw[:at] + rng.choice(("\u2028", "\u0085", "\r", "\x0c", "\ufeff", "\x00")).encode() + raw[at:],
        lambda: raw[:at] + b"\n" * rng.randrange(1, 4) + raw[at:],
        lambda: raw[:at] + b"x" * 200_000 + raw[at:],
        lambda: b"",
        lambda: raw * 3,
        lambda: raw.replace(b"\n", b"\r\n"),
    ]
    return rng.choice(accidents)()


def lines(raw: bytes) -> list[str]:
    text = raw.decode().removeprefix("\ufeff")
    cut = [line.removesuffix("\r") for line in text.split("\n")]
    return cut[:-1] if cut[-1] == "" else cut


@pytest.mark.parametrize("count", [pytest.param(120, id="120"), pytest.param(1000, id="1000", marks=pytest.mark.slow)])
def test_no_wrong_pair_is_trained_on_silently(tmp_path: Path, count: int):
    rng, read = random.Random(7), 0
    whole = ["".join(f"{pair[side]}\n" for pair in PAIRS).encode() for side in (0, 1)]
    for number in range(count):
        sides = list(whole)
        for side in rng.choice(((0,), (1,), (0, 1))):
            sides[side] = damage(sides[side], rng)
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, raw in zip(("a.en", "a.fr"), sides, strict=True):
            (folder / name).write_bytes(raw)
        config = settings.build({"data": {"train": [str(folder / "a.en"), str(folder / "a.fr")]}})
        run = Run(folder / "run")
        run.folder.mkdir()
        try:
            write_texts(run, config)
        except RegardError as error:
            assert str(error)
        else:
            read += 1
            possible = set(zip(lines(sides[0]), lines(sides[1]), strict=True))
            for name in ("train", "dev", "test"):
                stored = zip(Texts(run.store, f"{name}.source"), Texts(run.store, f"{name}.target"), strict=True)
                assert set(stored) <= possible
        shutil.rmtree(folder)
    assert 0.1 * count < read < 0.9 * count
