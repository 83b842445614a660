"""regard bench"""

from pathlib import Path

import typer


def bench(
    run: Path | None = typer.Argument(None, help="Run whose model and texts are measured; a small model if unset."),
    seconds: float = typer.Option(5.0, min=0.0, help="Duration of each measurement in seconds."),
    set_: list[str] | None = typer.Option(None, "--set", metavar="NAME=VALUE", help="Any of `regard settings`."),
) -> None:
    """Measure this machine: matrix multiplication, training and translation, and suggest what would make it faster."""
    from regard.api.planning import bench as measure_machine
    from regard.config import parse_assignments

    print("\n".join(measure_machine(run, seconds=seconds, settings=parse_assignments(set_ or ())).lines()))
