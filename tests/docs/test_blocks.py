"""Every block of code in the documents runs, or names commands, options and settings that exist."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.docs.conftest import SMALL, Shell
from tests.docs.pages import PAGES, ROOT, RUNS, Block, blocks, name_of

SHORTER = (
    ("--minutes 5", f"--steps 5 {SMALL}"),
    ("--keep 50%", "--keep 50% --finetune-steps 2"),
    ("--sentences 20", "--sentences 5"),
    ("sentences=20", "sentences=5"),
)
"""What is shortened so that a page takes seconds; nothing else is touched."""
CHAPTERS = tuple(f"docs/tutorial/{name}.md" for name in ("first_translator", "look_inside", "fine_tune_and_ship"))
"""Pages that go on where the one before ended."""
LANGUAGES = {*RUNS, "console", "text", "toml", "json", "diff", "js"}


def script(page: Path, folder: Path) -> str:
    """The blocks of a page as one script; those of Python are files that it runs."""
    lines = []
    for block in blocks(page):
        text = block.text
        for long, short in SHORTER:
            text = text.replace(long, short)
        if block.language == "python":
            file = folder / f"block{block.line}.py"
            file.write_text(text, encoding="utf-8")
            text = f"python {file.name}\n"
        if block.language in RUNS:
            lines.append(f": {block.location}\n{text}")
    return "\n".join(lines)


def executed(page: Path) -> bool:
    return any(block.language in RUNS for block in blocks(page)) and name_of(page) not in CHAPTERS


@pytest.mark.parametrize("page", tuple(filter(executed, PAGES)), ids=name_of)
def test_the_blocks_of_a_page_run(page: Path, shell: Shell, workplace: Path):
    out = shell(
        "rm -rf runs pairs.tsv\n" * (name_of(page) in ("README.md", "docs/index.md")) + script(page, workplace),
        workplace,
    )
    assert out.returncode == 0, f"{out.stdout}\n{out.stderr}"


def test_the_tutorial_runs_from_its_first_page_to_its_last(shell: Shell, tmp_path: Path):
    pages = [page for name in CHAPTERS for page in PAGES if name_of(page) == name]
    assert len(pages) == len(CHAPTERS)
    out = shell("\n".join(script(page, tmp_path) for page in pages), tmp_path)
    assert out.returncode == 0, f"{out.stdout}\n{out.stderr}"
    assert "BLEU" in out.stdout and (tmp_path / "runs" / "mine" / "report.html").exists()
    assert "#, fuzzy" in (tmp_path / "fr.po").read_text() and (tmp_path / "engine" / "model.bin").exists()


def test_a_block_that_fails_is_noticed(shell: Shell, workplace: Path):
    page = workplace / "planted.md"
    page.write_text("```sh\nregard transslate runs/mine\n```\n")
    out = shell(blocks(page)[0].text, workplace)
    assert out.returncode == 2 and "transslate" in out.stderr


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_has_a_language_and_can_be_read(page: Path):
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{block.location}: no language of {sorted(LANGUAGES)}"
        parse(block)


def parse(block: Block) -> None:
    if block.language == "toml":
        tomllib.loads(block.text)
    if block.language == "json":
        json.loads(block.text)


def test_the_plug_in_of_the_guide_is_the_example():
    (block,) = [block for block in blocks(ROOT / "docs" / "howto" / "plugin.md") if block.language == "python"]
    assert (ROOT / "examples" / "plugin.py").read_text(encoding="utf-8").endswith(block.text)
