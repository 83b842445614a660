"""Settings: typed, frozen, checked when they are made. One default in one place, its meaning beneath it."""

from regard.config.base import Settings
from regard.config.data import MIN_VOCAB_SIZE, DataConfig
from regard.config.model import Head, ModelConfig, PositionsConfig, StackConfig
from regard.config.settings import (
    Config,
    Setting,
    build,
    describe,
    dump,
    explicit_settings,
    flatten,
    format_error,
    format_input,
    load,
    override,
    parse_assignments,
    parse_toml,
    parse_value,
    read_toml,
    set_nested,
    with_values,
)
from regard.config.tasks import (
    TASK_ARCHITECTURES,
    TASK_METRICS,
    CausalLMConfig,
    ClassifyConfig,
    MaskedLMConfig,
    TaskName,
)
from regard.config.train import DEFAULT_STEPS, TrainConfig

__all__ = [
    "DEFAULT_STEPS",
    "MIN_VOCAB_SIZE",
    "TASK_ARCHITECTURES",
    "TASK_METRICS",
    "CausalLMConfig",
    "ClassifyConfig",
    "Config",
    "DataConfig",
    "Head",
    "MaskedLMConfig",
    "ModelConfig",
    "PositionsConfig",
    "Setting",
    "Settings",
    "StackConfig",
    "TaskName",
    "TrainConfig",
    "build",
    "describe",
    "dump",
    "explicit_settings",
    "flatten",
    "format_error",
    "format_input",
    "load",
    "override",
    "parse_assignments",
    "parse_toml",
    "parse_value",
    "read_toml",
    "set_nested",
    "with_values",
]
