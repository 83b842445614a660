"""regard import, regard export"""

from pathlib import Path

import typer


def import_(
    folder: Path = typer.Argument(..., help="A model folder of the transformers library (OPUS-MT, BERT)."),
    out: Path | None = typer.Option(None, help="Run folder to create; runs/<name of the folder> if unset."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing run."),
) -> None:
    """Import a model that was trained elsewhere as a run."""
    from regard.jobs.convert import import_folder

    run = out or Path("runs") / folder.resolve().name
    for note in import_folder(folder, run, overwrite):
        typer.echo(note, err=True)
    typer.echo(f"written: {run}", err=True)


def export(
    run: Path = typer.Argument(..., help="Run folder."),
    to: str = typer.Option(..., help="Format: marian (for the transformers library) or ctranslate2."),
    quantize: str = typer.Option("none", help="none or int8 (only for ctranslate2)."),
    out: Path | None = typer.Option(None, help="Folder to create; <run>-<format> if unset."),
) -> None:
    """Export a run in the format of another program."""
    from regard.jobs.convert import export_run

    folder = out or run.with_name(f"{run.resolve().name}-{to}")
    export_run(run, to, folder, quantize)
    typer.echo(f"written: {folder}", err=True)
