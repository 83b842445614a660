"""regard import, regard export"""

from pathlib import Path

import typer


def import_(
    folder: Path = typer.Argument(..., help="A model folder of the transformers library (OPUS-MT, BERT)."),
    out: Path | None = typer.Option(None, help="Run folder to create; runs/<name of the folder> if unset."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing run."),
) -> None:
    """Import a model that was trained elsewhere as a run."""
    from regard.api.models import import_model

    run = import_model(folder, out, overwrite=overwrite)
    capability = "translates" if run.config.model.architecture == "encoder-decoder" else "embeds text"
    typer.echo(f"{folder}: {run.parameters:,} parameters; it {capability}", err=True)
    typer.echo(f"written: {run.folder}", err=True)


def export(
    run: Path = typer.Argument(..., help="Run folder."),
    to: str = typer.Option(..., help="Format: marian (for the transformers library) or ctranslate2."),
    quantize: str = typer.Option("none", help="none or int8 (only for ctranslate2)."),
    out: Path | None = typer.Option(None, help="Folder to create; <run>-<format> if unset."),
) -> None:
    """Export a run in the format of another program."""
    from regard.api.models import export as export_run

    typer.echo(f"written: {export_run(run, to, out, quantize=quantize)}", err=True)
