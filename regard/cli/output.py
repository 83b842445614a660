"""Files that a command writes atomically, with a note on standard error."""

from pathlib import Path

import typer


def check(*paths: Path | None) -> None:
    """Refuse what cannot be written as a file, before any work is done for it."""
    from regard.atomic import check_output

    for path in filter(None, paths):
        check_output(path)


def write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    from regard.atomic import open_output

    with open_output(path) as file:
        file.write(content)
    typer.echo(f"written: {path}", err=True)
