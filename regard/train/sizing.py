"""Settings chosen from the corpus, the machine and the time there is: what an expert would have started from.

Every choice comes with its reason, and gives way to whatever the user has set.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from regard.config import ModelConfig
from regard.train.cost import Lengths, operations

EFFICIENCY = 0.6  # of the machine's rate of matrix products, that training reaches
OVERHEAD = 0.04  # seconds an update that are not products
CHARACTERS_A_PIECE = 3.5
WANTED_EPOCHS = 10


@dataclass(frozen=True)
class Facts:
    """What is known before anything is chosen."""

    pairs: int
    source_characters: int
    target_characters: int
    rate: float
    """Floating-point operations a second of this machine's matrix products."""
    minutes: float | None
    steps: int | None

    @property
    def lengths(self) -> Lengths:
        per = self.pairs * CHARACTERS_A_PIECE
        return Lengths(self.source_characters / per + 1, self.target_characters / per + 1)


@dataclass(frozen=True)
class Choice:
    """A setting, its value, and why."""

    name: str
    value: Any
    reason: str


@dataclass(frozen=True)
class Rung:
    """A size of model, and the corpus from which on it pays."""

    dim: int
    layers: int
    heads: int
    ffn: int
    pairs: int

    def config(self) -> ModelConfig:
        return ModelConfig(dim=self.dim, layers=self.layers, heads=self.heads, ffn=self.ffn)


LADDER = (
    Rung(128, 3, 4, 512, 0),
    Rung(192, 4, 4, 768, 5_000),
    Rung(256, 4, 4, 1024, 20_000),
    Rung(256, 6, 4, 1024, 100_000),
    Rung(384, 6, 6, 1536, 400_000),
    Rung(512, 6, 8, 2048, 1_000_000),
)
VOCABULARIES = ((5_000, 1000), (15_000, 2000), (60_000, 6000), (200_000, 8000), (1_000_000, 16_000))
LARGEST_VOCABULARY = 32_000


def choose(facts: Facts) -> list[Choice]:
    """Everything that can be chosen from the facts, in the order of the settings."""
    return list(_choose(facts))


def settle(choices: Sequence[Choice], given: frozenset[str]) -> list[Choice]:
    """The choices that stand: those whose setting nobody has given, and that contradict none that was."""
    sized = {"model.dim", "model.layers", "model.heads", "model.ffn", "model.encoder_layers", "model.decoder_layers"}
    own_size = bool(sized & given)  # a size is one choice: half of it ours and half theirs would fit nobody
    return [choice for choice in choices if choice.name not in given and not (own_size and choice.name in sized)]


def _choose(facts: Facts) -> Iterator[Choice]:
    vocabulary = next((size for most, size in VOCABULARIES if facts.pairs < most), LARGEST_VOCABULARY)
    yield Choice("data.vocabulary", vocabulary, f"{facts.pairs:,} pairs")
    rung = _rung(facts, vocabulary)
    epochs = _epochs(facts, rung, vocabulary)
    size = f"{facts.pairs:,} pairs, and about {epochs:.0f} epochs of them in the time"
    for name, value in (("dim", rung.dim), ("layers", rung.layers), ("heads", rung.heads), ("ffn", rung.ffn)):
        yield Choice(f"model.{name}", value, size)
    dropout = 0.1 if epochs < 8 else 0.2 if epochs < 25 else 0.3
    yield Choice("model.dropout", dropout, f"each pair is seen about {epochs:.0f} times")
    steps = max(1, int(epochs * facts.pairs * facts.lengths.target / 1024))
    yield Choice(
        "train.batch_tokens", 1024, "small batches learn faster on a CPU, and products of this size are efficient"
    )
    yield Choice("train.rate", round(2e-3 * (192 / rung.dim) ** 0.5, 5), f"width {rung.dim}")
    yield Choice("train.warmup", min(1000, max(20, steps // 20)), f"a twentieth of about {steps:,} updates")
    every = max(20, steps // 25)
    yield Choice("train.check_every", every, "some 25 looks at dev")
    yield Choice("train.save_every", max(10, every // 2), "two checkpoints between looks")


def _rung(facts: Facts, vocabulary: int) -> Rung:
    """The largest model that the corpus can feed and the time can train for enough epochs."""
    fed = [rung for rung in LADDER if facts.pairs >= rung.pairs]
    trained = [rung for rung in fed if _epochs(facts, rung, vocabulary) >= WANTED_EPOCHS]
    return (trained or fed[:1])[-1]


def _epochs(facts: Facts, rung: Rung, vocabulary: int) -> float:
    """How often the corpus can be seen in the time there is."""
    pieces = facts.pairs * facts.lengths.target
    if facts.steps is not None:
        return facts.steps * 1024 / pieces
    pair = operations(rung.config(), vocabulary, facts.lengths)
    update = 1024 / facts.lengths.target * pair / (EFFICIENCY * facts.rate) + OVERHEAD
    return 60 * (facts.minutes or 0.0) / update * 1024 / pieces
