"""Bundles plain ES modules into one script: a page opened from a folder cannot load modules."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from importlib.resources.abc import Traversable

from regard.errors import RegardError

IMPORT = re.compile(r'^import \{ ?([\w, ]+?) ?\} from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
EXPORT_NAME = re.compile(r"^export (?:async )?(?:function\*?|const|class) (\w+)", re.MULTILINE)


def bundle_script(folder: Traversable, entry: str) -> str:
    """The module and all its imports, each in its own scope, dependencies first."""
    order: list[str] = []
    _visit(folder, entry, order, [])
    return "\n".join(_wrap_module(name, _source(folder, name)) for name in order)


def static_resource(*path: str) -> Traversable:
    """A file or folder of the package."""
    resource: Traversable = files("regard.report") / "static"
    for name in path:
        resource = resource / name
    return resource


def csp_hash(text: str) -> str:
    """The hash by which a Content-Security-Policy allows one inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _visit(folder: Traversable, name: str, order: list[str], path: list[str]) -> None:
    if name in path:
        raise RegardError(f"modules import in a circle: {' -> '.join([*path, name])}")
    if name in order:
        return
    for _, dependency in IMPORT.findall(_source(folder, name)):
        _visit(folder, dependency, order, [*path, name])
    order.append(name)


def _wrap_module(name: str, source: str) -> str:
    """A module as a function that runs once and returns its exports."""
    body = EXPORT.sub("", IMPORT.sub(r"const { \1 } = module_\2;", source))
    if re.search(r"^(import|export)\b", body, re.MULTILINE):
        raise RegardError(
            f'{name}.js: write imports as `import {{ a, b }} from "./c.js";` and export declarations only'
        )
    if "</script" in body.lower():
        raise RegardError(f"{name}.js: a closing script tag would end the page's script")
    names = ", ".join(EXPORT_NAME.findall(source))
    return f"// {name}.js\nconst module_{name} = (() => {{\n{body.strip()}\nreturn {{ {names} }};\n}})();\n"


def _source(folder: Traversable, name: str) -> str:
    return (folder / f"{name}.js").read_text(encoding="utf-8")
