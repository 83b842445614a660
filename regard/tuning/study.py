"""A study file: what all trials share, what varies, how it is searched, and what each trial may cost."""

import fnmatch
import functools
import itertools
import random
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import tomli_w
from pydantic import Field, ValidationError, field_validator, model_validator

from regard import config as settings
from regard.config import Config, Settings
from regard.errors import ConfigError
from regard.tuning.space import (
    NOTHING_FITS,
    Choice,
    Choices,
    Condition,
    Plain,
    Point,
    Range,
    Space,
    allows,
    configured,
    read_choice,
)

DEFAULT_TRIALS = 16
HIGHER_IS_BETTER = {"loss": False, "bleu": True, "chrf": True, "accuracy": True}
PIECES = ("data.vocabulary", "data.joint", "data.tokenizer")
"""What decides how texts are cut."""
METRIC_NAMES = {"loss": "loss", "bleu": "BLEU", "chrf": "chrF2", "accuracy": "accuracy"}


class Each(Settings):
    """What one trial may cost; the first limit that is reached counts."""

    minutes: float | None = Field(default=None, gt=0)
    """Minutes of training."""
    steps: int | None = Field(default=None, ge=1)
    """Updates."""
    tokens: float | None = Field(default=None, ge=1)
    """Target pieces."""
    epochs: float | None = Field(default=None, gt=0)
    """Times through the corpus."""

    def given(self) -> dict[str, float]:
        return self.model_dump(exclude_none=True)


class Study(Settings):
    """All that a study is."""

    name: str = Field(default="study", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """What the study is called in its storage; its folder is studies/<name> unless --out says otherwise."""
    sampler: Literal["sets", "grid", "random", "tpe"] = "sets"
    """Named sets, every combination, random ones, or such as promise most after those that were tried."""
    pruner: Literal["none", "halving", "median"] = "none"
    """Whether weak trials are stopped early: never, in tournaments, or where they are worse than the median."""
    metric: Literal["loss", "bleu", "chrf", "accuracy"] = "loss"
    """What is optimised, on dev."""
    trials: int | None = Field(default=None, ge=1)
    """Combinations to try (random, tpe: 16 if unset; grid: all if unset)."""
    seeds: int = Field(default=1, ge=1)
    """How often each combination is trained, with train.seed counted up; its score is the mean."""
    seed: int = Field(default=1, ge=0)
    """Of the sampler."""
    dev_sentences: int = Field(default=1000, ge=1)
    """Dev sentences that a finished trial is scored on by beam search."""
    storage: str = ""
    """Where the state of the study is kept: an Optuna URL; unset: study.db in the study's folder."""
    only: tuple[str, ...] = ()
    """Of the sets, those whose names match one of these patterns; unset: all."""
    each: Each = Each()
    base: Config = Config()
    """Settings that all trials share, as in a config file."""
    sets: dict[str, dict[str, Plain]] = {}
    """Named combinations, each a table of settings."""
    space: dict[str, Any] = {}
    """What varies: choices, ranges and log ranges by the names of settings."""
    conditions: tuple[str, ...] = ()
    """What must hold between settings, as in "model.dim % model.heads == 0"."""

    @field_validator("sets", mode="before")
    @classmethod
    def flat_sets(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {name: settings.flatten(one) if isinstance(one, Mapping) else one for name, one in value.items()}

    @field_validator("space", mode="before")
    @classmethod
    def flat_space(cls, value: Any) -> Any:
        return _flat_space(value) if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def something_to_try(self) -> Self:
        if self.sampler == "sets" and not self.sets:
            raise ValueError('an empty study: sampler = "sets" needs at least one table [sets."a name"] of settings')
        if self.sampler != "sets" and not self.space:
            raise ValueError(f'an empty study: sampler = "{self.sampler}" needs a table [space] of settings that vary')
        if self.sampler == "sets" and not self.chosen_sets():
            raise ValueError(f"no set matches only = {list(self.only)}; there are: {', '.join(self.sets)}")
        if self.sampler != "sets" and self.only:
            raise ValueError(f"only = {list(self.only)} is for sets; a study by {self.sampler} has none")
        return self

    @property
    def up(self) -> bool:
        """Whether a higher score is a better one."""
        return HIGHER_IS_BETTER[self.metric]

    def chosen_sets(self) -> dict[str, Point]:
        patterns = self.only or ("*",)
        return {name: one for name, one in self.sets.items() if any(fnmatch.fnmatch(name, p) for p in patterns)}

    def choices(self) -> dict[str, Choice]:
        """What varies; for sets, the values that occur in any of them, since Optuna wants to know all beforehand."""
        if self.sampler != "sets":
            return {name: read_choice(name, value) for name, value in self.space.items()}
        sets = self.sets.values()
        names = dict.fromkeys(name for one in sets for name in one)
        found = {n: tuple(dict.fromkeys(one[n] for one in sets if n in one)) for n in names}
        return {name: Choices(values) for name, values in found.items()}

    def fixed_points(self) -> dict[str, Point] | None:
        """The combinations by name, where they are known beforehand (sets, grid); None where they are drawn."""
        return self._points

    @functools.cached_property
    def _points(self) -> dict[str, Point] | None:
        if self.sampler == "sets":
            return self.chosen_sets()
        if self.sampler != "grid":
            return None
        space, allowed = Space(self.choices(), self.conditions), allows(self.start(), self.conditions)
        points = list(space.points())
        valid = [point for point in points if allowed(point)]
        if not valid:
            raise ConfigError(NOTHING_FITS.format(tries=f"all {len(points):,}"))
        if self.trials and self.trials < len(valid):
            valid = random.Random(self.seed).sample(valid, self.trials)
        return {f"{number}": point for number, point in enumerate(valid, start=1)}

    def count(self) -> int:
        """How many trials there are to be: no more than there are combinations, since each is tried once."""
        points = self.fixed_points()
        return len(points) if points is not None else self._drawable

    @functools.cached_property
    def _drawable(self) -> int:
        wanted, every = self.trials or DEFAULT_TRIALS, Space(self.choices(), self.conditions).every()
        if every is None:
            return wanted
        valid = filter(allows(self.start(), self.conditions), every)
        return sum(1 for _ in itertools.islice(valid, wanted))

    def start(self) -> Config:
        """The base settings with the budget of a trial, and the metric that chooses its checkpoint."""
        table = self.base.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        for name, value in self.each.given().items():
            settings.set_nested(table, f"train.{name}", value)
        if "train.metric" not in settings.explicit_settings(self.base) and self.metric in ("bleu", "chrf"):
            settings.set_nested(table, "train.metric", "bleu")
        return settings.build(table)

    def config(self, point: Mapping[str, Plain], seed: int = 0) -> Config:
        """The settings of one run: a combination, and the seed after so many others."""
        config = configured(self.start(), point)
        return settings.override(config, [f"train.seed={config.train.seed + seed}"]) if seed else config


def _flat_space(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables by dotted names; a table with low and high is a range, not a group."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        group = isinstance(value, Mapping) and not {"low", "high"} & set(value)
        flat |= _flat_space(value, f"{prefix}{name}.") if group else {prefix + name: value}
    return flat


def load(path: Path) -> Study:
    """The study of a TOML file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}. See docs/tuning.md for an example.") from None
    return build({"name": path.stem} | table, f"{path}: ")


def loads(text: str, where: str) -> Study:
    return build(tomllib.loads(text), where)


def dump(study: Study) -> str:
    """The study as TOML; of the base settings only what was given, since the rest is chosen for each trial."""
    table = study.model_dump(mode="json", exclude_none=True, exclude={"base"})
    base = study.base.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return tomli_w.dumps({**{k: v for k, v in table.items() if v not in ((), [], {}, "")}, "base": base})


def build(table: Mapping[str, Any], where: str = "") -> Study:
    """A study out of plain values, wrong at birth or never."""
    try:
        study = Study.model_validate(table)
    except ValidationError as error:
        raise ConfigError(where + "; ".join(dict.fromkeys(map(_sentence, error.errors())))) from None
    check(study, where)
    return study


def change(study: Study, assignments: Sequence[str] = (), **fields: Any) -> Study:
    """The study with settings of its base and fields of its own replaced."""
    base = settings.override(study.base, assignments)
    table = study.model_dump(mode="json", exclude_none=True, exclude={"base"})
    table |= {name: value for name, value in fields.items() if value is not None}
    table["base"] = base.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return build(table)


def check(study: Study, where: str = "") -> None:
    """Try every value that can be tried before anything is trained."""
    try:
        for condition in study.conditions:
            Condition.read(condition)
        for name, choice in study.choices().items():
            ends = choice.values if isinstance(choice, Choices) else (choice.low, choice.high)
            for value in ends:
                _try(study, name, value)
        _require_comparable(study)
        if study.sampler == "sets":
            for name, point in study.chosen_sets().items():
                _try_set(study, name, point)
        elif study.sampler == "grid":
            study.fixed_points()
        else:
            space = Space(study.choices(), study.conditions)
            space.draw(random.Random(study.seed), allows(study.start(), study.conditions))
    except ConfigError as error:
        raise ConfigError(f"{where}{error}") from None


def _try(study: Study, name: str, value: Plain) -> None:
    """A setting that does not exist, or a value that no setting of its name can have, whatever the others are."""
    table: dict[str, Any] = {}
    settings.set_nested(table, name, value)
    if name.startswith(("model.heads", "model.dim")):  # which only fit or do not fit together
        table["model"] = {"dim": value, "heads": 1} if name == "model.dim" else {"dim": value, "heads": value}
    settings.build(table, f"space: {name}={value}: " if study.sampler != "sets" else "sets: ")
    if name in ("data.train", "data.dev", "data.test", "train.seed", "train.origin"):
        raise ConfigError(
            f"space: {name} cannot vary: all trials are judged on the same data, seeds are counted by seeds"
        )


def _require_comparable(study: Study) -> None:
    """Loss and accuracy are those of a piece, and the pieces of a smaller vocabulary are easier to guess."""
    varying = [name for name in PIECES if _varies(study, name)]
    if varying and study.metric in ("loss", "accuracy"):
        raise ConfigError(
            f"metric = {study.metric!r}, but {' and '.join(varying)} varies: pieces differ, so their {study.metric} "
            f"cannot be compared; use bleu or chrf"
        )


def _varies(study: Study, name: str) -> bool:
    """Whether two trials may differ in a setting; a set that does not give it has the value of the base."""
    if study.sampler != "sets":
        choice = study.choices().get(name)
        return choice is not None and (not isinstance(choice, Choices) or len(choice.values) > 1)
    shared = settings.flatten(study.base.model_dump(mode="json", exclude_unset=True)).get(name)
    return len({point.get(name, shared) for point in study.chosen_sets().values()}) > 1


def _try_set(study: Study, name: str, point: Point) -> None:
    try:
        configured(study.start(), point)
    except ConfigError as error:
        raise ConfigError(f"set {name!r}: {error}") from None
    if not allows(study.start(), study.conditions)(point):
        raise ConfigError(f"set {name!r}: does not satisfy {' and '.join(study.conditions)}")


def distribution(choice: Choice) -> Any:
    """The same as Optuna says it."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(choice, Choices):
        return CategoricalDistribution(choice.values)
    if choice.whole:
        low, high = int(choice.low), int(choice.high)
        return IntDistribution(low, high, log=choice.log, step=int(choice.step or 1))
    return FloatDistribution(float(choice.low), float(choice.high), log=choice.log, step=choice.step)


def told(point: Mapping[str, Plain]) -> str:
    """A combination in a few words: the last parts of its names."""
    return " ".join(f"{short(name)}={written(value)}" for name, value in point.items())


def short(name: str) -> str:
    """`model.layers` as `layers`; `model.positions.kind` as `positions.kind`."""
    return name.split(".", 1)[1] if "." in name else name


def written(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def is_range(choice: Choice) -> bool:
    return isinstance(choice, Range)


def _sentence(error: Any) -> str:
    """A complaint in the words of this program; those about base settings as `regard train` says them."""
    place = [str(part) for part in error["loc"]]
    if place[:1] == ["base"] and len(place) > 1:
        return settings.format_error(error | {"loc": place[1:]})
    if error["type"] == "extra_forbidden":
        return f"unknown entry '{'.'.join(place)}'; a study has: {', '.join(Study.model_fields)}"
    if error["type"] == "literal_error" and place == ["metric"]:
        return f"metric={error['input']!r}: no such metric; there are: {', '.join(HIGHER_IS_BETTER)}"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return f"{'.'.join(place)}={error['input']!r}: {error['msg'][0].lower()}{error['msg'][1:]}"
