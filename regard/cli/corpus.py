"""regard corpus"""

import sys
from pathlib import Path

import typer

from regard.cli.options import FILES, MAX_SEED, OUTPUT, argument, option


def corpus(
    name: str = argument("NAME", "Name of the corpus: english-french, copy, reverse, sort or lookup."),
    pairs: int = option(FILES, "NUMBER", "Number of pairs.", default=10_000, min=1, max=10_000_000),
    seed: int = option(
        FILES, "NUMBER", "Random seed; the same seed gives the same pairs.", default=1, min=0, max=MAX_SEED
    ),
    out: Path | None = option(OUTPUT, "FILE", "File to write; standard output if unset."),
) -> None:
    """Write a built-in corpus as TSV: source, target, word alignment, and the grammatical links of each side.

    Examples:
      regard corpus english-french --pairs 5000 --out pairs.tsv
      regard corpus reverse --pairs 20 --seed 7

    Read more: `regard train pairs.tsv` trains on such a file.
    """
    from regard.api.corpora import corpus as generate_corpus
    from regard.data.corpora import write_rows

    gold_pairs = generate_corpus(name, pairs, seed, out)
    if out is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        sys.stdout.writelines(line + "\n" for line in write_rows(gold_pairs))
        return
    typer.echo(f"written: {out} ({pairs:,} pairs)", err=True)
