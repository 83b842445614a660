"""Functions, methods and classes of the package that nothing but tests refers to.

    python scripts/unused.py

A name counts as used where the package, its benchmarks or its scripts load it, other than to import it, export it or
define it. Names that other libraries call, functions that a decorator registers, and the public API are left out.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PUBLIC = ROOT / "regard" / "api"
CALLED_BY_LIBRARIES = {"_repr_html_", "forward", "backward", "step", "log_message", "emit", "format_help", "main"}
CALLED_BY_LIBRARIES |= {"do_GET", "handle_error"}  # of http.server
CALLED_BY_LIBRARIES |= {"readable", "visit_Attribute"}  # of a file object, of ast.NodeTransformer
REGISTERED = {"command", "callback", "register", "model_validator", "field_validator", "overload"}


def trees(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def is_registered(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator hands the function to something that calls it."""
    names = {
        part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")
        for decorator in node.decorator_list
        for part in ast.walk(decorator)
    }
    return bool(names & REGISTERED)


def defined() -> Iterator[tuple[str, str]]:
    """Every name that is defined, and where."""
    for path, tree in trees("regard"):
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or is_registered(node):
                continue
            if path.is_relative_to(PUBLIC) and not node.name.startswith("_"):
                continue
            if not node.name.startswith("__") and node.name not in {*CALLED_BY_LIBRARIES, "_"}:
                yield node.name, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def loaded() -> Counter[str]:
    """How often each name is referred to."""
    counts: Counter[str] = Counter()
    for _, tree in trees("regard", "benchmarks", "scripts"):
        exports = {
            id(item)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
            for item in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                counts[node.id] += 1
            elif isinstance(node, ast.Attribute):
                counts[node.attr] += 1
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in exports:
                counts[node.value] += 1  # getattr, annotations in quotes, lazy imports
    return counts


def unused() -> list[str]:
    counts = loaded()
    return [where for name, where in defined() if not counts[name]]


if __name__ == "__main__":
    print("\n".join(unused()) or "nothing is unused")
