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
EXPORTED = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def script(folder: Traversable, entry: str) -> str:
    """The module and all it imports, each in a scope of its own, what is needed before what needs it."""
    order: list[str] = []
    _visit(folder, entry, order, [])
    return "\n".join(_scoped(name, _source(folder, name)) for name in order)


def static(*path: str) -> Traversable:
    """A file or folder of the package's own."""
    place: Traversable = files("regard.report") / "static"
    for name in path:
        place = place / name
    return place


def digest(text: str) -> str:
    """How a Content-Security-Policy names the one inline script or style that it allows."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _visit(folder: Traversable, name: str, order: list[str], path: list[str]) -> None:
    if name in path:
        raise RegardError(f"modules import in a circle: {' -> '.join([*path, name])}")
    if name in order:
        return
    for _, needed in IMPORT.findall(_source(folder, name)):
        _visit(folder, needed, order, [*path, name])
    order.append(name)


def _scoped(name: str, source: str) -> str:
    """A module as a function that is run once and hands back what it exports."""
    inner = EXPORT.sub("", IMPORT.sub(r"const { \1 } = module_\2;", source))
    if re.search(r"^(import|export)\b", inner, re.MULTILINE):
        raise RegardError(
            f'{name}.js: write imports as `import {{ a, b }} from "./c.js";` and export declarations only'
        )
    if "</script" in inner.lower():
        raise RegardError(f"{name}.js: a closing script tag would end the page's script")
    names = ", ".join(EXPORTED.findall(source))
    return f"// {name}.js\nconst module_{name} = (() => {{\n{inner.strip()}\nreturn {{ {names} }};\n}})();\n"


def _source(folder: Traversable, name: str) -> str:
    return (folder / f"{name}.js").read_text(encoding="utf-8")
