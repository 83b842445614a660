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
REPOSITORY = ROOT.parent
DIALECT = re.compile(
    r"\b(nobody|somebody|everybody|anybody|whoever|whatever|so many|dealt out|mend(s|ed|ing)?|looks? at dev"
    r"|(target|source) pieces?|pieces a second|nats a piece|told|learnt|anew|by heart|looked over|taken apart|bolder"
    r"|colou?rs? of its own|worth"
    r"|(token|optim|normal|initial|visual|summar|general|regular|recogn|quant|standard|penal|minim|maxim|random)"
    r"is(e|es|er|ers|ed|ing|ation)"
    r"|colour(s|ed)?|behaviour|centred?|neighbour(s|ing)?|labell(ed|ing)|modell(ed|ing)|analys(e|ed|es)|favour(s|ed)?"
    r"|grey|licence)\b",
    re.IGNORECASE,
)
"""Words that a reader cannot search for, and British spellings. The list grows."""
ALLOWED = {
    "tables.py": "the words of the built-in corpus, and its names for groups of words",
    "names.py": "names of settings elsewhere, which are answered with ours",
    "suggestions.py": "names of options before, which are answered with today's",
}
"""Files that may have them, and why."""
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


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string, docstrings and parts of f-strings included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_strings_and_docstrings_are_written_in_words_of_the_field():
    paths = [path for path in ROOT.rglob("*.py") if path.name not in ALLOWED]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    texts = [(path, line, text) for path, tree in trees.items() for line, text in strings(tree)]
    assert [f"{path}:{line} {match[0]}" for path, line, text in texts if (match := DIALECT.search(text))] == []
    assert {path.name for path in ROOT.rglob("*.py")} >= ALLOWED.keys()


DOCUMENTS = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *(REPOSITORY / "docs").rglob("*.md")]
PARTS_OF_PAGES = [path for path in (ROOT / "report" / "static").rglob("*") if path.suffix in (".html", ".js", ".css")]
OTHERS = [path for path in (REPOSITORY / "examples").glob("*") if path.suffix != ".tsv"]


def bad_words(text: str) -> list[str]:
    return [f"{text.count(chr(10), 0, match.start()) + 1}: {match[0]}" for match in DIALECT.finditer(text)]


@pytest.mark.parametrize(
    "path", [*DOCUMENTS, *PARTS_OF_PAGES, *OTHERS], ids=lambda path: path.relative_to(REPOSITORY).as_posix()
)
def test_documents_and_pages_are_written_in_words_of_the_field(path: Path):
    assert bad_words(path.read_text(encoding="utf-8")) == []


def test_a_planted_word_is_seen():
    planted = "Whoever normalises pieces\nis told the rate."
    assert bad_words(planted) == ["1: Whoever", "1: normalises", "2: told"]
