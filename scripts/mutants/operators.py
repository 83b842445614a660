"""The small faults that can be planted in a file: a fixed list of changes of its syntax tree.

Strings, docstrings, annotations, decorators, `__all__` and the insides of f-strings are left alone: a message is not a
truth.
"""

import ast
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitAnd: (ast.BitOr,),
}
_PAIRS = (
    ("min", "max"),
    ("any", "all"),
    ("amin", "amax"),
    ("argmin", "argmax"),
    ("minimum", "maximum"),
    ("sum", "mean"),
    ("floor", "ceil"),
    ("tril", "triu"),
    ("zeros", "ones"),
    ("startswith", "endswith"),
    ("lstrip", "rstrip"),
)
_OPPOSITES = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
_SYMMETRIC = {"min", "max", "minimum", "maximum", "isinstance", "transpose"}  # min(a, b) is min(b, a)
# Methods that return something of the kind of their object: the fault is to forget the call.
_FORGETTABLE = {
    *("detach", "abs", "exp", "log", "sqrt", "square", "sigmoid", "neg", "logical_not", "bool", "clamp", "clamp_min"),
    *("strip", "lstrip", "rstrip", "lower", "casefold", "copy", "eval", "flip", "cumsum", "masked_fill"),
}
# Keyword arguments that change nothing on the machines that test, in code that is right.
_KEPT_KEYWORDS = {
    "device",
    "encoding",
    "strict",
    "stacklevel",
    "frozen",
    "slots",
    "non_blocking",
    "pin_memory",
    "daemon",
}

_WHOLE = (ast.Constant, ast.Name, ast.Call, ast.Attribute, ast.Subscript)  # these need no parentheses
_Node = TypeVar("_Node", bound=ast.AST)


@dataclass(frozen=True)
class Fault:
    """One change: the text between two offsets of the source becomes another."""

    file: str
    line: int
    lines: tuple[int, int]  # of the statement, or of the head of a compound one
    start: int
    end: int
    text: str
    operator: str
    function: str  # the outermost function, by its qualified name; empty for code that runs at import
    occurrence: int = 0  # which one of that name: a property and its setter share theirs

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


@dataclass(frozen=True)
class _Place:
    statement: ast.stmt
    function: str
    occurrence: int


def _same(node: _Node, **changes: object) -> _Node:
    return type(node)(**{**dict(ast.iter_fields(node)), **changes})


def _compare(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                yield _same(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and not (_is_text(node.left) or _is_text(node.right)):
        for other in _ARITHMETIC.get(type(node.op), ()):
            yield _same(node, op=other())
    if isinstance(node, ast.AugAssign) and not _is_text(node.value):
        for other in _ARITHMETIC.get(type(node.op), ()):
            yield _same(node, op=other())


def _boolean(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield _same(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield node.operand
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield node.operand


def _constant(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
        if value > 0:
            yield ast.Constant(value - 1)
    elif isinstance(value, float):
        yield ast.Constant(value * 2 if value else 1.0)


def _call(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Call):
        return
    arguments = node.args
    first = arguments[:2]
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    different = len({ast.dump(argument) for argument in first if not isinstance(argument, ast.Starred)}) == 2
    if different and name not in _SYMMETRIC:
        yield _same(node, args=[*reversed(first), *arguments[2:]])
    for i, keyword in enumerate(node.keywords):
        if keyword.arg and keyword.arg not in _KEPT_KEYWORDS:
            yield _same(node, keywords=[*node.keywords[:i], *node.keywords[i + 1 :]])
    if isinstance(node.func, ast.Name):
        if node.func.id in _OPPOSITES:
            yield _same(node, func=ast.Name(_OPPOSITES[node.func.id], ast.Load()))
        if node.func.id in ("sorted", "reversed", "abs") and arguments:
            yield ast.Call(ast.Name("list", ast.Load()), arguments[:1], []) if node.func.id != "abs" else arguments[0]
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in _OPPOSITES:
            yield _same(node, func=_same(node.func, attr=_OPPOSITES[node.func.attr]))
        if node.func.attr in _FORGETTABLE and getattr(node.func.value, "id", "") not in ("torch", "np", "math", "F"):
            yield node.func.value


def _index(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return
    index = node.slice
    if isinstance(index, ast.Constant) and index.value == 0:
        yield _same(node, slice=ast.UnaryOp(ast.USub(), ast.Constant(1)))
    elif isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        if isinstance(index.operand, ast.Constant) and index.operand.value == 1:
            yield _same(node, slice=ast.Constant(0))
    elif isinstance(index, ast.Slice):
        if index.lower:
            yield _same(node, slice=_same(index, lower=None))
        if index.upper:
            yield _same(node, slice=_same(index, upper=None))


def _condition(node: ast.AST) -> Iterator[ast.AST]:
    """The test of an if, a while or a comprehension, negated where no other operator does it."""
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    for test in tests:
        if not isinstance(test, ast.Compare | ast.Constant) and not (
            isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        ):
            yield ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _removal(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()
    if isinstance(node, ast.AugAssign | ast.Break | ast.Continue):
        yield ast.Pass()
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript):
        yield ast.Pass()
    if isinstance(node, ast.Raise):
        yield ast.Pass()


OPERATORS: dict[str, Callable[[ast.AST], Iterator[ast.AST]]] = {
    "comparison": _compare,
    "arithmetic": _arithmetic,
    "boolean": _boolean,
    "constant": _constant,
    "call": _call,
    "index": _index,
    "condition": _condition,
    "removal": _removal,
}


def _skipped(node: ast.AST) -> bool:
    """Annotations are skipped by the fields that are walked; this is the rest."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if isinstance(node, ast.keyword) and node.arg in _KEPT_KEYWORDS:
        return True
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").startswith("__")


_UNWALKED = {"annotation", "returns", "decorator_list", "type_comment", "type_params"}


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for field, value in ast.iter_fields(node):
        if field not in _UNWALKED:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _skipped(child):
                    yield child


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, _Place]]:
    """Every node that may change, with its statement and its outermost function."""
    names: dict[str, int] = {}
    placeless = _Place(ast.Pass(lineno=1, end_lineno=1), "", 0)

    def visit(node: ast.AST, place: _Place, prefix: str) -> Iterator[tuple[ast.AST, _Place]]:
        if isinstance(node, ast.stmt):
            place = _Place(node, place.function, place.occurrence)
        yield node, place
        if isinstance(node, ast.FunctionDef) and not place.function:
            name = prefix + node.name
            occurrence = names[name] = names.get(name, -1) + 1
            for child in _children(node.args):
                yield from visit(child, place, prefix)  # defaults: they run at import
            for child in node.body:
                if not _skipped(child):
                    yield from visit(child, _Place(child, name, occurrence), prefix)
        else:
            prefix = prefix + node.name + "." if isinstance(node, ast.ClassDef) else prefix
            for child in _children(node):
                yield from visit(child, place, prefix)

    for child in _children(tree):
        yield from visit(child, placeless, "")


def _head(statement: ast.stmt) -> tuple[int, int]:
    body = getattr(statement, "body", None)
    last = max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno
    return statement.lineno, int(last or statement.lineno)


def faults(file: str, source: bytes) -> list[Fault]:
    """All faults that can be planted in a file, in its order."""
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    found = []
    for node, place in _walk(ast.parse(source)):
        for operator, changes in OPERATORS.items():
            for change in changes(node):
                at = change if operator == "condition" else node
                start = starts[at.lineno - 1] + at.col_offset  # type: ignore[attr-defined]
                end = starts[at.end_lineno - 1] + at.end_col_offset  # type: ignore[attr-defined]
                text = ast.unparse(ast.fix_missing_locations(change))
                if isinstance(change, ast.expr) and not isinstance(change, _WHOLE):
                    text = f"({text})"
                lines = _head(place.statement)
                found.append(
                    Fault(file, at.lineno, lines, start, end, text, operator, place.function, place.occurrence)  # type: ignore[attr-defined]
                )
    return list(dict.fromkeys(found))


def compiles(fault: Fault, source: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(fault.apply(source), fault.file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
