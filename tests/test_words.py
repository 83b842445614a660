"""The field's own words: in names, in settings, in help texts and in messages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import regard
from regard.cli import app
from regard.config import describe

ROOT = Path(regard.__file__).parent
DIALECT = re.compile(
    r"\b(nobody|somebody|whoever|whatever|so many|dealt out|mend(s|ed|ing)?|looks? at dev|(target|source) pieces?"
    r"|pieces a second|nats a piece|told|learnt|tokenis(e|er|ers|ed|ing)|optimis(e|er|ers|ed|ing)"
    r"|normalis(e|es|ed|ing|ation)|colou?rs? of its own|worth)\b",
    re.IGNORECASE,
)
NOT_NAMES = frozenset(
    re.findall(
        r"\w+",
        "found seen told given taken said gone came made kept mine theirs everybody nobody somebody whoever whatever "
        "tongue shelf crew luck glimpse mend mended worth normalise tokeniser optimiser colour centre",
    )
)
"""Participles, pronouns, words of an older dialect and British spellings."""


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every name that is given to something, and its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def bad_names(tree: ast.Module) -> list[tuple[int, str]]:
    return [(line, name) for line, name in names(tree) if name.strip("_").lower() in NOT_NAMES]


def test_names_are_words_of_the_field():
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
    assert [f"{path}:{line} {name}" for path, tree in trees.items() for line, name in bad_names(tree)] == []
    planted = "def told(given):\n    self.kept = found = 1\nclass Shelf: ..."
    assert sorted(name for _, name in bad_names(ast.parse(planted))) == ["Shelf", "found", "given", "kept", "told"]


def test_settings_are_described_in_words_of_the_field():
    assert [setting.name for setting in describe() if DIALECT.search(setting.description)] == []
    assert [setting.name for setting in describe() if not setting.description] == []


COMMANDS = vars(typer.main.get_command(app))["commands"]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_written_in_words_of_the_field(name: str):
    command = COMMANDS[name]
    texts = [command.help or "", *(getattr(parameter, "help", "") or "" for parameter in command.params)]
    assert [text for text in texts if DIALECT.search(text)] == []


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string of an error that is raised."""
    for raised in (node for node in ast.walk(tree) if isinstance(node, ast.Raise)):
        for node in ast.walk(raised):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, node.value


def test_errors_are_written_in_words_of_the_field():
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
    found = [
        f"{path}:{line} {text}" for path, tree in trees.items() for line, text in messages(tree) if DIALECT.search(text)
    ]
    assert found == []
    planted = "raise ValueError(f'nobody has {n} pieces; whoever asks is told')"
    assert [bool(DIALECT.search(text)) for _, text in messages(ast.parse(planted))] == [True, True]
