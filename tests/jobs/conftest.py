"""Small corpora in files, and settings that train in a second."""

from collections.abc import Callable
from pathlib import Path

import pytest

from regard import config as settings
from regard.config import TASK_ARCHITECTURES, Config
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
SETS = ("train", "dev", "test")
OF_TASKS = {
    "translate": (),
    "classify": ("train.rdrop=1",),
    "tag": ("train.accumulate_batches=2",),
    "causal-lm": ("data.max_length=29",),
    "masked-lm": ("data.max_length=29", "masked_lm.documents=blank-line", "masked_lm.mask_scheme=80/10/10"),
    "embed": ("embed.batch_rows=13", "embed.both_directions=true", "train.label_smoothing=0"),
    "denoise": ("data.max_length=31", "denoise.target=spans"),
    "summarize": ("data.subword_regularization=0.1",),
    "extract": ("train.rdrop=1",),
}
"""Settings of each task, which differ in where their noise comes from."""


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


@pytest.fixture(scope="session")
def config_of(
    files: Path, reviews: Path, tagged: Path, documents: dict[str, Path], related: Path, summaries: Path
) -> Callable[..., Config]:
    """The config of any task, with files of its own and settings that train in a second."""
    sets = {
        "translate": {name: [files / f"{name}.en", files / f"{name}.fr"] for name in SETS},
        "classify": {name: [reviews / f"{name}.csv"] for name in SETS},
        "tag": {name: [tagged / f"{name}.conll"] for name in SETS},
        "causal-lm": {"train": [documents["one"]]},
        "masked-lm": {"train": [documents["many"]]},
        "embed": {name: [related / f"{name}.tsv"] for name in SETS},
        "denoise": {"train": [files / "train.en", files / "train.fr"]},
        "summarize": {name: [summaries / f"{name}.jsonl"] for name in SETS},
        "extract": {name: [summaries / f"{name}.jsonl"] for name in SETS},
    }

    def make(task: str, *changes: str) -> Config:
        data = {name: [*map(str, paths)] for name, paths in sets[task].items()}
        model = {"architecture": TASK_ARCHITECTURES[task][0]}
        config = settings.build({"task": task, "data": data, "model": model})
        return settings.override(config, [*TINY, *OF_TASKS[task], *changes])

    return make
