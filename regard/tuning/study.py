"""Study file: the settings that all trials share, the search space, the sampler, and the budget of each trial."""

import fnmatch
import functools
import itertools
import random
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import tomli_w
from pydantic import Field, ValidationError, field_validator, model_validator

from regard import config as settings
from regard.config import Config, Settings
from regard.config.base import MAX_EPOCHS, MAX_MINUTES, MAX_STEPS, MAX_TOKENS
from regard.errors import ConfigError
from regard.jobs.tasks.registry import complete_task, task_of
from regard.jobs.tasks.task import Task
from regard.jobs.tasks.task_metric import TaskMetric
from regard.tuning.space import (
    MAX_CHOICES,
    MAX_CONDITIONS,
    NO_VALID_PARAMS,
    Categorical,
    Condition,
    Params,
    ParamValue,
    SearchSpace,
    make_constraint,
    parse_distribution,
)

DEFAULT_TRIALS = 16
MAX_TRIALS = 100_000
FIXED_SETTINGS = ("task", "data.train", "data.dev", "data.test", "data.split_seed", "train.seed", "train.init_from")
"""Settings that no study may vary."""


class TrialBudget(Settings):
    """The budget of one trial; the first limit that is reached ends it."""

    minutes: float | None = Field(default=None, gt=0, le=MAX_MINUTES)
    """Minutes of training."""
    steps: int | None = Field(default=None, ge=1, le=MAX_STEPS)
    """Optimizer steps."""
    tokens: float | None = Field(default=None, ge=1, le=MAX_TOKENS)
    """Target tokens."""
    epochs: float | None = Field(default=None, gt=0, le=MAX_EPOCHS)
    """Passes over the corpus."""

    def limits(self) -> dict[str, float]:
        return self.model_dump(exclude_none=True)


class Study(Settings):
    """A complete study."""

    name: str = Field(default="study", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name in the storage; the folder is studies/<name> unless --out is given."""
    sampler: Literal["sets", "grid", "random", "tpe"] = "sets"
    """Named sets, every combination, random combinations, or the tree-structured Parzen estimator."""
    pruner: Literal["none", "halving", "median"] = "none"
    """Early stopping of weak trials: none, successive halving, or below the median."""
    metric: str | None = None
    """The dev metric that is optimized, one of the task's; unset: the first of them."""
    trials: int | None = Field(default=None, ge=1, le=MAX_TRIALS)
    """Number of combinations (random, tpe: 16 if unset; grid: all if unset)."""
    seeds: int = Field(default=1, ge=1, le=MAX_TRIALS)
    """Runs per combination, with consecutive values of train.seed; the score is their mean."""
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Seed of the sampler."""
    dev_sentences: int = Field(default=1000, ge=1, le=MAX_STEPS)
    """Dev sentences that a finished trial translates by beam search; other tasks predict for all of dev."""
    storage: str = ""
    """Optuna storage URL; unset: study.db in the study folder."""
    only: tuple[str, ...] = ()
    """Patterns for the names of sets; unset: all sets."""
    each: TrialBudget = TrialBudget()
    base: Config = Config()
    """Settings that all trials share, as in a config file."""
    sets: dict[str, dict[str, ParamValue]] = Field(default={}, max_length=MAX_CHOICES)
    """Named combinations, each a table of settings."""
    space: dict[str, Any] = {}
    """Choices, ranges and log ranges by setting name."""
    conditions: tuple[str, ...] = Field(default=(), max_length=MAX_CONDITIONS)
    """Conditions between settings, as in "model.dim % model.heads == 0"."""

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
            raise ValueError(f"no set matches only = {list(self.only)}; available: {', '.join(self.sets)}")
        if self.sampler != "sets" and self.only:
            raise ValueError(f'only = {list(self.only)} needs sampler = "sets", not "{self.sampler}"')
        return self

    @property
    def task(self) -> Task:
        """What all trials are trained for."""
        return task_of(self.base)

    @property
    def metric_key(self) -> str:
        """The name of the metric among the scores of a run."""
        return self.metric or next(iter(self.task.metrics))

    @property
    def ranking_metric(self) -> TaskMetric:
        """The metric that trials are ranked by."""
        return self.task.metrics[self.metric_key]

    def find_metric(self, scores: Container[str]) -> str:
        """The metric among the scores of a run, or what stands in for it where its data has none such."""
        keys = (self.metric_key, *self.ranking_metric.substitutes)
        return next((key for key in keys if key in scores), self.metric_key)

    @property
    def maximize(self) -> bool:
        """Whether a higher value of the metric is better."""
        return self.ranking_metric.higher_is_better

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        """Optuna's name of the direction."""
        return "maximize" if self.maximize else "minimize"

    def select_sets(self) -> dict[str, Params]:
        patterns = self.only or ("*",)
        return {name: one for name, one in self.sets.items() if any(fnmatch.fnmatch(name, p) for p in patterns)}

    def search_space(self) -> SearchSpace:
        """What varies; for sets, the values that occur in any of them, because Optuna needs all of them in advance."""
        if self.sampler != "sets":
            return SearchSpace({name: parse_distribution(name, value) for name, value in self.space.items()})
        sets = self.sets.values()
        names = dict.fromkeys(name for one in sets for name in one)
        values_by_name = {n: tuple(dict.fromkeys(one[n] for one in sets if n in one)) for n in names}
        return SearchSpace({name: Categorical(values) for name, values in values_by_name.items()})

    def constraint(self) -> Callable[[Params], bool]:
        """A predicate: whether a combination satisfies the conditions and gives a valid config."""
        return make_constraint(self.trial_base_config(), self.conditions)

    def predefined_params(self) -> dict[str, Params] | None:
        """The combinations by trial name, if they are known in advance (sets, grid); None if they are sampled."""
        return self._predefined_params

    @functools.cached_property
    def _predefined_params(self) -> dict[str, Params] | None:
        if self.sampler == "sets":
            return self.select_sets()
        if self.sampler != "grid":
            return None
        grid_params = list(self.search_space().grid())
        valid_params = list(filter(self.constraint(), grid_params))
        if not valid_params:
            raise ConfigError(NO_VALID_PARAMS.format(attempts=f"all {len(grid_params):,}"))
        if self.trials and self.trials < len(valid_params):
            valid_params = random.Random(self.seed).sample(valid_params, self.trials)
        return {f"{number}": params for number, params in enumerate(valid_params, start=1)}

    def num_trials(self) -> int:
        """The number of trials: at most the number of combinations, because each is tried once."""
        predefined_params = self.predefined_params()
        return len(predefined_params) if predefined_params is not None else self._num_sampled_trials

    @functools.cached_property
    def _num_sampled_trials(self) -> int:
        requested_trials, all_params = self.trials or DEFAULT_TRIALS, self.search_space().all_params()
        if all_params is None:
            return requested_trials
        return sum(1 for _ in itertools.islice(filter(self.constraint(), all_params), requested_trials))

    def trial_base_config(self) -> Config:
        """The base settings with the budget of a trial and the metric that selects its best checkpoint."""
        values: dict[str, Any] = {f"train.{name}": limit for name, limit in self.each.limits().items()}
        checkpoint_metric = self.ranking_metric.checkpoint_metric
        if "train.metric" not in settings.explicit_settings(self.base) and checkpoint_metric != "loss":
            values["train.metric"] = checkpoint_metric
        return settings.with_values(self.base, values)

    def build_config(self, params: Mapping[str, ParamValue], seed_index: int = 0) -> Config:
        """The config of one run: a combination, and a seed that is `seed_index` above that of the first run."""
        config = settings.with_values(self.trial_base_config(), params)
        if not seed_index:
            return config
        return settings.with_values(config, {"train.seed": config.train.seed + seed_index})


def _flatten_space(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables by dotted names; a table with low and high is a range, not a group."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        is_group = isinstance(value, Mapping) and not {"low", "high"} & set(value)
        flat |= _flatten_space(value, f"{prefix}{name}.") if is_group else {prefix + name: value}
    return flat


def load(path: Path, values: Mapping[str, Any] | None = None) -> Study:
    """Read a study from a TOML file, with other values of base settings."""
    return build({"name": path.stem} | settings.read_toml(path, "docs/howto/tune.md"), f"{path}: ", values)


def loads(text: str, error_prefix: str) -> Study:
    try:
        return build(settings.parse_toml(text), error_prefix)
    except ValueError as error:
        raise ConfigError(f"{error_prefix}not a study ({error})") from None


def dump(study: Study) -> str:
    """The study as TOML. Only explicit base settings are written; the rest is chosen for each trial."""
    table = study.model_dump(mode="json", exclude_none=True, exclude={"base"})
    base = study.base.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return tomli_w.dumps({**{k: v for k, v in table.items() if v not in ((), [], {}, "")}, "base": base})


def build(table: Mapping[str, Any], error_prefix: str = "", values: Mapping[str, Any] | None = None) -> Study:
    """A validated study from plain values; `values` are other ones of base settings, by dotted name."""
    try:
        study = Study.model_validate(table)
    except ValidationError as error:
        raise ConfigError(error_prefix + "; ".join(dict.fromkeys(map(_format_error, error.errors())))) from None
    base = complete_task(settings.with_values(study.base, values) if values else study.base)
    study = study.model_copy(update={"base": base})
    validate_study(study, error_prefix)
    return study


def override(study: Study, values: Mapping[str, Any], **fields: Any) -> Study:
    """The study with other values of base settings, by dotted name, and other fields; None leaves a field as it is."""
    table = study.model_dump(mode="json", exclude_none=True, exclude={"base"})
    table |= {name: value for name, value in fields.items() if value is not None}
    return build(table | {"base": study.base}, values=values)


def validate_study(study: Study, error_prefix: str = "") -> None:
    """Check every value that can be checked before training."""
    try:
        _require_metric(study)
        for condition in study.conditions:
            Condition.parse(condition)
        for name, distribution in study.search_space().distributions.items():
            for value in distribution.extreme_values():
                _validate_value(study, name, value)
        _require_comparable(study)
        if study.sampler == "sets":
            for name, params in study.select_sets().items():
                _validate_set(study, name, params)
        elif study.sampler == "grid":
            study.predefined_params()
        else:
            study.search_space().sample(random.Random(study.seed), study.constraint())
    except ConfigError as error:
        raise ConfigError(f"{error_prefix}{error}") from None


def _validate_value(study: Study, name: str, value: ParamValue) -> None:
    """Refuse an unknown setting, and a value that is invalid for every combination of the other settings."""
    table: dict[str, Any] = {}
    settings.set_nested(table, name, value)
    if name.startswith(("model.heads", "model.dim")):  # valid or invalid only in combination
        table["model"] = {"dim": value, "heads": 1} if name == "model.dim" else {"dim": value, "heads": value}
    settings.build(table, f"space: {name}={value}: " if study.sampler != "sets" else "sets: ")
    if name in (*FIXED_SETTINGS, *study.task.data_settings):
        raise ConfigError(
            f"space: {name} cannot vary: all trials use the same data, and seeds are varied by the entry `seeds`"
        )


def _require_metric(study: Study) -> None:
    metrics = study.task.metrics
    if study.metric_key not in metrics:
        raise ConfigError(f"metric={study.metric!r}: no such metric; available: {', '.join(metrics)}")


def _require_comparable(study: Study) -> None:
    """Refuse a metric whose targets would differ: the tokens of a smaller vocabulary are easier to predict."""
    metrics = study.task.metrics
    varying_names = [name for name in study.ranking_metric.bound_to if _varies(study, name)]
    if not varying_names:
        return
    others = [key for key, metric in metrics.items() if not {*metric.bound_to} & {*varying_names}]
    advice = f"use {' or '.join(others)}" if others else "no metric can rank them: leave it out"
    raise ConfigError(
        f"metric = {study.metric_key!r}, but {' and '.join(varying_names)} varies: {study.task.unit}s differ between "
        f"trials, so their {study.metric_key} cannot be compared; {advice}"
    )


def _varies(study: Study, name: str) -> bool:
    """Whether a setting may differ between two trials; a set without it has the value of the base."""
    if study.sampler != "sets":
        distribution = study.search_space().distributions.get(name)
        return distribution is not None and len(distribution.extreme_values()) > 1
    base_value = settings.flatten(study.base.model_dump(mode="json", exclude_unset=True)).get(name)
    return len({params.get(name, base_value) for params in study.select_sets().values()}) > 1


def _validate_set(study: Study, name: str, params: Params) -> None:
    try:
        settings.with_values(study.trial_base_config(), params)
    except ConfigError as error:
        raise ConfigError(f"set {name!r}: {error}") from None
    if not study.constraint()(params):
        raise ConfigError(f"set {name!r}: does not satisfy {' and '.join(study.conditions)}")


def format_params(params: Mapping[str, ParamValue]) -> str:
    """A combination on one line, with short names."""
    return " ".join(f"{short_name(name)}={format_value(value)}" for name, value in params.items())


def short_name(name: str) -> str:
    """`model.layers` as `layers`; `model.positions.kind` as `positions.kind`."""
    return name.split(".", 1)[1] if "." in name else name


def format_value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _format_error(error: Any) -> str:
    """A pydantic error as one sentence; errors in base settings are worded as by `regard train`."""
    location = [str(part) for part in error["loc"]]
    if location[:1] == ["base"] and len(location) > 1:
        return settings.format_error(error | {"loc": location[1:]})
    if error["type"] == "extra_forbidden":
        return f"unknown entry '{'.'.join(location)}'; a study has: {', '.join(Study.model_fields)}"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return f"{'.'.join(location)}={settings.format_input(error['input'])}: {error['msg'][0].lower()}{error['msg'][1:]}"
