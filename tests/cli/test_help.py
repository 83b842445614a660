"""Help texts for people: whole sentences, wrapped at words, in groups, with examples that the program accepts."""

import inspect
import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from regard import config as settings
from regard.cli import app, main
from regard.cli.help import HelpfulCommand, parse_docstring, wrap, wrap_command_line
from regard.cli.options import GROUPS, MULTI_VALUE_OPTIONS
from regard.cli.usage import extract_flag, repeat_options
from tests.display.test_console import on_terminal

ROOT = Path(__file__).parent.parent.parent
PROGRAM = typer.main.get_command(app)
COMMANDS = vars(PROGRAM)["commands"]
PAGES = ["", *COMMANDS]
WIDTHS = (60, 80, 120)
VALUE_WORDS = re.compile(
    r"(FILE|FOLDER|NUMBER|TEXT|CODE|NAME|KIND|RUN|URL|PATTERN|HEAD|DEVICE|FORMAT|NAME=VALUES?|FILE \[FILE\])"
)
"""The words for values, which readers learn once and completion goes by."""


def help_text(name: str, width: int, monkeypatch, capsys) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"] if name else ["--help"])
    assert not stop.value.code
    return capsys.readouterr().out


def options(name: str) -> list:
    return [parameter for parameter in COMMANDS[name].params if parameter.param_type_name == "option"]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_fits_every_width_and_cuts_no_word(name: str, monkeypatch, capsys):
    words = set()
    for width in WIDTHS:
        text = help_text(name, width, monkeypatch, capsys)
        assert [line for line in text.split("\n") if len(line) > width] == []
        assert [line for line in text.split("\n") if line != line.rstrip()] == []
        assert "..." not in text and "…" not in text
        words.add(tuple(text.replace(" \\\n", "\n").split()))
    assert len(words) == 1  # the same words at every width, in the same order


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_sentence_a_group_and_a_word_for_its_value(name: str):
    for parameter in COMMANDS[name].params:
        assert re.fullmatch(r"[A-Z].*\.", parameter.help or ""), f"{parameter.name}: {parameter.help}"
        assert parameter.metavar or getattr(parameter, "is_flag", False), parameter.name
    for option in options(name):
        assert option.rich_help_panel in GROUPS, option.name
        assert option.is_flag or VALUE_WORDS.fullmatch(option.metavar), option.metavar
        if set(option.opts) & set(MULTI_VALUE_OPTIONS):
            assert option.metavar == "FILE [FILE]"


@pytest.mark.parametrize("name", COMMANDS)
def test_groups_have_the_same_order_everywhere_and_hold_every_option(name: str, monkeypatch, capsys):
    text = help_text(name, 80, monkeypatch, capsys)
    headings = re.findall(r"^(\w+):$", text, re.MULTILINE)
    expected = ["Arguments", *GROUPS, "Examples"]
    assert headings == sorted(headings, key=expected.index) and headings[-2:] == ["General", "Examples"]
    for option in options(name):
        assert re.search(rf"^  {re.escape(option.opts[0])}[, ]", text, re.MULTILINE), option.opts
    defaults = [
        option for option in options(name) if option.default is not False and option.default not in (None, "", [])
    ]
    assert text.lower().count("default: ") == len([option for option in defaults if not option.required])


def example_arguments(line: str) -> list[str]:
    words = shlex.split(line)
    words = words[words.index("regard") + 1 :]
    return words[: next((index for index, word in enumerate(words) if word in ("|", "<", ">")), len(words))]


def parse(arguments: list[str]) -> None:
    """Parse a command line as the program does, without running it."""
    rest, _ = extract_flag(arguments, "--plain")
    name, *rest = repeat_options(rest)
    COMMANDS[name].make_context(name, rest)


@pytest.mark.parametrize("name", PAGES)
def test_examples_are_accepted_by_the_parser(name: str):
    examples = parse_docstring((COMMANDS[name] if name else PROGRAM).help).examples
    assert 2 <= len(examples) <= 4
    for example in examples:
        arguments = example_arguments(example)
        if name:
            assert name in arguments or f"regard {name}" in " ".join(examples)
        parse(arguments)
        for option, value in itertools.pairwise(arguments):
            if option == "--set":
                settings.with_values(settings.build({}), settings.parse_assignments([value]))


def test_a_misspelt_example_would_be_noticed():
    with pytest.raises(typer.BadParameter.__base__, match="outt"):
        parse(example_arguments("echo x | regard train a.tsv --outt runs/x"))
    with pytest.raises(typer.BadParameter.__base__):
        parse(example_arguments("regard translate"))


@pytest.mark.parametrize("name", COMMANDS)
def test_where_to_read_more_exists(name: str):
    read_more = parse_docstring(COMMANDS[name].help).read_more
    assert read_more
    pages = re.findall(r"[\w/]+\.md", read_more)
    assert [page for page in pages if not (ROOT / page).is_file()] == []
    assert set(re.findall(r"`regard ([a-z]+)", read_more)) <= COMMANDS.keys()


def test_commands_are_listed_in_groups_with_their_whole_first_sentence(monkeypatch, capsys):
    text = help_text("", 120, monkeypatch, capsys)
    for name, command in COMMANDS.items():
        sentence = " ".join(inspect.cleandoc(command.help).split("\n\n")[0].split())
        sentence = re.split(r"(?<=\.) (?=[A-Z])", sentence)[0]
        assert sentence.endswith(".") and f"{name} {sentence}" in " ".join(text.split())
    assert re.findall(r"^([A-Z].*):$", text, re.MULTILINE)[:3] == ["Train", "Use", "Inspect"]


@pytest.mark.parametrize(
    ("typed", "same_as"),
    [
        (["help"], ["--help"]),
        (["help", "train"], ["train", "--help"]),
        (["train", "-h"], ["train", "--help"]),
        ([], ["-h"]),
    ],
    ids=" ".join,
)
def test_help_has_several_names(typed: list[str], same_as: list[str], capsys):
    texts = []
    for arguments in (typed, same_as):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        printed = capsys.readouterr()
        assert not stop.value.code and printed.err == ""
        texts.append(printed.out)
    assert texts[0] == texts[1] != ""


def test_help_has_no_escape_codes_in_a_pipe_and_imports_nothing_heavy():
    probe = (
        "import sys\nfrom regard.cli import main\ntry: main(['train', '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'rich', 'sentencepiece', 'regard.config'} & sys.modules.keys()\n"
        "assert not heavy, heavy"
    )
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, encoding="utf-8")
    assert out.returncode == 0, out.stderr
    assert "\x1b" not in out.stdout and "Usage: regard train" in out.stdout


def test_headings_are_bold_on_a_terminal_alone(monkeypatch):
    for name in ("NO_COLOR", "REGARD_PLAIN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    code = "from regard.cli import main\nmain(['train', '-h'])"
    assert "\x1b[1mFiles:\x1b[0m" in on_terminal(80, code)
    assert "\x1b" not in on_terminal(80, code, NO_COLOR="1")
    assert "\x1b" not in on_terminal(80, code, REGARD_PLAIN="1")
    assert "\x1b" not in PROGRAM.get_help(
        typer.Context(PROGRAM, info_name="regard")
    )  # for those who write it to a file


def test_a_docstring_is_a_description_examples_and_where_to_read_more():
    def sing(song: str) -> None:
        """Sing a song. It is loud.

        It ends.

        Examples:
          regard sing hey

        Read more: docs/songs.md
        """

    parts = parse_docstring(inspect.getdoc(sing) or "")
    assert parts.summary == "Sing a song." and parts.description == "Sing a song. It is loud.\n\nIt ends."
    assert parts.examples == ("regard sing hey",) and parts.read_more == "Read more: docs/songs.md"
    assert HelpfulCommand("sing", help="Sing: e.g. a song, 95% in .po.").help == "Sing: e.g. a song, 95% in .po."
    assert parse_docstring("Sing: e.g. a song, 95% in .po.").summary == "Sing: e.g. a song, 95% in .po."


def test_commands_in_backquotes_and_defaults_are_not_torn():
    assert wrap("See `regard train --help` now. Default: 5.", 24) == [
        "See",
        "`regard train --help`",
        "now. Default: 5.",
    ]


def test_a_long_command_line_continues_as_a_shell_reads_it():
    line = 'regard train train.en train.fr --dev dev.en dev.fr --set "name=a b" --out runs/mine --minutes 30'
    wrapped = list(wrap_command_line(line, 60))
    assert len(wrapped) == 2 and all(len(part) <= 60 for part in wrapped)
    echoed = subprocess.run(
        ["bash", "-c", "printf '%s\\n' " + "\n".join(wrapped).strip()], capture_output=True, text=True
    )
    assert echoed.stdout.split("\n")[:-1] == shlex.split(line)
