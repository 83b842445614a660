"""Small corpora in files, and settings that train in a second."""

from pathlib import Path

import pytest

from regard import config as settings
from regard.config import Config
from regard.data.corpora import english_french

TINY = (
    "model.dim=32",
    "model.heads=2",
    "model.ffn=64",
    "model.layers=1",
    "data.vocab_size=400",
    "train.batch_tokens=256",
    "train.warmup=5",
    "train.validation_sentences=5",
    "train.threads=1",
)


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    splits = english_french.split(600, 31, 29, 5, seed=3)
    for name in ("train", "dev", "test"):
        for side, language in (("source", "en"), ("target", "fr")):
            lines = [getattr(pair, side) + "\n" for pair in getattr(splits, name)]
            (folder / f"{name}.{language}").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def tiny(files: Path):
    def make(*changes: str) -> Config:
        data = {name: [str(files / f"{name}.en"), str(files / f"{name}.fr")] for name in ("train", "dev", "test")}
        return settings.override(settings.build({"data": data}), [*TINY, *changes])

    return make
