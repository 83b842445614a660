"""The whole path in a few minutes: a corpus made here, a translator trained on it, scored and looked into."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard import config as settings
from regard.config import Config
from regard.data.corpora import GoldPair, english_french, write_rows
from regard.evaluation import Evaluation
from regard.formats import Pair
from regard.inspection.example import pair_example
from regard.inspection.heads.alignment import Aligners, align_heads, link
from regard.jobs.evaluate import score_run
from regard.jobs.load import load
from regard.jobs.look.page import attention
from regard.jobs.train.events import Event, Finished
from regard.jobs.train.fit import Stop, fit
from regard.run import Run, atomic_write, require_free

SHOWN = 4


@dataclass(frozen=True)
class Size:
    """How much the demo makes, and the settings that suit it."""

    train: int
    held_out: int
    settings: tuple[str, ...]


SMALL_MODEL = ("model.dim=128", "model.layers=2", "model.ffn=512", "data.vocabulary=1500")
WHOLE = Size(
    30_000,
    500,
    (
        *SMALL_MODEL,
        "train.steps=2000",
        "train.batch_tokens=1024",
        "train.rate=0.003",
        "train.warmup=200",
        "train.schedule=cosine",
        "train.check_every=500",
        "train.save_every=250",
        "train.look_every=200",
    ),
)
QUICK = Size(
    2_000,
    50,
    (*SMALL_MODEL, "train.steps=30", "train.check_every=15", "train.save_every=15", "train.warmup=10"),
)


@dataclass(frozen=True)
class Shown:
    """A translation and where the model looked for each of its words."""

    source_words: list[str]
    target_words: list[str]
    weights: list[list[float]]
    links: list[tuple[int, int]]
    translation: str
    reference: str


@dataclass(frozen=True)
class Demonstrated:
    """What the demo found."""

    run: Run
    test: Evaluation
    compositional: Evaluation
    aligners: Aligners
    shown: list[Shown]


def demo(folder: Path, size: Size, seed: int, overwrite: bool, stop: Stop) -> Iterator[Event | Demonstrated]:
    """Train on the built-in English-French corpus, and try sentences and combinations that were never seen."""
    require_free(folder, overwrite)  # before the corpus of a run that stays is written anew
    splits = english_french.split(size.train, size.held_out, size.held_out, size.held_out, seed)
    corpus = folder.with_name(folder.name + "-corpus")
    config = _config(corpus, size, seed)
    files = {
        "train": splits.train,
        "dev": splits.dev,
        "test": splits.test,
        "compositional": splits.compositional,
    }
    for name, pairs in files.items():
        _write(corpus / f"{name}.tsv", pairs)
    test: Evaluation | None = None
    for event in fit(folder, config, overwrite, stop):
        yield event
        if isinstance(event, Finished):
            test = event.evaluation
    if test is None:  # interrupted
        return
    run, translator = Run(folder), load(folder)
    compositional = score_run(run, translator, list(map(_pair, splits.compositional)), "compositional")
    looks = attention(translator, [s.source for s in test.sentences[:SHOWN]], _outputs(test))
    shown = [
        Shown(
            look.source_words,
            look.target_words,
            look.words.tolist(),
            sorted(link(look.words)),
            s.translation,
            s.reference,
        )
        for look, s in zip(looks, test.sentences, strict=False)
    ]
    examples = [pair_example(translator.tokenizers, pair.source, pair.target, pair) for pair in splits.test]
    yield Demonstrated(run, test, compositional, align_heads(translator.model, examples), shown)


def _config(corpus: Path, size: Size, seed: int) -> Config:
    data = {name: [str(corpus / f"{name}.tsv")] for name in ("train", "dev", "test")}
    start = settings.build({"data": {**data, "source": "en", "target": "fr"}, "train": {"seed": seed}})
    return settings.override(start, size.settings)


def _write(path: Path, pairs: Sequence[GoldPair]) -> None:
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in write_rows(pairs))


def _outputs(evaluation: Evaluation) -> list[str]:
    return [s.translation for s in evaluation.sentences[:SHOWN]]


def _pair(gold: GoldPair) -> Pair:
    return Pair(gold.source, gold.target)
