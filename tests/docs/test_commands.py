"""No command, option or setting in the documents is misspelt, in blocks or in the text."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from regard.cli import app
from regard.config import describe
from regard.labs.catalog import all_labs
from tests.docs.pages import PAGES, blocks, name_of, prose

OPTIONS = {
    name: frozenset(
        {
            "--help",
            "--plain",
            "--verbose",
            *(o for parameter in command.params for o in (*parameter.opts, *parameter.secondary_opts)),
        }
    )
    for name, command in vars(typer.main.get_command(app))["commands"].items()
}
"""The options of every command."""
SETTINGS = frozenset(setting.name for setting in describe())
TABLES = frozenset({"model.positions.options"})
"""Settings with names of their own, which plug-ins define."""
POSITIONS = frozenset(name.removeprefix("model.positions.") for name in SETTINGS if name.startswith("model.positions."))
ELSEWHERE = frozenset({"--max-restarts", "--nproc-per-node", "--logdir", "--version", "--help"})
"""Options of other programs that the text names."""
ASSIGNMENT = re.compile(r"--(?:set|over)[ =]'?\"?([\w.]+)=")
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
SETTING = re.compile(r"((?:data|model|train)\.[a-z_0-9.]+)(?:=.*)?")
KNOBS = frozenset(knob for lab in all_labs() for knob in lab.knobs)
"""What `regard lab --set` changes."""
SUFFIXES = frozenset({"en", "fr", "tsv", "py", "safetensors"})  # train.en is a file
CALL = re.compile(r"\s*(?:\$ )?(?:\w+=\S+ )*(?:(?:torchrun|unshare) .*)?\bregard (?=[a-z])")


def command_lines(text: str) -> Iterator[str]:
    """Every call of `regard` in a script."""
    for line in text.replace("\\\n", " ").split("\n"):
        for part in re.split(r"\||&&|;(?= )|<<", line):
            if match := CALL.match(part):
                yield part[match.end() :].strip()


def mistakes(command_line: str) -> list[str]:
    """What does not exist in a call of `regard`."""
    words = shlex.split(command_line, comments=True)
    command, options = words[0], [word.partition("=")[0] for word in words[1:] if word.startswith("--")]
    if command not in OPTIONS:
        return [f"there is no command {command}"]
    unknown = [f"{command} has no option {option}" for option in options if option not in OPTIONS[command]]
    if command == "lab":  # a file of one's own has knobs of its own
        knobs = [] if words[1:] and words[1].endswith(".py") else ASSIGNMENT.findall(command_line)
        return unknown + [f"there is no setting {name}" for name in knobs if name not in KNOBS]
    return unknown + [f"there is no setting {name}" for name in ASSIGNMENT.findall(command_line) if not exists(name)]


def exists(setting: str) -> bool:
    """Whether there is such a setting, or such a group of settings."""
    group, _, name = setting.rpartition(".")
    if group in ("model.encoder.positions", "model.decoder.positions"):
        return name in POSITIONS
    return setting in SETTINGS or group in TABLES or any(known.startswith(f"{setting}.") for known in SETTINGS)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_of_blocks_exist(page: Path):
    for block in blocks(page):
        if block.language in ("sh", "console", "text", ""):
            for line in command_lines(block.text):
                assert mistakes(line) == [], f"{block.location}: regard {line}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_options_and_settings_of_the_text_exist(page: Path):
    everything = frozenset().union(*OPTIONS.values()) | ELSEWHERE
    for span in SPAN.findall(prose(page)):
        code = " ".join(span.split())
        if code.startswith("regard "):
            for line in command_lines(code.replace("…", "")):
                assert mistakes(line) == [], f"{name_of(page)}: `{code}`"
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", code):
            assert option in everything, f"{name_of(page)}: `{code}`: no command has {option}"
        setting = SETTING.fullmatch(code)
        if setting and setting[1].rpartition(".")[2] not in SUFFIXES:
            assert exists(setting[1]), f"{name_of(page)}: `{code}`: no such setting"
        for name in ASSIGNMENT.findall(code):
            assert exists(name) or name in KNOBS, f"{name_of(page)}: `{code}`: no such setting"


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("regard transslate runs/mine", "there is no command transslate"),
        ("regard train a.tsv --minuts 5", "train has no option --minuts"),
        (
            "torchrun --nproc-per-node 2 -m regard train a.tsv --set model.droput=0.2",
            "there is no setting model.droput",
        ),
        ("echo hello | regard translate runs/mine --nbst 3", "translate has no option --nbst"),
        ("regard lab attention_scaling_sqrt_dk --set KYES=3", "there is no setting KYES"),
        ("regard tune a.tsv --over modle.layers=2,4", "there is no setting modle.layers"),
        (
            "regard train a.tsv \\\n    --set model.encoder.positions.knd=t5",
            "there is no setting model.encoder.positions.knd",
        ),
    ],
)
def test_a_planted_misspelling_is_seen(line: str, mistake: str):
    assert [found for part in command_lines(line) for found in mistakes(part)] == [mistake]
