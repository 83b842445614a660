"""regard bench"""

from pathlib import Path

import typer

from regard.cli.options import SET, TIME, argument, option


def bench(
    run: Path | None = argument("RUN", "Run whose model and texts are measured; a small model if unset.", None),
    seconds: float = option(
        TIME, "NUMBER", "Duration of each measurement in seconds.", default=5.0, min=0.0, max=3600.0
    ),
    set_: list[str] | None = SET,
) -> None:
    """Measure this machine: matrix multiplication, training and translation, and suggest what would make it faster.

    Examples:
      regard bench
      regard bench runs/mine --seconds 10
      regard bench --set train.threads=2

    Read more: docs/speed.md
    """
    from regard.jobs.bench import build_default_workload, build_run_workload, run_benchmark

    config, workload = build_run_workload(run, set_ or []) if run is not None else build_default_workload(set_ or [])
    for line in run_benchmark(config, workload, seconds):
        typer.echo(line)
