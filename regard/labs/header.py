"""What a lab's file says about itself, read without running it: fast, and safe with a file of another author."""

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.errors import LabError

TEXTS = ("CLAIM", "SOURCE", "PREDICT", "CHANGE")
MAX_LINES = 100


@dataclass(frozen=True)
class LabHeader:
    """The texts and the knobs of a lab."""

    path: Path
    title: str
    claim: str
    source: str
    predict: str
    change: str
    claims: tuple[int, ...]
    """The numbers of the claims in claims.tsv that it answers."""
    turn: dict[str, tuple[Any, ...]]
    """One knob and the values that a page shows beforehand."""
    functions: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    """Those of run, in its order: `seeds`, its mechanisms, and `sentences` where it takes any."""
    knobs: dict[str, Any] = field(default_factory=dict)
    """Its constants in capitals that are written as literals, texts of the header left out."""

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def theme(self) -> str:
        """The folder that the lab is in."""
        return self.path.parent.name


def read_header(path: Path) -> LabHeader:
    """The header of a lab's file, or an error that says what it lacks."""
    tree = parse_source(path)
    values = {name: value for statement in tree.body for name, value in _constants(statement)}
    definitions = {statement.name: statement for statement in tree.body if isinstance(statement, ast.FunctionDef)}
    functions = tuple(definitions)
    if "run" not in functions:
        raise LabError(f"{path} is not a lab: it has no function run(seeds); `regard lab --new NAME` writes one")
    title = (ast.get_docstring(tree) or "").partition("\n")[0].rstrip(".")
    missing = [name for name in TEXTS if not isinstance(values.get(name), str)]
    if missing or not title:
        absent = [*(["a title, the docstring of the file"] if not title else []), *missing]
        raise LabError(f"{path} is not a complete lab: it lacks {', '.join(absent)}")
    claim, source, predict, change = (values[name] for name in TEXTS)
    claims, turn = values.get("CLAIMS", ()), values.get("TURN", {})
    if not (isinstance(claims, tuple) and all(type(number) is int for number in claims)):
        raise LabError(f"{path}: CLAIMS is {claims!r}; expected a tuple of numbers, as (21,)")
    if not (isinstance(turn, dict) and all(isinstance(values, tuple) and values for values in turn.values())):
        raise LabError(f"{path}: TURN is {turn!r}; expected a knob and its values, as {{'DIM': (16, 64)}}")
    arguments = definitions["run"].args
    parameters = tuple(one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
    knobs = {name: value for name, value in values.items() if name not in (*TEXTS, "CLAIMS", "TURN")}
    return LabHeader(path, title, claim, source, predict, change, claims, turn, functions, parameters, knobs)


def parse_source(path: Path) -> ast.Module:
    """The syntax tree of a file of Python, or an error with line and column."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise LabError(f"{path} is not a file of Python: it is not UTF-8 text") from error
    try:
        return ast.parse(text, filename=str(path))
    except SyntaxError as error:
        place = f", line {error.lineno}, column {error.offset}" if error.lineno else ""
        raise LabError(f"{path}{place}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise LabError(f"{path} is not a file of Python: {str(error) or 'it is nested too deeply'}") from error


def _constants(statement: ast.stmt) -> list[tuple[str, Any]]:
    """Names in capitals and their values, where these are written down as literals."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    try:
        value = ast.literal_eval(statement.value)
    except (ValueError, TypeError, SyntaxError):
        return []
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple) and isinstance(value, tuple):
        names = [target.id for target in targets[0].elts if isinstance(target, ast.Name)]
        return list(zip(names, value, strict=False))
    return [(target.id, value) for target in targets if isinstance(target, ast.Name) and target.id.isupper()]
