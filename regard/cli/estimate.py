"""regard estimate"""

import typer


def estimate(
    files: list[str] = typer.Argument(..., help="Training pairs, as for `regard train`."),
    minutes: float | None = typer.Option(None, help="Time to train for."),
    steps: int | None = typer.Option(None, help="Updates to train for."),
    source: str = typer.Option("", help="Language code of the source side."),
    target: str = typer.Option("", help="Language code of the target side."),
    set_: list[str] | None = typer.Option(None, "--set", metavar="NAME=VALUE", help="Any of `regard settings`."),
) -> None:
    """Say what training would take on this machine: parameters, operations, memory, minutes."""
    from regard import config as settings
    from regard.jobs.estimate import estimate_files

    limits = {"train.minutes": minutes, "train.steps": steps}
    changes = [f"{name}={value}" for name, value in limits.items() if value is not None]
    config = settings.build({"data": {"train": files, "source": source, "target": target}})
    print("\n".join(estimate_files(settings.override(config, [*changes, *(set_ or ())]))))
