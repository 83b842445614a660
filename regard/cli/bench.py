"""regard bench"""

from pathlib import Path

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

    Read more: docs/howto/faster.md
    """
    from regard.api.planning import bench as measure_machine
    from regard.config import parse_assignments
    from regard.display.console import terminal_width
    from regard.display.views.machine import format_benchmark

    benchmark = measure_machine(run, seconds=seconds, settings=parse_assignments(set_ or ()))
    print("\n".join(format_benchmark(benchmark, terminal_width())))
