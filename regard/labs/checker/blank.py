"""The file of an assignment: signature, annotations and docstring of a function whose body is to be written."""

import ast
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from difflib import get_close_matches

from regard.errors import LabError
from regard.labs.checker.assignment import Assignment, Function
from regard.labs.checker.assignments import ASSIGNMENTS

HINTS = range(3)
SHAPE = re.compile(r"\([^()]*\b[BDFHKSTV]\w?\b[^()]*\)")


def find_assignment(name: str) -> Assignment:
    """The assignment of this name, or an error with those of similar names."""
    if name not in ASSIGNMENTS:
        close = get_close_matches(name, ASSIGNMENTS, n=2, cutoff=0.5) or [one for one in ASSIGNMENTS if name in one]
        hint = f"did you mean {' or '.join(close)}?" if close else f"available: {', '.join(ASSIGNMENTS)}"
        raise LabError(f"there is no assignment '{name}'; {hint}")
    return ASSIGNMENTS[name]


def write_assignment(name: str, hints: int) -> str:
    """The text of the file to hand out. Hints: 0 none, 1 shapes on the way, 2 also the equation step by step."""
    assignment = find_assignment(name)
    if hints not in HINTS:
        raise LabError(f"hints={hints}: there are levels 0 (none), 1 (shapes) and 2 (shapes and steps)")
    signature = _signature(assignment.reference)
    steps = [f"{n}. {step}" for n, step in enumerate(assignment.steps, 1)] if hints > 1 else []
    shapes = [f"shape of {line}" for function in assignment.shapes for line in read_shapes(function)] if hints else []
    comments = [f"    # {line}" for line in (*shapes, *steps)]
    body = f'    raise NotImplementedError("{name} is yours to write")'
    imports = ["from torch import Tensor"]
    imports[:0] = ["import torch"] if "torch." in signature else []
    imports[:0] = ["from collections.abc import Callable", ""] if "Callable[" in signature else []
    head = f'"""Assignment: {name}.  `regard lab --check FILE` checks it."""'
    return "\n".join([head, "", *imports, "", "", signature, *comments, body, ""])


def _signature(function: Function) -> str:
    """The lines of a function up to the end of its docstring, as they are: comments and annotations included."""
    source = textwrap.dedent(inspect.getsource(function))
    definition = ast.parse(source).body[0]
    assert isinstance(definition, ast.FunctionDef)
    docstring = definition.body[0]
    return "\n".join(source.split("\n")[: docstring.end_lineno])


def read_shapes(function: Function) -> Iterator[str]:
    """The comments of a function that say shapes, each with the name that its line assigns."""
    source = textwrap.dedent(inspect.getsource(function))
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and SHAPE.search(token.string):
            line = lines[token.start[0] - 1]
            name = re.match(r"\s*([\w, ]+?) = ", line)
            shape = token.string.lstrip("# ").split(";")[0]
            yield f"{name[1] if name else function.__name__.strip('_')}: {shape}"
