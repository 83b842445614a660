"""regard doctor"""

import json
from pathlib import Path

import typer


def doctor(
    files: list[str] = typer.Argument(..., help="Training pairs: text files, .tsv, .jsonl, .po, .tmx, .xlf, folders."),
    dev: list[str] | None = typer.Option(
        None, help="Validation pairs, which select the best checkpoint (one or two files)."
    ),
    test: list[str] | None = typer.Option(None, help="Test pairs; training pairs with the same source are dropped."),
    source: str = typer.Option("", help="Language code of the source side."),
    target: str = typer.Option("", help="Language code of the target side."),
    fix: Path | None = typer.Option(None, help="Write a clean copy of the corpus into this folder."),
    keep: list[str] | None = typer.Option(None, help="Kind of finding to keep, although it is dropped by default."),
    drop: list[str] | None = typer.Option(None, help="Kind of finding to drop, although it is only noted by default."),
    as_json: bool = typer.Option(False, "--json", help="Print the findings as JSON."),
) -> None:
    """Check a corpus: what is wrong with it, where, and what to do about it."""
    from regard.api.corpora import doctor as check_corpus

    diagnosis = check_corpus(
        *files, dev=dev, test=test, source=source, target=target, keep=keep or (), drop=drop or (), fix=fix
    )
    if as_json:
        print(json.dumps(diagnosis.as_dict(), ensure_ascii=False, indent=1))
    else:
        print("\n".join(diagnosis.format_lines()))
    if fix is not None:
        typer.echo(f"written: {fix}", err=True)
