"""Functions of the Transformer as assignments: blank ones, and what is checked of those that were written."""

from pathlib import Path
from typing import TYPE_CHECKING

from regard.api.arguments import AnyPath
from regard.atomic import check_output, open_output
from regard.errors import LabError
from regard.report import to_csv
from regard.report.table import Table

if TYPE_CHECKING:
    from regard.labs.checker.results import CheckResult, Grade

MAX_HINTS = 2


def assignments() -> tuple[str, ...]:
    """The names of the functions that `blank_assignment` writes and `check_assignment` checks."""
    from regard.labs.checker import assignment_names

    return tuple(assignment_names())


def blank_assignment(name: str, out: AnyPath, hints: int = 0) -> Path:
    """Write a function of the Transformer without its body: to be written by a student.

    `hints`: 0 none, 1 the shapes, 2 the equation as well. An existing file is never replaced.
    """
    path = Path(out)
    if not 0 <= hints <= MAX_HINTS:
        raise LabError(f"hints={hints}: expected 0, 1 or {MAX_HINTS}")
    from regard.labs.checker import write_blank

    text = write_blank(name, hints)
    if path.exists():
        raise LabError(f"{path} exists and is not replaced; name another file with --out")
    with open_output(path) as file:
        file.write(text.encode())
    return path


def check_assignment(file: AnyPath, seed: int = 1) -> tuple["CheckResult", ...]:
    """Check what a student has written: for each function the first truth that fails, and the mistake by name."""
    from regard.labs.checker import check_file

    return tuple(check_file(Path(file), seed=seed))


def grade_assignments(folder: AnyPath, csv: AnyPath | None = None, seed: int = 1) -> tuple["Grade", ...]:
    """Check all files of a folder, and write a row for each into a CSV file."""
    from regard.labs.checker import grade

    if csv is not None:
        check_output(Path(csv))
    grades = tuple(grade(Path(folder), seed))
    if csv is not None:
        with open_output(Path(csv)) as file:
            file.write(to_csv(Table.from_rows(one.as_dict() for one in grades)).encode())
    return grades
