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
    from regard.api.corpora import corpus as generate_corpus
    from regard.data.corpora import write_rows

    gold_pairs = generate_corpus(name, pairs, seed, out)
    if out is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        sys.stdout.writelines(line + "\n" for line in write_rows(gold_pairs))
