"""Grading a folder of submissions: each is a file, or a folder with files."""

from pathlib import Path

from regard.errors import LabError
from regard.labs.checker.process.client import CheckServer
from regard.labs.checker.results import Grade, grade_results


def grade_folder(folder: Path, seed: int, server: CheckServer) -> tuple[Grade, ...]:
    """The grades of all functions of all submissions, in the order of their names."""
    if not folder.is_dir():
        raise LabError(f"{folder} is not a folder of submissions")
    submissions = [
        path for path in sorted(folder.iterdir()) if not path.name.startswith((".", "__")) and _has_code(path)
    ]
    if not submissions:
        raise LabError(f"{folder} has no submissions: neither files of Python nor folders with some")
    return tuple(grade for path in submissions for grade in _grade_submission(path, seed, server))


def _has_code(path: Path) -> bool:
    return path.suffix == ".py" or (path.is_dir() and any(path.rglob("*.py")))


def _grade_submission(path: Path, seed: int, server: CheckServer) -> list[Grade]:
    """The grades of the files that define assignments; if none does, why not."""
    grades: list[Grade] = []
    problems: list[str] = []
    for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
        try:
            grades += grade_results(path.stem if path.is_file() else path.name, server.check(file, seed, False))
        except LabError as error:
            problems.append(str(error))
    if grades:
        return grades
    return [Grade(path.stem if path.is_file() else path.name, "", 0, 0, problems[0], "")]
