"""regard import, regard export"""

from pathlib import Path

import typer


def import_(
    folder: Path = typer.Argument(..., help="A model folder as the transformers library writes it (OPUS-MT, BERT)."),
    out: Path | None = typer.Option(None, help="Run folder to make; runs/<name of the folder> if unset."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace the run that is there."),
) -> None:
    """Make a run out of a model that was trained elsewhere, as if it had been trained here."""
    from regard.jobs.convert import import_folder

    run = out or Path("runs") / folder.resolve().name
    for note in import_folder(folder, run, overwrite):
        typer.echo(note, err=True)
    typer.echo(f"written: {run}", err=True)


def export(
    run: Path = typer.Argument(..., help="Run folder."),
    to: str = typer.Option(..., help="The format: marian (for the transformers library) or ctranslate2."),
    quantize: str = typer.Option("none", help="int8: weights of eight bits (ctranslate2)."),
    out: Path | None = typer.Option(None, help="Folder to make; <run>-<format> if unset."),
) -> None:
    """Write a run as other programs read it."""
    from regard.jobs.convert import export_run

    folder = out or run.with_name(f"{run.resolve().name}-{to}")
    export_run(run, to, folder, quantize)
    typer.echo(f"written: {folder}", err=True)
