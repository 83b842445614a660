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
    NO_VALID_PARAMS,
    Categorical,
    Condition,
    Distribution,
    Params,
    ParamValue,
    Range,
    SearchSpace,
    apply_params,
    make_constraint,
    parse_distribution,
)

DEFAULT_TRIALS = 16
HIGHER_IS_BETTER = {"loss": False, "bleu": True, "chrf": True, "accuracy": True}
TOKENIZATION_SETTINGS = ("data.vocab_size", "data.joint_vocab", "data.tokenizer")
"""What decides how texts are cut."""
METRIC_NAMES = {"loss": "loss", "bleu": "BLEU", "chrf": "chrF2", "accuracy": "accuracy"}


class TrialBudget(Settings):
    """What one trial may cost; the first limit that is reached counts."""

    minutes: float | None = Field(default=None, gt=0)
    """Minutes of training."""
    steps: int | None = Field(default=None, ge=1)
    """Updates."""
    tokens: float | None = Field(default=None, ge=1)
    """Target pieces."""
    epochs: float | None = Field(default=None, gt=0)
    """Times through the corpus."""

    def limits(self) -> dict[str, float]:
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
    each: TrialBudget = TrialBudget()
    base: Config = Config()
    """Settings that all trials share, as in a config file."""
    sets: dict[str, dict[str, ParamValue]] = {}
    """Named combinations, each a table of settings."""
    space: dict[str, Any] = {}
    """What varies: choices, ranges and log ranges by the names of settings."""
    conditions: tuple[str, ...] = ()
    """What must hold between settings, as in "model.dim % model.heads == 0"."""

    @field_validator("sets", mode="before")
    @classmethod
    def flatten_sets(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {name: settings.flatten(one) if isinstance(one, Mapping) else one for name, one in value.items()}

    @field_validator("space", mode="before")
    @classmethod
    def flatten_space(cls, value: Any) -> Any:
        return _flatten_space(value) if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def require_trials(self) -> Self:
        if self.sampler == "sets" and not self.sets:
            raise ValueError('an empty study: sampler = "sets" needs at least one table [sets."a name"] of settings')
        if self.sampler != "sets" and not self.space:
            raise ValueError(f'an empty study: sampler = "{self.sampler}" needs a table [space] of settings that vary')
        if self.sampler == "sets" and not self.select_sets():
            raise ValueError(f"no set matches only = {list(self.only)}; there are: {', '.join(self.sets)}")
        if self.sampler != "sets" and self.only:
            raise ValueError(f"only = {list(self.only)} is for sets; a study by {self.sampler} has none")
        return self

    @property
    def maximize(self) -> bool:
        """Whether a higher score is a better one."""
        return HIGHER_IS_BETTER[self.metric]

    def select_sets(self) -> dict[str, Params]:
        patterns = self.only or ("*",)
        return {name: one for name, one in self.sets.items() if any(fnmatch.fnmatch(name, p) for p in patterns)}

    def search_space(self) -> dict[str, Distribution]:
        """What varies; for sets, the values that occur in any of them, since Optuna wants to know all beforehand."""
        if self.sampler != "sets":
            return {name: parse_distribution(name, value) for name, value in self.space.items()}
        sets = self.sets.values()
        names = dict.fromkeys(name for one in sets for name in one)
        values_by_name = {n: tuple(dict.fromkeys(one[n] for one in sets if n in one)) for n in names}
        return {name: Categorical(values) for name, values in values_by_name.items()}

    def predefined_params(self) -> dict[str, Params] | None:
        """The combinations by name, where they are known beforehand (sets, grid); None where they are drawn."""
        return self._predefined_params

    @functools.cached_property
    def _predefined_params(self) -> dict[str, Params] | None:
        if self.sampler == "sets":
            return self.select_sets()
        if self.sampler != "grid":
            return None
        search_space, is_valid = (
            SearchSpace(self.search_space(), self.conditions),
            make_constraint(self.trial_base_config(), self.conditions),
        )
        grid_params = list(search_space.grid())
        valid_params = [point for point in grid_params if is_valid(point)]
        if not valid_params:
            raise ConfigError(NO_VALID_PARAMS.format(tries=f"all {len(grid_params):,}"))
        if self.trials and self.trials < len(valid_params):
            valid_params = random.Random(self.seed).sample(valid_params, self.trials)
        return {f"{number}": point for number, point in enumerate(valid_params, start=1)}

    def num_trials(self) -> int:
        """How many trials there are to be: no more than there are combinations, since each is tried once."""
        predefined_params = self.predefined_params()
        return len(predefined_params) if predefined_params is not None else self._num_sampled_trials

    @functools.cached_property
    def _num_sampled_trials(self) -> int:
        requested_trials, all_params = (
            self.trials or DEFAULT_TRIALS,
            SearchSpace(self.search_space(), self.conditions).all_params(),
        )
        if all_params is None:
            return requested_trials
        valid_params = filter(make_constraint(self.trial_base_config(), self.conditions), all_params)
        return sum(1 for _ in itertools.islice(valid_params, requested_trials))

    def trial_base_config(self) -> Config:
        """The base settings with the budget of a trial, and the metric that chooses its checkpoint."""
        table = self.base.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        for name, value in self.each.limits().items():
            settings.set_nested(table, f"train.{name}", value)
        if "train.metric" not in settings.explicit_settings(self.base) and self.metric in ("bleu", "chrf"):
            settings.set_nested(table, "train.metric", "bleu")
        return settings.build(table)

    def build_config(self, params: Mapping[str, ParamValue], seed_index: int = 0) -> Config:
        """The settings of one run: a combination, and the seed after so many others."""
        config = apply_params(self.trial_base_config(), params)
        return settings.override(config, [f"train.seed={config.train.seed + seed_index}"]) if seed_index else config


def _flatten_space(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables by dotted names; a table with low and high is a range, not a group."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        is_group = isinstance(value, Mapping) and not {"low", "high"} & set(value)
        flat |= _flatten_space(value, f"{prefix}{name}.") if is_group else {prefix + name: value}
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


def loads(text: str, error_prefix: str) -> Study:
    return build(tomllib.loads(text), error_prefix)


def dump(study: Study) -> str:
    """The study as TOML; of the base settings only what was given, since the rest is chosen for each trial."""
    table = study.model_dump(mode="json", exclude_none=True, exclude={"base"})
    base = study.base.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return tomli_w.dumps({**{k: v for k, v in table.items() if v not in ((), [], {}, "")}, "base": base})


def build(table: Mapping[str, Any], error_prefix: str = "") -> Study:
    """A study out of plain values, wrong at birth or never."""
    try:
        study = Study.model_validate(table)
    except ValidationError as error:
        raise ConfigError(error_prefix + "; ".join(dict.fromkeys(map(_format_error, error.errors())))) from None
    validate(study, error_prefix)
    return study


def override(study: Study, assignments: Sequence[str] = (), **fields: Any) -> Study:
    """The study with settings of its base and fields of its own replaced."""
    base = settings.override(study.base, assignments)
    table = study.model_dump(mode="json", exclude_none=True, exclude={"base"})
    table |= {name: value for name, value in fields.items() if value is not None}
    table["base"] = base.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return build(table)


def validate(study: Study, error_prefix: str = "") -> None:
    """Try every value that can be tried before anything is trained."""
    try:
        for condition in study.conditions:
            Condition.parse(condition)
        for name, distribution in study.search_space().items():
            tested_values = (
                distribution.values if isinstance(distribution, Categorical) else (distribution.low, distribution.high)
            )
            for value in tested_values:
                _validate_value(study, name, value)
        _require_comparable(study)
        if study.sampler == "sets":
            for name, params in study.select_sets().items():
                _validate_set(study, name, params)
        elif study.sampler == "grid":
            study.predefined_params()
        else:
            search_space = SearchSpace(study.search_space(), study.conditions)
            search_space.sample(random.Random(study.seed), make_constraint(study.trial_base_config(), study.conditions))
    except ConfigError as error:
        raise ConfigError(f"{error_prefix}{error}") from None


def _validate_value(study: Study, name: str, value: ParamValue) -> None:
    """A setting that does not exist, or a value that no setting of its name can have, whatever the others are."""
    table: dict[str, Any] = {}
    settings.set_nested(table, name, value)
    if name.startswith(("model.heads", "model.dim")):  # which only fit or do not fit together
        table["model"] = {"dim": value, "heads": 1} if name == "model.dim" else {"dim": value, "heads": value}
    settings.build(table, f"space: {name}={value}: " if study.sampler != "sets" else "sets: ")
    if name in ("data.train", "data.dev", "data.test", "train.seed", "train.init_from"):
        raise ConfigError(
            f"space: {name} cannot vary: all trials are judged on the same data, seeds are counted by seeds"
        )


def _require_comparable(study: Study) -> None:
    """Loss and accuracy are those of a piece, and the pieces of a smaller vocabulary are easier to guess."""
    varying_names = [name for name in TOKENIZATION_SETTINGS if _varies(study, name)]
    if varying_names and study.metric in ("loss", "accuracy"):
        raise ConfigError(
            f"metric = {study.metric!r}, but {' and '.join(varying_names)} varies: pieces differ, so their {study.metric} "
            f"cannot be compared; use bleu or chrf"
        )


def _varies(study: Study, name: str) -> bool:
    """Whether two trials may differ in a setting; a set that does not give it has the value of the base."""
    if study.sampler != "sets":
        distribution = study.search_space().get(name)
        return distribution is not None and (not isinstance(distribution, Categorical) or len(distribution.values) > 1)
    base_value = settings.flatten(study.base.model_dump(mode="json", exclude_unset=True)).get(name)
    return len({point.get(name, base_value) for point in study.select_sets().values()}) > 1


def _validate_set(study: Study, name: str, params: Params) -> None:
    try:
        apply_params(study.trial_base_config(), params)
    except ConfigError as error:
        raise ConfigError(f"set {name!r}: {error}") from None
    if not make_constraint(study.trial_base_config(), study.conditions)(params):
        raise ConfigError(f"set {name!r}: does not satisfy {' and '.join(study.conditions)}")


def to_optuna_distribution(distribution: Distribution) -> Any:
    """The same as Optuna says it."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, Categorical):
        return CategoricalDistribution(distribution.values)
    if distribution.is_integer:
        low, high = int(distribution.low), int(distribution.high)
        return IntDistribution(low, high, log=distribution.log, step=int(distribution.step or 1))
    return FloatDistribution(
        float(distribution.low), float(distribution.high), log=distribution.log, step=distribution.step
    )


def format_params(params: Mapping[str, ParamValue]) -> str:
    """A combination in a few words: the last parts of its names."""
    return " ".join(f"{short_name(name)}={format_value(value)}" for name, value in params.items())


def short_name(name: str) -> str:
    """`model.layers` as `layers`; `model.positions.kind` as `positions.kind`."""
    return name.split(".", 1)[1] if "." in name else name


def format_value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def is_range(distribution: Distribution) -> bool:
    return isinstance(distribution, Range)


def _format_error(error: Any) -> str:
    """A complaint in the words of this program; those about base settings as `regard train` says them."""
    location = [str(part) for part in error["loc"]]
    if location[:1] == ["base"] and len(location) > 1:
        return settings.format_error(error | {"loc": location[1:]})
    if error["type"] == "extra_forbidden":
        return f"unknown entry '{'.'.join(location)}'; a study has: {', '.join(Study.model_fields)}"
    if error["type"] == "literal_error" and location == ["metric"]:
        return f"metric={error['input']!r}: no such metric; there are: {', '.join(HIGHER_IS_BETTER)}"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return f"{'.'.join(location)}={error['input']!r}: {error['msg'][0].lower()}{error['msg'][1:]}"
