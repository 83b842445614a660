"""What was wrong with a command line, in one sentence; and the changes that are made to one before it is parsed."""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from regard.cli.help import describe_limits, is_argument, option_label, usage_line
from regard.cli.options import MULTI_VALUE_OPTIONS

PROGRAM = "regard"
UsageError: Any = typer.BadParameter.__base__
"""The base class of the errors of the parser, which typer does not name in public."""

Commands = Mapping[str, Any]
"""The commands of the program by name."""


def repeat_options(arguments: Sequence[str]) -> list[str]:
    """Repeat an option before each of its values, since the parser accepts one value per option."""
    out: list[str] = []
    option, awaiting_value = "", False
    for index, argument in enumerate(arguments):
        if argument == "--":
            return [*out, *([option] if awaiting_value else []), *arguments[index:]]
        if argument in MULTI_VALUE_OPTIONS:
            out += [option] if awaiting_value else []
            option, awaiting_value = argument, True
            continue
        if argument.startswith("-") and len(argument) > 1:
            out += [option] if awaiting_value else []
            option, awaiting_value = "", False
        if option:
            out.append(option)
            awaiting_value = False
        out.append(argument)
    return [*out, option] if awaiting_value else out  # no value followed: the parser reports it


def extract_flag(arguments: Sequence[str], flag: str) -> tuple[list[str], bool]:
    """The arguments without a flag that may stand before or after the command, and whether it was there."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    rest = [argument for argument in arguments[:end] if argument != flag]
    return [*rest, *arguments[end:]], len(rest) < end


def command_name(arguments: Sequence[str]) -> str:
    """The first word that is no option."""
    return next((argument for argument in arguments if not argument.startswith("-")), "")


def describe_error(error: Any, arguments: Sequence[str], commands: Commands) -> str:
    """An error of the parser as one sentence, and the usage line of the command below it."""
    name = command_name(arguments)
    command = commands.get(name)
    if command is None:
        return f"{_describe_program_error(error, name, commands)}\nUsage: {PROGRAM} COMMAND [OPTIONS]"
    path = f"{PROGRAM} {name}"
    return f"{_describe_command_error(error, arguments, command, path)}\n{usage_line(command, path)}"


def _describe_program_error(error: Any, name: str, commands: Commands) -> str:
    if not name:
        option = getattr(error, "option_name", "")
        return f"{PROGRAM} has no option {option}" if option else "name a command; `regard --help` lists them"
    return f"there is no command '{name}'{_suggestion(name, commands)}"


def _describe_command_error(error: Any, arguments: Sequence[str], command: Any, path: str) -> str:
    kind, parameter = type(error).__name__, getattr(error, "param", None)
    options = {name: each for each in command.params for name in (*each.opts, *each.secondary_opts)}
    option = getattr(error, "option_name", "")
    if kind == "NoSuchOption":
        return f"{path} has no option {option}{_suggestion(option, options)}"
    if kind == "BadOptionUsage" and option in options:
        label = option_label(options[option])
        return f"{option} takes no value" if options[option].is_flag else f"{option} needs a value: {label}"
    if kind == "MissingParameter" and parameter is not None:
        return f"{parameter.metavar if is_argument(parameter) else option_label(parameter)} is missing"
    if parameter is not None:
        return f"{_typed_value(parameter, arguments)}: expected {_expectation(parameter)}"
    if extra := re.fullmatch(r"Got unexpected extra argument(?:s|\(s\))? \((.*)\)\.?", error.message):
        return f"{path} takes fewer arguments; left over: {extra.group(1)}"
    return str(error.message).rstrip(".")


def _suggestion(name: str, known: Mapping[str, Any]) -> str:
    matches = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean '{matches[0]}'?" if matches else ""


def _typed_value(parameter: Any, arguments: Sequence[str]) -> str:
    """An option and its value as they were typed; the word for an argument, whose position the parser does not say."""
    for name, value in zip(arguments, [*arguments[1:], ""], strict=True):
        option, equals, joined = name.partition("=")
        if option in parameter.opts:
            return f"{option} {joined if equals else value}"
    return str(parameter.metavar)


def _expectation(parameter: Any) -> str:
    annotation = str(getattr(getattr(parameter, "type_descriptor", None), "annotation", getattr(parameter, "type", "")))
    noun = (
        "a whole number" if "int" in annotation.lower() else "a number" if "float" in annotation.lower() else "a value"
    )
    return " ".join(filter(None, [noun, describe_limits(parameter)]))
