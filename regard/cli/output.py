"""Files that a command writes atomically, with a note on standard error."""

from pathlib import Path

import typer


def write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    from regard.run import atomic_write

    with atomic_write(path) as temporary:
        temporary.write_bytes(content)
    typer.echo(f"written: {path}", err=True)
