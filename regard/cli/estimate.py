"""regard estimate"""

from pathlib import Path

import typer

from regard.cli.overrides import collect_values, read_config


def estimate(
    files: list[Path] = typer.Argument(..., help="Training pairs or a config .toml, as for `regard train`."),
    minutes: float | None = typer.Option(None, help="Training time in minutes."),
    steps: int | None = typer.Option(None, help="Number of optimizer steps."),
    source: str | None = typer.Option(None, help="Language code of the source side."),
    target: str | None = typer.Option(None, help="Language code of the target side."),
    set_: list[str] | None = typer.Option(None, "--set", metavar="NAME=VALUE", help="Any of `regard settings`."),
) -> None:
    """Estimate what training would take on this machine: parameters, FLOPs, memory, minutes."""
    from regard.jobs.train.estimate import estimate_files

    options = {"train.minutes": minutes, "train.steps": steps, "data.source": source, "data.target": target}
    config, _ = read_config(files, collect_values(options, set_))
    print("\n".join(estimate_files(config)))
