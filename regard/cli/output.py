"""What a command writes: whole or not at all, and told on stderr."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer


def write(path: Path, content: bytes) -> None:
    """A file, replaced only once it is whole."""
    from regard.run import atomic_write

    with atomic_write(path) as temporary:
        temporary.write_bytes(content)
    typer.echo(f"written: {path}", err=True)


def as_npz(arrays: Mapping[str, Any]) -> bytes:
    """Arrays by name, as numpy reads them."""
    import io

    import numpy

    out = io.BytesIO()
    numpy.savez_compressed(out, **arrays)
    return out.getvalue()
