"""Settings from the options of the command line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.config import Config


def to_overrides(options: Mapping[str, object]) -> list[str]:
    """Options as assignments of settings; options that are None are left out."""
    return [f"{name}={as_json(value)}" for name, value in options.items() if value is not None]


def read_config(files: list[Path], overrides: list[str]) -> "tuple[Config, str]":
    """The config of training files, or of a config .toml and optional training files, and a name for its run."""
    from regard import config as settings

    if files and files[0].suffix == ".toml":
        config, pairs = settings.load(files[0]), files[1:]
    else:
        config, pairs = settings.build({}), files
    if pairs:
        overrides = [f"data.train={as_json([str(file) for file in pairs])}", *overrides]
    name = files[0].name.partition(".")[0] if files else "model"
    return settings.override(config, overrides), name


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
