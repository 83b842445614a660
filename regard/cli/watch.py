"""regard watch"""

import contextlib
from pathlib import Path

import typer

from regard.cli.options import ADVANCED, argument, option

MAX_PORT = 65_535
PORT = option(
    ADVANCED, "NUMBER", "Port of the page on 127.0.0.1; a free one is chosen if unset.", "--port", min=0, max=MAX_PORT
)


def watch(
    run: Path = argument("RUN", "Run folder that `regard train` writes, now or earlier."), port: int | None = PORT
) -> None:
    """Watch a training in the browser: curves, translations of fixed sentences, attention, time left.

    The page is served on 127.0.0.1 alone until the training ends, or until Ctrl-C, which ends the watch and nothing
    else.

    Examples:
      regard watch runs/mine
      regard watch runs/mine --port 8000

    Read more: docs/howto/watch.md
    """
    from regard.api.training import watch as watch_run

    with watch_run(run, port=port or 0) as server:
        typer.echo(f"{server.address}  (Ctrl-C ends the watch, not the training)", err=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.wait_for_end()
