"""Settings chosen from the corpus, the machine and the time there is: what an expert would have started from.

Every choice comes with its reason, and gives way to whatever the user has set.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from regard.config import Config, ModelConfig, given
from regard.training.planning.cost import Lengths, parameters, training_bytes
from regard.training.planning.estimate import Estimate, estimate

CHARACTERS_A_PIECE = 3.5
BATCH, SMALLEST_BATCH = 1024, 128
GUIDE, ENOUGH_TO_COUNT = 0.3, 1000  # pairs below which counting finds too little


@dataclass(frozen=True)
class Facts:
    """What is known before anything is chosen."""

    pairs: int
    source_characters: int
    target_characters: int
    rate: float
    """Floating-point operations a second of this machine's matrix products."""
    memory: int = 0
    """Bytes that are free; 0 where nobody knows."""
    ranks: int = 1
    """Processes that train together."""

    @property
    def pieces(self) -> int:
        """Of all targets, about."""
        return round(self.target_characters / CHARACTERS_A_PIECE)

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
    """A size of model, how much text can feed it, and the updates that it needs to get anywhere."""

    dim: int
    layers: int
    heads: int
    ffn: int
    pieces: int
    """Of targets, about: a caption feeds a model less than a sentence of a talk."""
    updates: int

    def config(self) -> ModelConfig:
        return ModelConfig(dim=self.dim, layers=self.layers, heads=self.heads, ffn=self.ffn)


LADDER = (
    Rung(128, 3, 4, 256, 0, 0),
    Rung(128, 4, 4, 256, 100_000, 2_000),
    Rung(192, 4, 4, 768, 700_000, 7_000),
    Rung(256, 4, 4, 1024, 1_500_000, 25_000),
    Rung(256, 6, 4, 1024, 3_000_000, 40_000),
    Rung(384, 6, 6, 1536, 12_000_000, 80_000),
    Rung(512, 6, 8, 2048, 30_000_000, 150_000),
)
VOCABULARIES = ((5_000, 1000), (15_000, 2000), (60_000, 6000), (200_000, 8000), (1_000_000, 16_000))
LARGEST_VOCABULARY = 32_000


SIZES = frozenset(f"model.{name}" for name in ("dim", "layers", "heads", "ffn", "encoder_layers", "decoder_layers"))


def choose(facts: Facts, config: Config | None = None) -> list[Choice]:
    """What the facts suggest for every setting that nobody has given, in the order of the settings."""
    config = config or Config()
    names = given(config)
    own_size = bool(SIZES & names)  # a size is one choice: half of it ours and half theirs would fit nobody
    choices = _choose(facts, config, names, own_size)
    return [c for c in choices if c.name not in names and not (own_size and c.name in SIZES)]


def _choose(facts: Facts, config: Config, names: frozenset[str], own_size: bool) -> Iterator[Choice]:
    vocabulary = next((size for most, size in VOCABULARIES if facts.pairs < most), LARGEST_VOCABULARY)
    yield Choice("data.vocabulary", vocabulary, f"{facts.pairs:,} pairs")
    vocabulary = config.data.vocabulary if "data.vocabulary" in names else vocabulary
    rung = _rung(facts, config, vocabulary)
    model = config.model if own_size else rung.config()
    batch = _batch(facts, model, vocabulary)
    train = config.train if "train.batch_tokens" in names else config.train.model_copy(update={"batch_tokens": batch})
    plan = _plan(facts, Config(data=config.data, model=model, train=train), vocabulary)
    steps = int(plan.updates)
    size = f"about {facts.pieces:,} target pieces, and {steps:,} steps"
    for name, value in (("dim", rung.dim), ("layers", rung.layers), ("heads", rung.heads), ("ffn", rung.ffn)):
        yield Choice(f"model.{name}", value, size)
    dropout = 0.1 if plan.epochs < 15 else 0.2 if plan.epochs < 40 else 0.3
    yield Choice("model.dropout", dropout, f"each pair is seen about {plan.epochs:.1f} times")
    why = "small batches learn faster on a CPU, and are large enough for its products"
    yield Choice("train.batch_tokens", batch, why if batch == BATCH else "what fits into the free memory")
    yield Choice("train.rate", round(usual_rate(model.dim), 5), f"width {model.dim}")
    warmup = min(1000, max(steps // 20, min(200, steps // 5)))
    yield Choice("train.warmup", warmup, f"about {steps:,} steps")
    if facts.pairs >= ENOUGH_TO_COUNT and not config.train.origin:
        yield Choice("train.guide", GUIDE, "one head is shown what belongs together, and the others learn sooner")
    every = min(2000, max(100, steps // 25))
    yield Choice("train.check_every", every, "some 25 looks at dev")
    yield Choice("train.save_every", every // 2, "two checkpoints between looks")


def usual_rate(width: int) -> float:
    """The highest rate of a schedule: what the width can stand."""
    return 4e-3 * (128 / width) ** 0.5


def _rung(facts: Facts, config: Config, vocabulary: int) -> Rung:
    """The largest model that the corpus can feed and the time can train."""
    fed = [rung for rung in LADDER if facts.pieces >= rung.pieces]
    sized = {rung: Config(data=config.data, model=rung.config(), train=config.train) for rung in fed}
    return [rung for rung in fed if _plan(facts, sized[rung], vocabulary).updates >= rung.updates][-1]


def _batch(facts: Facts, model: ModelConfig, vocabulary: int) -> int:
    """The usual batch, or what half of the free memory holds."""
    batch, parts = BATCH, parameters(model, vocabulary, vocabulary, joint=True)
    while facts.memory and batch > SMALLEST_BATCH:
        if training_bytes(model, parts, vocabulary, batch) <= facts.memory / 2:
            break
        batch //= 2
    return batch


def _plan(facts: Facts, config: Config, vocabulary: int) -> Estimate:
    """What the time there is would give a model of this size."""
    return estimate(config, facts.pairs, facts.lengths, vocabulary, facts.rate, facts.ranks)
