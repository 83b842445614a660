"""A linear-chain conditional random field on the shapes of words: what taggers were before neural networks."""

import functools
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.baselines.scoring import tag_f1
from regard.baselines.selection import choose_in_turn, spaced
from regard.errors import ConfigError, DataError
from regard.formats.labeled import TaggedSentence

MAX_STEPS = 100
MIN_FREQUENCIES = (1, 3)
"""How often a feature occurs at least, of which the best on dev is chosen; without dev, the first."""
PENALTIES = ((0.1, 0.1), (0.0, 1.0))
"""On absolute values and on squares, chosen in the same way, after the minimum frequency."""
WINDOW = range(-2, 3)
"""The words whose features a tag depends on."""
MAX_CELLS = 2_000_000
"""Training words times tags; more sentences are taken at even distances."""
_REPEATED = re.compile(r"(.)\1+", re.DOTALL)


@dataclass(frozen=True)
class ConditionalRandomField:
    """CRFsuite's field: 13 features of each word and of two on either side, and the pairs of neighboring tags.

    Lafferty, McCallum and Pereira 2001. Fitted by L-BFGS with penalties on absolute values and on squares.
    benchmarks/opponents.py has what this was chosen from, on dev.
    """

    model: bytes
    """As CRFsuite writes it."""
    num_examples: int
    num_sentences: int
    """Of all training sentences."""
    min_frequency: int
    """How often a feature occurs at least in the training sentences."""
    penalties: tuple[float, float]
    """On absolute values and on squares."""

    @property
    def name(self) -> str:
        part = f", {self.num_examples:,} of {self.num_sentences:,} sentences"
        is_part = self.num_examples < self.num_sentences
        l1, l2 = self.penalties
        choice = f"minimum frequency {self.min_frequency}, penalties {l1:g} and {l2:g}"
        return f"conditional random field ({choice}{part if is_part else ''})"

    @classmethod
    def fit(cls, sentences: Sequence[TaggedSentence], dev: Sequence[TaggedSentence] = ()) -> "ConditionalRandomField":
        """Train on at most 2 million words times tags, evenly spaced; the settings are the best on dev.

        The order of sentences changes nothing.
        """
        occupied = [sentence for sentence in sentences if sentence.words]
        if not occupied:
            raise DataError("no tagged words to learn from; expected at least one sentence")
        selected = sorted(_limit_size(occupied), key=lambda one: (one.words, one.tags))

        def fit_one(min_frequency: int, penalties: tuple[float, float]) -> "ConditionalRandomField":
            l1, l2 = penalties
            model = train_field(selected, {"feature.minfreq": min_frequency, "c1": l1, "c2": l2})
            return cls(model, len(selected), len(occupied), min_frequency, penalties)

        gold = [sentence.tags for sentence in dev]
        score = (lambda one: tag_f1(gold, one.predict(dev))) if dev else None
        return choose_in_turn(fit_one, {"min_frequency": MIN_FREQUENCIES, "penalties": PENALTIES}, score)

    def predict(self, sentences: Sequence[TaggedSentence]) -> list[tuple[str, ...]]:
        tagger = import_crfsuite().Tagger()
        tagger.open_inmemory(self.model)  # reads the bytes where they are: they must outlive the tagger
        return [tuple(tagger.tag(sentence_features(sentence.words))) for sentence in sentences]


def train_field(sentences: Sequence[TaggedSentence], options: Mapping[str, float]) -> bytes:
    """The field of these sentences as CRFsuite writes it; `options` are some of its own."""
    trainer = import_crfsuite().Trainer(verbose=False)
    l1, l2 = PENALTIES[0]
    trainer.set_params({"c1": l1, "c2": l2, "max_iterations": MAX_STEPS, **options})
    for sentence in sentences:
        trainer.append(sentence_features(sentence.words), sentence.tags)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.crfsuite"
        trainer.train(str(path))
        return path.read_bytes()


def import_crfsuite() -> Any:
    """The bindings of CRFsuite, which are an optional extra."""
    try:
        import pycrfsuite
    except ImportError:
        raise ConfigError(
            "python-crfsuite is not installed; in Regard's source folder: pip install '.[baselines]'"
        ) from None
    return pycrfsuite


def sentence_features(words: Sequence[str]) -> list[list[str]]:
    """The features of every word: its own and those of the words beside it, each with its distance."""
    own = [word_features(word) for word in words]
    edge = ("edge",)
    return [
        [
            f"{distance}:{feature}"
            for distance in WINDOW
            for feature in (own[position + distance] if 0 <= position + distance < len(words) else edge)
        ]
        for position in range(len(words))
    ]


@functools.lru_cache(maxsize=100_000)
def word_features(word: str) -> tuple[str, ...]:
    """The word, its beginning and end, and how it is written: 13 features."""
    lower, shape = word.lower(), word_shape(word)
    return (
        f"word={word}",
        f"lower={lower}",
        f"prefix2={lower[:2]}",
        f"prefix3={lower[:3]}",
        f"suffix2={lower[-2:]}",
        f"suffix3={lower[-3:]}",
        f"shape={shape}",
        "short_shape=" + _REPEATED.sub(r"\1", shape),
        f"title={word.istitle()}",
        f"upper={word.isupper()}",
        f"digit={any(map(str.isdigit, word))}",
        f"alphanumeric={word.isalnum()}",
        f"length={min(len(word), 8)}",
    )


def word_shape(word: str) -> str:
    """Capital letters as X, small ones as x, digits as d, other characters as they are."""
    return "".join("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)


def _limit_size(sentences: Sequence[TaggedSentence]) -> list[TaggedSentence]:
    num_words = sum(len(sentence.words) for sentence in sentences)
    num_tags = len({tag for sentence in sentences for tag in sentence.tags})
    return spaced(sentences, max(1, min(len(sentences), len(sentences) * MAX_CELLS // (num_words * num_tags))))
