"""The page of a folder, a run or a study, which is written again."""

from pathlib import Path

from regard.jobs.report import redraw_report
from regard.run import Run, is_run
from regard.tuning.folder import is_study_folder
from regard.tuning.open_study import load_study
from regard.tuning.pages.study import write_study_page


def open_report(folder: Path, all_tests: bool = False, pads_counted: bool = False, storage: str | None = None) -> Path:
    """The path of the page. `all_tests` and `pads_counted` are for studies, as in `write_study_page`."""
    if is_run(folder) and not is_study_folder(folder):
        return redraw_report(Run(folder))
    return write_study_page(load_study(folder, storage), all_tests, pads_counted)
