"""regard report"""

from pathlib import Path

import typer

from regard.errors import RunError


def report(
    folder: Path = typer.Argument(..., help="Study folder (or a run, whose page is already there)."),
    all_tests: bool = typer.Option(
        False, "--all-tests", help="Show test scores of every trial, not of the chosen alone."
    ),
    pads_counted: bool = typer.Option(
        False, "--pads-counted", help="Also show accuracy and loss as they would look if padding counted."
    ),
    storage: str | None = typer.Option(None, metavar="URL", help="Of the study, if it needs a password."),
) -> None:
    """Write the page of a study: one offline file with tables, charts, and what they say in words."""
    from regard.run import Run, is_run
    from regard.tuning.folder import is_study_folder

    if is_run(folder) and not is_study_folder(folder):
        if not Run(folder).report.exists():
            if not Run(folder).log.exists():
                raise RunError(
                    f"{folder}: was imported or pruned, not trained; `regard evaluate` and `heads` tell of it."
                )
            raise RunError(f"{folder}: its report is written when training ends; go on with `regard train --resume`.")
        print(Run(folder).report)
        return
    from regard.tuning.open_study import load_study
    from regard.tuning.pages.study import write_study_page

    print(write_study_page(load_study(folder, storage), all_tests, pads_counted))
