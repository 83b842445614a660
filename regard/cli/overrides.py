"""Settings from the options of the command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.config import Config


def collect_values(options: Mapping[str, object], assignments: Sequence[str] | None) -> dict[str, Any]:
    """The settings of options that were given, and of `--set name=value`, which comes last."""
    from regard.config import parse_assignments

    given_options = {name: value for name, value in options.items() if value is not None}
    return given_options | parse_assignments(assignments or ())


def read_config(files: Sequence[Path], values: Mapping[str, Any]) -> "tuple[Config, str]":
    """The config of training files, or of a config .toml and optional training files, and a name for its run."""
    from regard import config as settings

    if files and files[0].suffix == ".toml":
        config, pairs = settings.load(files[0]), files[1:]
    else:
        config, pairs = settings.build({}), files
    if pairs:
        values = {"data.train": [str(file) for file in pairs], **values}
    name = files[0].name.partition(".")[0] if files else "model"
    return settings.with_values(config, values), name
