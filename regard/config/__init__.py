"""Settings: typed, frozen, checked when they are made. One default in one place, its meaning beneath it."""

from regard.config.base import Settings
from regard.config.data import SMALLEST_VOCABULARY, DataConfig
from regard.config.model import Head, ModelConfig, PositionsConfig, StackConfig
from regard.config.settings import (
    Config,
    Setting,
    build,
    describe,
    dump,
    flatten,
    given,
    load,
    override,
    place,
    sentence,
)
from regard.config.train import DEFAULT_STEPS, TrainConfig

__all__ = [
    "DEFAULT_STEPS",
    "SMALLEST_VOCABULARY",
    "Config",
    "DataConfig",
    "Head",
    "ModelConfig",
    "PositionsConfig",
    "Setting",
    "Settings",
    "StackConfig",
    "TrainConfig",
    "build",
    "describe",
    "dump",
    "flatten",
    "given",
    "load",
    "override",
    "place",
    "sentence",
]
