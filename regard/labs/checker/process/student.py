"""A student's file: read without running it, then loaded with Regard's own solution out of reach.

This is no sandbox. It keeps a solution from being imported by mistake or in passing; code that means harm can do what
the user who runs it can do.
"""

import ast
import importlib.abc
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from regard.errors import LabError
from regard.labs.header import parse_source

MODULE_NAME = "student_submission"
OWN_PACKAGE = "regard"


class OwnSolutionError(ImportError):
    """The file imports Regard, which has the solution."""


def defined_functions(path: Path, allow_regard: bool = False) -> tuple[str, ...]:
    """The functions that a file defines, read from its text; LabError for a file that cannot be checked."""
    tree = parse_source(path)
    if not allow_regard:
        _refuse_imports(path, tree)
    return tuple(one.name for one in tree.body if isinstance(one, ast.FunctionDef))


def _refuse_imports(path: Path, tree: ast.Module) -> None:
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        if any(name.split(".")[0] == OWN_PACKAGE for name in names):
            raise LabError(f"{path}, line {getattr(node, 'lineno', 0)}: {OWN_IMPORT}")


OWN_IMPORT = f"it imports {OWN_PACKAGE}, which has the solution; an assignment is written with torch alone"


def load_functions(path: Path) -> ModuleType:
    """Run a student's file as a module. What it raises is raised."""
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@contextmanager
def without_own_package() -> Iterator[None]:
    """Within, `import regard` fails, however it is written; modules that hold parts of it keep them."""
    hidden = {name: module for name, module in sys.modules.items() if _is_own(name)}
    for name in hidden:
        del sys.modules[name]
    finder = _RefuseOwn()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.modules.update(hidden)


class _RefuseOwn(importlib.abc.MetaPathFinder):
    """Asked before all others where a module is."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if _is_own(name):
            raise OwnSolutionError(OWN_IMPORT)
        return None


def _is_own(name: str) -> bool:
    return name.split(".")[0] == OWN_PACKAGE


def describe_error(path: Path) -> Callable[[BaseException], str]:
    """A function that puts an error into a sentence, with the line of the student's file in which it arose."""

    def describe(error: BaseException) -> str:
        line = next(
            (frame.lineno for frame in reversed(traceback.extract_tb(error.__traceback__)) if _is_at(frame, path)), None
        )
        place = f" in line {line}" if line else ""
        text = " ".join(str(error).split())[:300]
        if isinstance(error, NotImplementedError):
            return f"it is still to be written: NotImplementedError{place}"
        if isinstance(error, OwnSolutionError):
            return f"{OWN_IMPORT}{f' (line {line})' if line else ''}"
        if isinstance(error, SystemExit):
            return f"it ends the program{place}, by exit() or sys.exit(); a function returns its result"
        if isinstance(error, MemoryError) or "not enough memory" in text or "can't allocate memory" in text:
            return f"it asks for more memory{place} than a check allows"
        return f"it raises {type(error).__name__}{place}{f': {text}' if text else ''}"

    return describe


def _is_at(frame: Any, path: Path) -> bool:
    return Path(frame.filename) == path
