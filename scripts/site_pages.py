"""Pages of the site that are no files of docs/: the reference, and every file of the repository that a page links to.

MkDocs calls these functions (`hooks` in mkdocs.yml). A relative link that leaves docs/, such as ../regard/model, works
in the repository as it stands; in the site it leads to a page with that file, or with the list of that folder.
"""

import ast
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from scripts.reference import PAGES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GENERATED = {"settings": "reference/settings.md", "commands": "reference/cli.md", "api": "reference/api.md"}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?!\w+:|#)[^)\s]+)\)")
FENCES = {".py": "python", ".js": "javascript", ".toml": "toml", ".sh": "bash", ".json": "json", ".css": "css"}
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for name, path in GENERATED.items():
        files.append(File.generated(config, path, content=PAGES[name]()))
    waiting = {target for page in DOCS.rglob("*.md") for target in _outside(page.read_text(encoding="utf-8"), page)}
    done: set[Path] = set()
    while waiting - done:
        target = (waiting - done).pop()
        done.add(target)
        content = _source_page(target)
        waiting |= _outside(content, DOCS / _page_of(target))
        files.append(File.generated(config, _page_of(target), content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lead links that leave docs/ to the pages of their files."""
    here = DOCS / page.file.src_uri

    def redirect(match: re.Match[str]) -> str:
        path, _, anchor = match[2].partition("#")
        target = _resolve(here, path)
        if target is None:
            return match[0]
        up = "../" * page.file.src_uri.count("/")
        return f"[{match[1]}]({up}{_page_of(target)}{'#' + anchor if anchor else ''})"

    return LINK.sub(redirect, markdown)


def _outside(markdown: str, page: Path) -> set[Path]:
    """The files and folders outside docs/ that a page links to."""
    targets = (_resolve(page, match[2].partition("#")[0]) for match in LINK.finditer(markdown))
    return {target for target in targets if target is not None}


def _resolve(page: Path, link: str) -> Path | None:
    target = (page.parent / link).resolve()
    leaves = target.is_relative_to(ROOT) and not target.is_relative_to(DOCS)
    return target if link and leaves and target.exists() else None


def _page_of(target: Path) -> str:
    """regard/model/attention.py has the page source/regard/model/attention.py.md."""
    path = target.relative_to(ROOT).as_posix()
    return f"source/{path}" if path.endswith(".md") else f"source/{path}{'/index' if target.is_dir() else ''}.md"


def _source_page(target: Path) -> str:
    name = target.relative_to(ROOT).as_posix()
    if target.is_dir():
        paths = sorted(path for path in target.iterdir() if path.suffix in {*FENCES, ".tsv", ".ipynb", ".md"})
        rows = (
            f"- [`{path.name}`]({_link(target, path)}) {_purpose(path)}" for path in paths if path.name != "__init__.py"
        )
        return f"{UNSEARCHED}# {name}\n\n" + "\n".join(rows) + "\n"
    text = target.read_text(encoding="utf-8")
    if target.suffix == ".md":
        return UNSEARCHED + _moved(text, target)
    language = FENCES.get(target.suffix, "text")
    return f'{UNSEARCHED}# {name}\n\n`````{language} linenums="1"\n{text.rstrip()}\n`````\n'


def _link(folder: Path, path: Path) -> str:
    """From the page of a folder to a file in it, as a link of the repository."""
    return _relative(DOCS / _page_of(folder), path)


def _moved(text: str, target: Path) -> str:
    """A document of the repository with its links as seen from its page, which lies elsewhere."""
    page = DOCS / _page_of(target)

    def relink(match: re.Match[str]) -> str:
        path, hash_, anchor = match[2].partition("#")
        goal = (target.parent / path).resolve()
        return f"[{match[1]}]({_relative(page, goal)}{hash_}{anchor})" if goal.exists() else match[1]

    text = re.sub(r"!\[([^\]]*)\]\(docs/([^)]+)\)", lambda m: f"![{m[1]}]({_relative(page, DOCS / m[2])})", text)
    return LINK.sub(relink, text)


def _relative(page: Path, goal: Path) -> str:
    return Path(os.path.relpath(goal, page.parent)).as_posix()


def _purpose(path: Path) -> str:
    """The first line of a module's docstring."""
    if path.suffix != ".py":
        return ""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n")[0]
