"""regard estimate"""

from pathlib import Path

import typer


def estimate(
    files: list[Path] = typer.Argument(..., help="Training pairs or a config .toml, as for `regard train`."),
    minutes: float | None = typer.Option(None, help="Training time in minutes."),
    steps: int | None = typer.Option(None, help="Number of optimizer steps."),
    source: str | None = typer.Option(None, help="Language code of the source side."),
    target: str | None = typer.Option(None, help="Language code of the target side."),
    set_: list[str] | None = typer.Option(None, "--set", metavar="NAME=VALUE", help="Any of `regard settings`."),
) -> None:
    """Estimate what training would take on this machine: parameters, FLOPs, memory, minutes."""
    from regard.api.planning import estimate as estimate_training
    from regard.config import parse_assignments

    result = estimate_training(
        *files, minutes=minutes, steps=steps, source=source, target=target, settings=parse_assignments(set_ or ())
    )
    print("\n".join(result.lines()))
