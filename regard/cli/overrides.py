"""What was given on the command line, as settings."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.config import Config


def to_overrides(options: Mapping[str, object]) -> list[str]:
    """Options as assignments of settings; those that were not given are left out."""
    return [f"{name}={as_json(value)}" for name, value in options.items() if value is not None]


def read_config(files: list[Path], overrides: list[str]) -> "tuple[Config, str]":
    """Pairs, or a config .toml and perhaps pairs after it, with the changes; and a name for a run of it."""
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
