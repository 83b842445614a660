"""Plain ES modules as one script: a page that is opened from a folder may load no module, so it must carry them."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from importlib.resources.abc import Traversable

from regard.errors import RegardError

IMPORT = re.compile(r'^import \{ ?([\w, ]+?) ?\} from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
EXPORT_NAME = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def bundle_script(folder: Traversable, entry: str) -> str:
    """The module and all it imports, each in a scope of its own, what is needed before what needs it."""
    order: list[str] = []
    _visit(folder, entry, order, [])
    return "\n".join(_wrap_module(name, _source(folder, name)) for name in order)


def static_resource(*path: str) -> Traversable:
    """A file or folder of the package's own."""
    resource: Traversable = files("regard.report") / "static"
    for name in path:
        resource = resource / name
    return resource


def csp_hash(text: str) -> str:
    """How a Content-Security-Policy names the one inline script or style that it allows."""
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
    """A module as a function that is run once and hands back what it exports."""
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
