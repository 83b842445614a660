"""Assignments: a function with its body removed, what is true of every correct one, and the mistakes that are known.

    write_blank("attend", hints=1)      the file that is handed out
    check_file(Path("mine.py"))         truths from simple to strict, the first that fails, the mistake by name
    load_parts(Path("mine.py"))         the student's functions, as parts of labs and models
    grade(Path("submissions"), seed=7)  the same for a class

A student's file runs in a process of its own, with limits on time, memory and output. That is no sandbox: a file that
means harm can do what the user can do who runs the check.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import LabError

if TYPE_CHECKING:
    from regard.labs.checker.process.limits import CheckLimits
    from regard.labs.checker.results import CheckResult, Grade

# Imports stand within functions: the process that checks imports PyTorch, the one that asks need not.


def assignment_names() -> tuple[str, ...]:
    """All assignments, in the order in which a Transformer is built."""
    from regard.labs.checker.assignments import ASSIGNMENTS

    return tuple(ASSIGNMENTS)


def write_blank(name: str, hints: int) -> str:
    """The text of the file of an assignment, with hints from 0 (none) to 2 (shapes and steps)."""
    from regard.labs.checker.blank import write_assignment

    return write_assignment(name, hints)


def check_file(
    path: Path, seed: int = 1, allow_regard: bool = False, limits: "CheckLimits | None" = None
) -> tuple["CheckResult", ...]:
    """Check each assignment that a file defines; LabError if it defines none, or cannot be loaded."""
    _require_fork()
    from regard.labs.checker.process.client import CheckServer
    from regard.labs.checker.process.limits import CheckLimits
    from regard.labs.checker.process.student import defined_functions

    defined_functions(path, allow_regard)  # before a process is started
    with CheckServer(limits or CheckLimits()) as server:
        return server.check(path, seed, allow_regard)


def grade(folder: Path, seed: int, limits: "CheckLimits | None" = None) -> tuple["Grade", ...]:
    """Check all submissions of a folder, each of which is a file or a folder with files."""
    _require_fork()
    from regard.labs.checker.grading import grade_folder
    from regard.labs.checker.process.client import CheckServer
    from regard.labs.checker.process.limits import CheckLimits

    with CheckServer(limits or CheckLimits()) as server:
        return grade_folder(folder, seed, server)


def load_parts(path: Path) -> dict[str, Callable[..., Any]]:
    """A student's functions by name, to be used in this process; `check_file` says whether they are right."""
    from regard.labs.checker.parts import load_assignment_functions

    return load_assignment_functions(path)


def _require_fork() -> None:
    if not hasattr(os, "fork"):
        raise LabError("checking needs Linux, macOS or WSL: this system cannot fork a process for a student's function")
