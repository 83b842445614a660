"""A corpus of tagged sentences in files, a tagger that is trained on it, and a finished run of every task."""

from collections.abc import Callable
from pathlib import Path

import pytest

from regard import config as settings
from regard.config import Config
from regard.formats.labeled import TaggedSentence, write_tagged_sentences
from regard.jobs.train.fit import train_run
from regard.run import Run
from tests.jobs.conftest import TINY

NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eve Stone", "Flo", "Gus Hill")
CITIES = ("Paris", "Rome", "New York", "Oslo", "Lima")
VERBS = ("lives", "works", "sleeps")


def mark(words: str, kind: str) -> list[tuple[str, str]]:
    """The words of a span with their tags."""
    return [(word, f"{'I' if i else 'B'}-{kind}") for i, word in enumerate(words.split())]


def make_sentence(name: str, verb: str, city: str) -> TaggedSentence:
    rows = [*mark(name, "PER"), (verb, "O"), ("in", "O"), *mark(city, "LOC"), (".", "O")]
    return TaggedSentence(*zip(*rows, strict=True))


PREDICT = {
    "translate": lambda translator, texts: translator.translate(texts),
    "classify": lambda classifier, texts: classifier.log_probs(texts).tolist(),
    "tag": lambda tagger, texts: [table.ravel().tolist() for table in tagger.log_probs([t.split() for t in texts])],
    "causal-lm": lambda model, texts: [nats.tolist() for nats in model.token_nats(texts)],
    "embed": lambda embedder, texts: embedder.embed(texts).tolist(),
    "masked-lm": lambda filler, texts: [
        [one.probability for one in filler.fill(f"[MASK] {text}", top_k=10**6)[0]] for text in texts
    ],
    "denoise": lambda denoiser, texts: denoiser.restore([f"[MASK] {text}" for text in texts]),
}
"""What the predictor of each task makes of texts: the numbers of each, its translation, or what it is restored to."""
RUNS = {
    "translate": "translator_run",
    "classify": "classifier",
    "tag": "tagger_run",
    "causal-lm": "causal_run",
    "masked-lm": "masked_run",
    "embed": "embedder_run",
    "denoise": "denoiser_run",
}
"""The fixture of a finished run of each task."""
SENTENCES = [make_sentence(name, verb, city) for name in NAMES for verb in VERBS for city in CITIES]


def write_files(parent: Path) -> Path:
    """Seven sentences for dev, eleven for test, the others for training."""
    folder = parent / "tagged"
    folder.mkdir()
    rest = [one for i, one in enumerate(SENTENCES) if i % 17 and i % 10 != 1]
    for name, part in (("train", rest), ("dev", SENTENCES[::17]), ("test", SENTENCES[1::10])):
        write_tagged_sentences(folder / f"{name}.conll", part)
    return folder


def make_config(folder: Path, *changes: str) -> Config:
    data = {name: [str(folder / f"{name}.conll")] for name in ("train", "dev", "test")}
    return settings.override(settings.build({"task": "tag", "data": data}), [*TINY, *changes])


def train_tagger(tagged: Path) -> Path:
    changes = ("train.steps=60", "train.learning_rate=0.01", "train.validate_every=30", "model.dropout=0")
    folder = tagged / "runs" / "tagger"
    list(train_run(folder, make_config(tagged, *changes), False, lambda: False))
    return folder


@pytest.fixture(scope="session")
def translator_run(config_of: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A translator after a few steps."""
    folder = tmp_path_factory.mktemp("translator") / "run"
    list(train_run(folder, config_of("translate", "train.steps=10", "train.validate_every=5"), False, lambda: False))
    return folder


@pytest.fixture
def finished(request: pytest.FixtureRequest) -> Callable[[str], Run]:
    """The finished run of a task, which is trained when it is asked for."""

    def get_run(task: str) -> Run:
        run = request.getfixturevalue(RUNS[task])
        return run if isinstance(run, Run) else Run(run)

    return get_run
