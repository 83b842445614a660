"""regard report"""

from pathlib import Path

import typer


def report(
    folder: Path = typer.Argument(
        ..., help="Study folder, or run folder, whose report was written at the end of training."
    ),
    all_tests: bool = typer.Option(
        False, "--all-tests", help="Show the test scores of every trial, not only of the selected one."
    ),
    pads_counted: bool = typer.Option(
        False, "--pads-counted", help="Also show accuracy and loss as they would be if padding counted."
    ),
    storage: str | None = typer.Option(
        None, metavar="URL", help="Storage URL, including the password if one is needed."
    ),
) -> None:
    """Write the page of a study: one offline HTML file with tables, charts and conclusions."""
    from regard.api.studies import write_report

    print(write_report(folder, all_tests=all_tests, pads_counted=pads_counted, storage=storage))
