"""regard corpus"""

import sys
from pathlib import Path

import typer


def corpus(
    name: str = typer.Argument(..., help="english-french, copy, reverse, sort or lookup."),
    pairs: int = typer.Option(10_000, min=1, help="Number of pairs."),
    seed: int = typer.Option(1, help="Same seed, same pairs."),
    out: Path | None = typer.Option(None, help="File to write; standard output if unset."),
) -> None:
    """Write a built-in corpus as TSV: source, target, word alignment, grammatical links of each side."""
    from regard.data.corpora import CORPORA, write_rows
    from regard.errors import ConfigError
    from regard.progress import track
    from regard.run import atomic_write

    if name not in CORPORA:
        raise ConfigError(f"there is no built-in corpus '{name}'; expected one of: {', '.join(CORPORA)}")
    lines = write_rows(CORPORA[name](pairs, seed))
    if out is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        sys.stdout.writelines(line + "\n" for line in lines)
        return
    with atomic_write(out) as path, path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in track(lines, "generating pairs", pairs))
