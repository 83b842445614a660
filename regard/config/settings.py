"""All settings of a run: read, written, overridden; an unknown name is answered with the right one."""

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import tomli_w
from pydantic import ValidationError, model_validator
from pydantic.fields import FieldInfo

from regard.config import names
from regard.config.base import Settings, meanings
from regard.config.data import DataConfig
from regard.config.model import Head, ModelConfig
from regard.config.registries import UNKNOWN_NAME, NameIn
from regard.config.tasks import (
    SETTING_TASKS,
    SOURCE_TARGET_TASKS,
    TASK_METRICS,
    CausalLMConfig,
    ClassifyConfig,
    DenoiseConfig,
    EmbedConfig,
    ExtractConfig,
    MaskedLMConfig,
    SummarizeConfig,
    TaskName,
)
from regard.config.train import TrainConfig
from regard.errors import ConfigError
from regard.files import read_text
from regard.plugins import HOW_TO_LOAD


class Config(Settings):
    """All settings of a run."""

    task: TaskName = "translate"
    """What the model is trained for."""
    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    classify: ClassifyConfig = ClassifyConfig()
    causal_lm: CausalLMConfig = CausalLMConfig()
    masked_lm: MaskedLMConfig = MaskedLMConfig()
    embed: EmbedConfig = EmbedConfig()
    denoise: DenoiseConfig = DenoiseConfig()
    summarize: SummarizeConfig = SummarizeConfig()
    extract: ExtractConfig = ExtractConfig()

    @model_validator(mode="after")
    def metric_fits_task(self) -> Self:
        metrics = TASK_METRICS[self.task]
        if self.train.metric not in metrics:
            raise ValueError(
                f"train.metric={self.train.metric}: task={self.task} is validated by {' or '.join(metrics)}"
            )
        return self

    @model_validator(mode="after")
    def settings_fit_task(self) -> Self:
        for name, tasks in SETTING_TASKS.items():
            section, _, field = name.partition(".")
            value = getattr(getattr(self, section), field)
            if value and self.task not in tasks:
                raise ValueError(f"{name}={value:g}: only of use for task={' or '.join(tasks)}; leave it out")
        if self.task == "denoise" and not self.data.joint_vocab:
            raise ValueError("data.joint_vocab=false: what is read and what is written is the same text; leave it out")
        return self

    @model_validator(mode="after")
    def directions_have_languages(self) -> Self:
        data = self.data
        if data.denoise_targets and not data.joint_vocab:
            raise ValueError("data.denoise_targets needs data.joint_vocab=true: targets are read, too")
        if data.both_directions and not data.joint_vocab:
            raise ValueError("data.both_directions=true needs data.joint_vocab=true: each language is on both sides")
        if data.both_directions and (not data.source or not data.target or data.source == data.target):
            raise ValueError(
                f"data.both_directions=true needs two languages for its tags; got data.source={data.source!r}, "
                f"data.target={data.target!r}"
            )
        if data.both_directions and data.concat_augment:
            raise ValueError(
                "data.both_directions and data.concat_augment: a target would be of two languages; choose one"
            )
        return self

    @property
    def split_seed(self) -> int:
        """The seed of what is held out of the training files."""
        return self.train.seed if self.data.split_seed is None else self.data.split_seed

    @property
    def joins_source_and_target(self) -> bool:
        """Whether a decoder alone reads source and target as one sequence; an imported one has no source."""
        return self.task in SOURCE_TARGET_TASKS and self.model.architecture == "decoder" and bool(self.data.train)

    @model_validator(mode="after")
    def settings_fit_architecture(self) -> Self:
        if not self.joins_source_and_target:
            return self
        reasons = {
            "train.guided_alignment": (self.train.guided_alignment, "a decoder alone has no cross-attention to guide"),
            "train.head_stats_every": (self.train.head_stats_every, "a decoder alone has no cross-attention"),
            "data.joint_vocab=false": (not self.data.joint_vocab, "a decoder alone has one vocabulary for both sides"),
        }
        for name, (value, reason) in reasons.items():
            if value:
                raise ValueError(f"{name}: {reason} (model.architecture=decoder); leave it out")
        return self

    @model_validator(mode="after")
    def guided_heads_exist(self) -> Self:
        if self.train.guided_heads and not self.train.guided_alignment:
            raise ValueError("train.guided_heads: nothing is aligned with train.guided_alignment=0; set its weight")
        for name in self.train.guided_heads:
            head = Head.parse(name)
            exists = head.attention_name in self.model.attention_names()
            if head.kind != "cross" or not exists or head.number not in self.model.kept_heads(head.attention_name):
                raise ValueError(
                    f"train.guided_heads: this model has no cross-attention head {name}; it has "
                    f"decoder.<0 to {self.model.depth('decoder') - 1}>.cross.<0 to {self.model.heads - 1}>"
                )
        return self

    @model_validator(mode="after")
    def positions_cover_max_length(self) -> Self:
        sides = (
            self.model.encoder.positions or self.model.positions,
            self.model.decoder.positions or self.model.positions,
        )
        # A decoder alone reads a source, its end, the mark of the target, and the target.
        factor, more = (2, 2) if self.joins_source_and_target else (1, 0)
        for side in sides:
            offset = side.offset if side.kind != "bias" else 0
            if side.max_positions is not None and side.max_positions < factor * self.data.max_length + more + offset:
                offset_text = f" + model.positions.offset={offset}" if offset else ""
                sides_text = " for each of source and target" if factor > 1 else ""
                raise ValueError(
                    f"model.positions.length={side.length} is less than "
                    f"data.max_length={self.data.max_length}{offset_text}{sides_text}: "
                    f"a learned table needs a position for every token; raise the former or lower the latter"
                )
        return self


MAX_TOML_BYTES = 1 << 20
MAX_VALUE_CHARACTERS = 80  # of a wrong value in a message


class Setting(NamedTuple):
    """One line of `regard settings`."""

    name: str
    default: Any
    description: str
    choices: str


def load(path: Path) -> Config:
    """The settings of a TOML file."""
    return build(read_toml(path, "`regard settings`"), error_prefix=f"{path}: ")


def read_toml(path: Path, example: str) -> dict[str, Any]:
    """The table of a TOML file; `example` is where the user finds a valid one."""
    try:
        return parse_toml(read_text(path, MAX_TOML_BYTES))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read: not UTF-8 ({error.reason} at byte {error.start + 1})") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}. See {example} for an example.") from None


def parse_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text; any mistake in it is a ValueError."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def dump(config: Config, only_explicit: bool = False) -> str:
    """The settings as TOML, defaults and all or only what was given; what is None is left out, as TOML has no null."""
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True, exclude_unset=only_explicit))


def build(table: Mapping[str, Any], error_prefix: str = "") -> Config:
    """A checked Config out of nested plain values."""
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        message = "; ".join(map(format_error, error.errors()))
        # In a file, a name that is not known was hardly mistyped: it was valid where the file was written.
        is_missing = any(e["type"] == UNKNOWN_NAME and (error_prefix or not _suggest_value(e)) for e in error.errors())
        raise ConfigError(f"{error_prefix}{message}. {HOW_TO_LOAD}" if is_missing else error_prefix + message) from None


def with_values(config: Config, values: Mapping[str, Any]) -> Config:
    """The config with other values, by dotted name: {"model.dropout": 0.2}."""
    table = config.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    for name, value in values.items():
        set_nested(table, name, value)
    return build(table)


def override(config: Config, assignments: Sequence[str]) -> Config:
    """The config with `name.of.setting=value` assignments applied, each value read as TOML or else as text."""
    return with_values(config, parse_assignments(assignments))


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """The values of `name.of.setting=value` assignments by setting name."""
    return dict(map(_parse_assignment, assignments))


def _parse_assignment(assignment: str) -> tuple[str, Any]:
    name, equals, text = assignment.partition("=")
    if not equals:
        raise ConfigError(f"--set {assignment}: expected name=value, as in --set model.dropout=0.2")
    return name.strip(), parse_value(text.strip())


def explicit_settings(config: Config) -> frozenset[str]:
    """The names of the settings that were given a value, not left at their defaults."""
    return frozenset(_explicit_settings(config, ""))


def _explicit_settings(group: Settings, prefix: str) -> Iterator[str]:
    for name in group.model_fields_set:
        value = getattr(group, name)
        if isinstance(value, Settings):
            yield from _explicit_settings(value, f"{prefix}{name}.")
        elif isinstance(value, Mapping):
            yield from (f"{prefix}{name}.{key}" for key in value)
        else:
            yield prefix + name


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, by dotted names."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return flat


def set_nested(table: dict[str, Any], name: str, value: Any) -> None:
    """Put a value into nested tables under its dotted name."""
    *groups, key = name.split(".")
    for group in groups:
        inner = table.setdefault(group, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{name}: {group} is a setting, not a group of settings")
        table = inner
    table[key] = value


def describe() -> Iterator[Setting]:
    """Every setting with its default and its meaning, in the order of the file."""
    yield from _describe(Config, Config(), "")


def _describe(group: type[Settings], values: Settings | None, prefix: str) -> Iterator[Setting]:
    for name, field in group.model_fields.items():
        value = getattr(values, name)
        inner = _settings_class(field.annotation)
        if inner is not None and value is not None:
            yield from _describe(inner, value, f"{prefix}{name}.")
        else:
            yield Setting(prefix + name, value, meanings(group).get(name, ""), _choices(field))


def _choices(field: FieldInfo) -> str:
    registries = [mark.registry for mark in field.metadata if isinstance(mark, NameIn)]
    values = registries[0].names() if registries else getattr(field.annotation, "__args__", ())
    if not values or not all(isinstance(value, str | bool) for value in values):
        return ""
    return ", ".join(value if isinstance(value, str) else str(value).lower() for value in values)  # as TOML has them


def _settings_class(annotation: Any) -> type[Settings] | None:
    """The settings class behind an annotation, optional or not."""
    for candidate in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(candidate, type) and issubclass(candidate, Settings):
            return candidate
    return None


def parse_value(text: str) -> Any:
    """A value as TOML writes it, or else the text itself."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text  # bare words need no quotes: --set model.norm=post


def format_error(error: Any) -> str:
    """One of pydantic's errors as a sentence."""
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        if isinstance(error["input"], dict) and len(error["input"]) == 1:  # a group that does not exist
            name = f"{name}.{next(iter(error['input']))}"
        return f"unknown setting '{name}'{_suggest_name(name)}"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    message = error["msg"][0].lower() + error["msg"][1:].replace("True", "true").replace("False", "false")  # as TOML
    return f"{name}={format_input(error['input'])}: {message}{_suggest_value(error)}"


def format_input(value: object) -> str:
    """A wrong value in a message, shortened."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or tables in tables
        text = "a value"
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[:MAX_VALUE_CHARACTERS]}…"


def _suggest_name(name: str) -> str:
    if known := names.find_setting(name):
        return f"; did you mean '{known}'?"
    setting_names = [setting.name for setting in describe()]
    group, _, word = name.rpartition(".")
    siblings = [k for k in setting_names if k.rpartition(".")[0] == group]
    for candidates in (siblings, setting_names):  # a slip in the word, or the right word in the wrong group
        words = {k.rpartition(".")[2]: k for k in reversed(candidates)}
        if matches := difflib.get_close_matches(word, words, n=1, cutoff=0.6):
            return f"; did you mean '{words[matches[0]]}'?"
    return f"; {group or 'the settings'} has: {', '.join(siblings if group else Config.model_fields)}"


def _suggest_value(error: Any) -> str:
    if error["type"] not in ("literal_error", UNKNOWN_NAME):
        return ""
    choices = error["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
    matches = difflib.get_close_matches(str(error["input"]), choices, n=1, cutoff=0.6)
    setting = ".".join(part for part in error["loc"] if isinstance(part, str))  # without a position in a list
    suggestion = names.find_value(setting, error["input"]) or next(iter(matches), None)
    return f"; did you mean '{suggestion}'?" if suggestion else ""
