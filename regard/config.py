"""Settings: typed, frozen, wrong at birth or never. One default in one place, its meaning beneath it."""

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import tomli_w
from pydantic import Field, ValidationError, model_validator

from regard.architecture import ModelConfig as ModelConfig
from regard.architecture import PositionsConfig as PositionsConfig
from regard.architecture import Settings
from regard.errors import ConfigError

DEFAULT_STEPS = 20_000
BYTE_PIECES = 256
SMALLEST_VOCABULARY = BYTE_PIECES + 24  # byte fallback, four special pieces, and room for a few letters


Share = Annotated[float, Field(ge=0, lt=1)]


class DataConfig(Settings):
    train: tuple[str, ...] = ()
    """Training pairs: two aligned text files, or one .tsv file."""
    dev: tuple[str, ...] = ()
    """Pairs to choose the model on; unset: held out of the training pairs."""
    test: tuple[str, ...] = ()
    """Pairs to score the finished model on; unset: held out of the training pairs where data.dev is unset too."""
    source: str = ""
    """Language code of the source side."""
    target: str = ""
    """Language code of the target side."""
    keep: tuple[str, ...] = ()
    """What the doctor finds and would drop, but shall keep: blank, metadata, overlap … (see `regard doctor`)."""
    drop: tuple[str, ...] = ()
    """What the doctor only notes, but shall drop: duplicate, variant, placeholder …"""
    vocabulary: int = Field(default=6000, ge=SMALLEST_VOCABULARY, le=1_000_000)
    """Pieces of the tokeniser; lowered, with a word about it, where the corpus has not so many."""
    tokenizer: Literal["bpe", "unigram"] = "bpe"
    """How SentencePiece builds its pieces."""
    joint: bool = True
    """One tokeniser for both languages."""
    sampling: float = Field(default=0.0, ge=0, lt=1)
    """Train on other pieces of the same text: how often a piece is taken apart into the two it is made of."""
    concatenate: float = Field(default=0.0, ge=0, le=4)
    """Extra pairs in every epoch, each two random ones put end to end, as a share of the corpus."""
    max_length: int = Field(default=256, ge=2)
    """Longest side, in pieces, of a pair that is trained on; longer pairs are left out and counted."""


class TrainConfig(Settings):
    steps: int | None = Field(default=None, ge=1)
    """Updates to train for; unset: as many as train.minutes allows, or 20,000."""
    minutes: float | None = Field(default=None, gt=0)
    """Minutes to train for, checks included; sets the end of the schedule."""
    epochs: float | None = Field(default=None, gt=0)
    """Times to go through the training pairs, in as many updates as that takes at first."""
    tokens: float | None = Field(default=None, ge=1)
    """Target pieces to train on, counted as epochs are; where several ends are given, the first one counts."""
    batch_tokens: int = Field(default=1024, ge=16)
    """Size of a batch: sentences times the longest side, padding included."""
    accumulate: int = Field(default=1, ge=1)
    """Batches whose gradients are summed for one update."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """AdamW, or Muon for the matrices and AdamW for the rest."""
    rate: float = Field(default=2e-3, gt=0)
    """Peak learning rate (of AdamW)."""
    muon_rate: float = Field(default=0.02, gt=0)
    """Peak learning rate of Muon's matrices."""
    betas: tuple[Share, Share] = (0.9, 0.98)
    """AdamW's decay of the first and second moments."""
    epsilon: float = Field(default=1e-9, gt=0)
    """Added to AdamW's denominator."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Decoupled weight decay, on matrices only."""
    warmup: int = Field(default=300, ge=0)
    """Updates over which the rate rises to its peak."""
    schedule: Literal["inverse-sqrt", "cosine", "constant"] = "cosine"
    """How the rate falls after the warm-up."""
    clip: float = Field(default=1.0, ge=0)
    """Longest gradient; longer ones are shortened to it. 0: never."""
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of the target probability spread over the whole vocabulary."""
    rdrop: float = Field(default=0.0, ge=0)
    """R-Drop: every batch runs twice with other dropout, and the two predictions are drawn together so strongly."""
    guide: float = Field(default=0.0, ge=0)
    """How strongly one head of cross-attention is taught which pieces belong together, as counting finds. 0: not."""
    check_every: int = Field(default=400, ge=1)
    """Updates between two looks at the dev set."""
    check_sentences: int = Field(default=200, ge=0)
    """Dev sentences translated (greedily) for BLEU at each check. 0: none."""
    save_every: int = Field(default=200, ge=1)
    """Updates between two checkpoints."""
    metric: Literal["loss", "bleu"] = "loss"
    """What decides on dev which checkpoint is best and when to stop."""
    patience: int = Field(default=8, ge=0)
    """Checks without a better dev score before training stops. 0: never stop early."""
    average: int = Field(default=5, ge=1)
    """Checkpoints averaged at the end (the last ones). 1: no averaging."""
    ema: float = Field(default=0.0, ge=0, lt=1)
    """Decay of an exponential moving average of the weights, which is then what is checked and saved. 0: off."""
    look_every: int = Field(default=0, ge=0)
    """Updates between two looks at what every head does, kept in heads.jsonl; costs a second or so each. 0: never."""
    origin: str = ""
    """Run folder whose tokeniser, sizes and weights this run begins with; `--from` sets it."""
    path: Literal["auto", "plain", "packed"] = "auto"
    """How training computes the model: as its layers say, or packed, the same but faster on a CPU; auto: by device."""
    precision: Literal["auto", "float32", "float64", "bfloat16"] = "auto"
    """Numbers of training; bfloat16: products alone, weights stay float32; auto: that on a GPU that has it."""
    shard: bool = False
    """Spread weights, gradients and moments over the processes of torchrun: for models larger than one device."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps …"""
    threads: int = Field(default=0, ge=0)
    """CPU threads. 0: one for each core."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Same seed, same machine, same result."""

    @model_validator(mode="after")
    def bleu_needs_sentences(self) -> Self:
        if self.metric == "bleu" and not self.check_sentences:
            raise ValueError("train.metric=bleu needs train.check_sentences above 0")
        return self

    @property
    def last_step(self) -> int | None:
        """Where training by steps ends; None where the clock or the corpus decides."""
        return self.steps or (None if self.minutes or self.epochs or self.tokens else DEFAULT_STEPS)


class Config(Settings):
    """All settings of a run."""

    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()

    @model_validator(mode="after")
    def places_for_every_piece(self) -> Self:
        sides = (
            self.model.encoder.positions or self.model.positions,
            self.model.decoder.positions or self.model.positions,
        )
        for side in sides:
            offset = side.offset if side.kind != "bias" else 0
            if side.places is not None and side.places < self.data.max_length + offset:
                beyond = f" + model.positions.offset={offset}" if offset else ""
                raise ValueError(
                    f"model.positions.length={side.length} is less than "
                    f"data.max_length={self.data.max_length}{beyond}: "
                    f"a learned table needs a place for every piece; raise the one or lower the other"
                )
        return self


class Setting(NamedTuple):
    """One line of `regard settings`."""

    name: str
    default: Any
    meaning: str
    choices: str


def load(path: Path) -> Config:
    """The settings of a TOML file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}. See `regard settings` for an example.") from None
    return build(table, where=f"{path}: ")


def dump(config: Config, only_given: bool = False) -> str:
    """The settings as TOML, defaults and all or only what was given; what is None is left out, as TOML has no null."""
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True, exclude_unset=only_given))


def build(table: Mapping[str, Any], where: str = "") -> Config:
    """A checked Config out of nested plain values."""
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        raise ConfigError(where + "; ".join(map(sentence, error.errors()))) from None


def override(config: Config, assignments: Sequence[str]) -> Config:
    """The config with `name.of.setting=value` assignments applied, each value read as TOML or else as text."""
    table = config.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set {assignment}: expected name=value, as in --set model.dropout=0.2")
        place(table, name.strip(), _value(text.strip()))
    return build(table)


def given(config: Config) -> frozenset[str]:
    """The names of the settings that somebody has set, and not left at their defaults."""
    return frozenset(_given(config, ""))


def _given(group: Settings, prefix: str) -> Iterator[str]:
    for name in group.model_fields_set:
        value = getattr(group, name)
        if isinstance(value, Settings):
            yield from _given(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, by dotted names."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return flat


def place(table: dict[str, Any], name: str, value: Any) -> None:
    """Put a value into nested tables under its dotted name."""
    *groups, last = name.split(".")
    for group in groups:
        inner = table.setdefault(group, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{name}: {group} is a setting, not a group of settings")
        table = inner
    table[last] = value


def describe() -> Iterator[Setting]:
    """Every setting with its default and its meaning, in the order of the file."""
    yield from _describe(Config, Config(), "")


def _describe(group: type[Settings], values: Settings | None, prefix: str) -> Iterator[Setting]:
    for name, field in group.model_fields.items():
        value = getattr(values, name)
        inner = _group_of(field.annotation)
        if inner is not None and value is not None:
            yield from _describe(inner, value, f"{prefix}{name}.")
        else:
            yield Setting(prefix + name, value, field.description or "", _choices(field.annotation))


def _choices(annotation: Any) -> str:
    values = getattr(annotation, "__args__", ())
    return ", ".join(values) if values and all(isinstance(v, str) for v in values) else ""


def _group_of(annotation: Any) -> type[Settings] | None:
    """The settings class behind an annotation, optional or not."""
    for candidate in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(candidate, type) and issubclass(candidate, Settings):
            return candidate
    return None


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # bare words need no quotes: --set model.norm=post


def sentence(error: Any) -> str:
    """One pydantic complaint in the words of this program."""
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"unknown setting '{name}'{_suggestion(name)}"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    message = error["msg"][0].lower() + error["msg"][1:]
    return f"{name}={error['input']!r}: {message}"


def _suggestion(name: str) -> str:
    known = [setting.name for setting in describe()]
    group, _, word = name.rpartition(".")
    siblings = [k for k in known if k.rpartition(".")[0] == group]
    for candidates in (siblings, known):  # a slip in the word, or the right word in the wrong group
        words = {k.rpartition(".")[2]: k for k in reversed(candidates)}
        if close := difflib.get_close_matches(word, words, n=1, cutoff=0.6):
            return f"; did you mean '{words[close[0]]}'?"
    return f"; {group or 'the settings'} has: {', '.join(siblings or ('data', 'model', 'train'))}"
