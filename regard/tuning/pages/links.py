"""Links from a page to the reports of the runs that it is about."""

import os
from pathlib import Path
from urllib.parse import quote

from regard.files import resolve
from regard.run import Run


def link_report(run: Run | None, page_folder: Path) -> str:
    """Where the report of a run is, seen from a page in this folder; empty where there is none."""
    if run is None or not run.report.exists():
        return ""
    try:
        path = os.path.relpath(resolve(run.report), resolve(page_folder))
    except ValueError:  # on another drive
        return ""
    return quote(path.replace(os.sep, "/"))
