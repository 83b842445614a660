"""regard estimate"""

from pathlib import Path

from regard.cli.options import MINUTES, SET, SOURCE, STEPS, TARGET, argument
from regard.cli.overrides import collect_values, read_config


def estimate(
    files: list[Path] = argument("FILES", "Training pairs or a config .toml, as for `regard train`."),
    source: str | None = SOURCE,
    target: str | None = TARGET,
    minutes: float | None = MINUTES,
    steps: int | None = STEPS,
    set_: list[str] | None = SET,
) -> None:
    """Estimate what training would take on this machine: parameters, FLOPs, memory and minutes.

    Examples:
      regard estimate train.en train.fr --minutes 30
      regard estimate pairs.tsv --set model.dim=512 --set model.layers=6

    Read more: docs/speed.md and `regard settings`.
    """
    from regard.jobs.train.estimate import estimate_files

    options = {"train.minutes": minutes, "train.steps": steps, "data.source": source, "data.target": target}
    config, _ = read_config(files, collect_values(options, set_))
    print("\n".join(estimate_files(config)))
