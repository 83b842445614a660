"""regard estimate"""

from pathlib import Path

from regard.cli.options import EPOCHS, MINUTES, SET, SOURCE, STEPS, TARGET, argument


def estimate(
    files: list[Path] = argument("FILES", "Training pairs or a config .toml, as for `regard train`."),
    source: str | None = SOURCE,
    target: str | None = TARGET,
    minutes: float | None = MINUTES,
    steps: int | None = STEPS,
    epochs: float | None = EPOCHS,
    set_: list[str] | None = SET,
) -> None:
    """Estimate what training would take on this machine: parameters, FLOPs, memory and minutes.

    Examples:
      regard estimate train.en train.fr --minutes 30
      regard estimate pairs.tsv --set model.dim=512 --set model.layers=6

    Read more: docs/howto/faster.md and `regard settings`.
    """
    from regard.api.planning import estimate as estimate_training
    from regard.config import parse_assignments
    from regard.display.console import is_verbose, terminal_width
    from regard.display.views.plan import format_estimate

    result = estimate_training(
        *files,
        minutes=minutes,
        steps=steps,
        epochs=epochs,
        source=source,
        target=target,
        settings=parse_assignments(set_ or ()),
    )
    print("\n".join(format_estimate(result, terminal_width(), is_verbose())))
