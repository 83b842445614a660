"""regard doctor"""

import json
from pathlib import Path

import typer

from regard.cli.options import DEV, FILES, LABEL, OUTPUT, PAIR, TEXT, TEXT_PAIR, argument, flag, option

TASK = option(
    FILES,
    "KIND",
    "What the files are for: translate (pairs), classify (texts with labels) or tag (sentences of tagged words).",
    default="translate",
)


def doctor(
    files: list[str] = argument("FILES", "Training pairs: text files, .tsv, .jsonl, .po, .tmx, .xlf, or folders."),
    dev: list[str] | None = DEV,
    test: list[str] | None = option(FILES, PAIR, "Test pairs; training pairs with the same source are dropped."),
    source: str = option(FILES, "CODE", "Language code of the source side, such as en.", default=""),
    target: str = option(FILES, "CODE", "Language code of the target side, such as fr.", default=""),
    keep: list[str] | None = option(
        FILES, "KIND", "Kind of finding to keep, although it is dropped by default, such as ratio. May be repeated."
    ),
    drop: list[str] | None = option(
        FILES,
        "KIND",
        "Kind of finding to drop, although it is only noted by default, such as duplicate. May be repeated.",
    ),
    task: str = TASK,
    text_column: str | None = TEXT,
    text_pair_column: str | None = TEXT_PAIR,
    label_column: str | None = LABEL,
    fix: Path | None = option(OUTPUT, "FOLDER", "Write a clean copy of the corpus into this folder."),
    as_json: bool = flag(OUTPUT, "Print the findings as JSON.", "--json"),
) -> None:
    """Check a corpus: what is wrong with it, where, and what to do about it.

    Examples:
      regard doctor train.en train.fr --dev dev.en dev.fr --source en --target fr
      regard doctor pairs.tsv --drop duplicate --keep ratio --fix clean
      regard doctor train.csv --test test.csv --task classify
      regard doctor train.conll --dev dev.conll --task tag

    Read more: docs/tutorial/first_translator.md
    """
    from regard.api.corpora import doctor as check_corpus
    from regard.display.console import is_verbose, terminal_width
    from regard.display.views.doctor import format_diagnosis

    diagnosis = check_corpus(
        *files,
        dev=dev,
        test=test,
        source=source,
        target=target,
        keep=keep or (),
        drop=drop or (),
        fix=fix,
        task=task,
        text_column=text_column or "",
        text_pair_column=text_pair_column or "",
        label_column=label_column or "",
    )
    if as_json:
        print(json.dumps(diagnosis.as_dict(), ensure_ascii=False, indent=1))
    else:
        print("\n".join(format_diagnosis(diagnosis, terminal_width(), is_verbose())))
    if fix is not None:
        typer.echo(f"written: {fix}", err=True)
