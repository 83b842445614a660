"""The documents and the blocks of code in them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
GENERATED = ("docs/reference/settings.md", "docs/reference/cli.md", "docs/reference/api.md")
"""Pages that exist in the site only."""
RUNS = ("sh", "python")
"""Languages of blocks that are executed; those of the others are checked without."""
BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def location(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, match["language"], match["text"])
        for match in BLOCK.finditer(text)
    ]


def prose(page: Path) -> str:
    """The text of a page without its blocks, in as many lines."""
    text = page.read_text(encoding="utf-8")
    return BLOCK.sub(lambda match: "\n" * match[0].count("\n"), text)
