"""regard pairs"""

import sys
from pathlib import Path

import typer

from regard.cli.options import FILES, OUTPUT, argument, option


def pairs(
    files: list[str] = argument("FILES", "Documents: text or Markdown files, or folders of them."),
    kind: list[str] | None = option(
        FILES, "NAME", "What belongs together: title, heading or sentence; all if unset. May be repeated."
    ),
    language: str = option(
        FILES, "CODE", "Language of the documents, such as en, for where sentences end.", default=""
    ),
    out: Path | None = option(OUTPUT, "FILE", "File to write, .tsv; standard output if unset."),
) -> None:
    """Make pairs of texts out of documents, to train an encoder on.

    A title belongs to the whole text, a heading to its section, the first sentence of a paragraph to the others. Every
    file is a document. Titles and headings are those of Markdown and reST, or short lines between blank lines.

    Examples:
      regard pairs notes/ --out pairs.tsv
      regard pairs manual.md guide.txt --kind title --kind heading --out pairs.tsv
      regard train pairs.tsv --task embed --out runs/notes

    Read more: docs/howto/embeddings.md
    """
    from regard.api.corpora import document_pairs

    pairs = document_pairs(*files, kinds=kind or None, language=language, out=out)
    if out is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        sys.stdout.writelines(f"{pair.source}\t{pair.target}\n" for pair in pairs)
        return
    typer.echo(f"written: {out} ({len(pairs):,} pairs)", err=True)
