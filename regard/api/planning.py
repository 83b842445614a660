"""Before training: what it would take, what this machine can do, and which settings there are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard import config as configs
from regard.api.arguments import AnyPath, Files, to_paths
from regard.api.terminal import showing
from regard.api.training import build_config, merge_values
from regard.config import Setting
from regard.jobs.bench import Benchmark, measure_machine
from regard.jobs.train.estimate import FileEstimate, estimate_files


def estimate(
    *files: Files,
    minutes: float | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    source: str | None = None,
    target: str | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> FileEstimate:
    """Estimate what training would take on this machine: parameters, FLOPs, memory, minutes.

    >>> regard.estimate("pairs.tsv", steps=100).cost.parameter_counts.total > 0
    True

    The arguments mean what they mean in `train`. The settings that training would choose are in `choices`, with the
    reasons.
    """
    options = {
        "train.minutes": minutes,
        "train.steps": steps,
        "train.epochs": epochs,
        "data.source": source,
        "data.target": target,
    }
    config = build_config(to_paths(files), merge_values(options, settings))
    with showing(progress):
        return estimate_files(config)


def bench(
    run: AnyPath | None = None,
    *,
    seconds: float = 5.0,
    settings: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> Benchmark:
    """Measure this machine: matrix multiplication, training and translation, with suggestions for more speed.

    `run` is a run whose model and lengths of sentences are measured; a small model if unset. `seconds` is the duration
    of each measurement. `settings` changes the model that is measured.
    """
    with showing(progress):
        return measure_machine(None if run is None else Path(run), settings or {}, seconds)


def settings() -> tuple[Setting, ...]:
    """Every setting with its default and description.

    >>> [setting.default for setting in regard.settings() if setting.name == "model.norm"]
    ['pre']
    """
    return tuple(configs.describe())
