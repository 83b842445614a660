"""One corpus for all toolkits: the same tokens, by our tokenizer, in the file formats of each."""

import json
from dataclasses import dataclass
from pathlib import Path

from regard.config import Config, override
from regard.data.store import Corpus
from regard.data.tokenizers.tokenizer import EOS
from regard.jobs.tasks.translation.data import open_training_data
from regard.jobs.train.events import TrainingProgress
from regard.jobs.train.fit import train_run
from regard.run import open_run


@dataclass(frozen=True)
class Size:
    """A model that every toolkit can build: as many layers on both sides, tables shared by all three places."""

    name: str
    layers: int
    dim: int
    heads: int
    ffn: int

    def settings(self) -> list[str]:
        return [f"model.{key}={getattr(self, key)}" for key in ("layers", "dim", "heads", "ffn")]


S, B = Size("S", 3, 256, 4, 1024), Size("B", 6, 512, 8, 2048)
SIZES = {size.name: size for size in (S, B)}
BATCH = 4096


@dataclass(frozen=True)
class Material:
    """A folder with a run of ours, and the corpus as lines of tokens."""

    folder: Path

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def vocabulary(self) -> Path:
        return self.folder / "vocabulary.txt"

    def lines(self, name: str, side: str) -> Path:
        return self.folder / f"{name}.{side}"


def make(folder: Path, files: dict[str, list[str]], vocabulary: int = 8000) -> Material:
    """Prepare the corpus once; a second call finds it there."""
    material = Material(folder)
    if material.vocabulary.exists():
        return material
    data = [f"data.{name}={json.dumps(paths)}" for name, paths in files.items()]
    config = override(Config(), [*data, f"data.vocab_size={vocabulary}", *S.settings(), "train.steps=1"])
    for event in train_run(material.run, config, True, lambda: False):
        if isinstance(event, TrainingProgress):
            break
    data_ = open_training_data(open_run(material.run), config)
    for name, corpus in (("train", data_.train), ("dev", data_.dev), ("test", data_.test)):
        if corpus is not None:
            _write(material, name, corpus, data_.tokenizers.source.convert_ids_to_tokens)
    names = data_.tokenizers.source.convert_ids_to_tokens(range(EOS + 1, data_.tokenizers.source.vocab_size))
    material.vocabulary.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return material


def _write(material: Material, name: str, corpus: Corpus, to_tokens) -> None:
    for side, ids in (("source", corpus.source_ids), ("target", corpus.target_ids)):
        rows = (" ".join(to_tokens(ids[i].tolist())) for i in range(len(ids)))
        material.lines(name, side).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
