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
    from regard.api.models import import_model
    from regard.jobs.convert import CAPABILITIES

    run = import_model(folder, out, overwrite=overwrite)
    capability = CAPABILITIES[run.config.model.architecture]
    typer.echo(
        f"{folder}: {run.parameters:,} parameters, {run.config.data.vocab_size:,} tokens; it {capability}", err=True
    )
    typer.echo(f"written: {run.folder}", err=True)


def export(
    run: Path = RUN,
    to: str = option(FILES, "FORMAT", "Format: marian (for the transformers library) or ctranslate2.", default=...),
    quantize: str = option(
        MODEL, "KIND", "Precision of the weights: none, or int8 (for ctranslate2 alone).", default="none"
    ),
    out: Path | None = option(OUTPUT, "FOLDER", "Folder to create; <run>-<format> if unset."),
) -> None:
    """Export a run in the format of another program.

    Examples:
      regard export runs/mine --to marian
      regard export runs/mine --to ctranslate2 --quantize int8 --out exported

    Read more: docs/howto/opus_mt.md
    """
    from regard.api.models import export as export_run

    typer.echo(f"written: {export_run(run, to, out, quantize=quantize)}", err=True)
