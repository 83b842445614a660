"""regard import, regard export"""

from pathlib import Path

import typer

from regard.cli.options import FILES, MODEL, OUTPUT, OVERWRITE, RUN, argument, option


def import_(
    folder: Path = argument("FOLDER", "A model folder of the transformers library (OPUS-MT, BERT, GPT-2)."),
    out: Path | None = option(OUTPUT, "FOLDER", "Run folder to create; runs/<name of the folder> if unset."),
    overwrite: bool = OVERWRITE,
) -> None:
    """Import a model that was trained elsewhere as a run.

    Examples:
      regard import opus-mt-en-fr
      regard import models/opus-mt-en-fr --out runs/opus --overwrite

    Read more: docs/howto/opus_mt.md
    """
    from regard.api.runs import import_model
    from regard.jobs.convert import CAPABILITIES

    run = import_model(folder, out, overwrite=overwrite)
    capability = CAPABILITIES[run.config.model.architecture]
    typer.echo(
        f"{folder}: {run.parameters:,} parameters, {run.config.data.vocab_size:,} tokens; it {capability}", err=True
    )
    typer.echo(f"written: {run.folder}", err=True)


def export(
    run: Path = RUN,
    to: str = option(
        FILES, "FORMAT", "Format: marian (for the transformers library), ctranslate2, or html (a page).", default=...
    ),
    quantize: str | None = option(
        MODEL, "KIND", "Precision of the weights: none, or int8 (ctranslate2, html). Unset: int8 for html, else none."
    ),
    out: Path | None = option(
        OUTPUT, "FOLDER", "Folder, or file of a page, to create; <run>-<format> or <run>.html if unset."
    ),
    title: str = option(OUTPUT, "TEXT", "Title of a page; its languages if unset.", default=""),
    note: str = option(
        OUTPUT, "TEXT", "A note at the foot of a page: where the text is from, whom to ask.", default=""
    ),
    max_mb: float = option(
        OUTPUT, "NUMBER", "Megabytes that a page may have; a model that needs more is refused.", default=30.0
    ),
) -> None:
    """Export a run in the format of another program, or as a page that translates in a browser, offline.

    Examples:
      regard export runs/mine --to html --title "Minutes, German to English"
      regard export runs/mine --to marian
      regard export runs/mine --to ctranslate2 --quantize int8 --out exported

    Read more: docs/howto/page.md
    """
    from regard.api.runs import export as export_run

    path = export_run(run, to, out, quantize=quantize, title=title, note=note, max_mb=max_mb)
    typer.echo(f"written: {path}", err=True)
