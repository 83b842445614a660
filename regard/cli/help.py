"""Help texts: whole sentences, wrapped at words; options in groups, in the same order everywhere; examples that run.

The docstring of a command is its description, an optional block `Examples:` of command lines and a last paragraph
`Read more:`. The group of an option is declared next to it (`rich_help_panel`), and so is the word for its value.
"""

import math
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from regard.cli.options import GENERAL, GROUPS
from regard.display.console import is_plain, terminal_width

INDENT, GAP = 2, 2
MAX_LABEL_SHARE = 0.32  # of the width; a longer label stands on a line of its own
TOKEN = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")
TOGETHER = re.compile(r"`[^`]{1,30}`|[Dd]efault: \S+")
NO_BREAK_SPACE = "\u00a0"
FIRST_SENTENCE = re.compile(r".*?\.(?=\s+[A-Z]|$)", re.DOTALL)
GENERAL_ROWS = (
    (
        "--plain",
        "Print no live lines, bars, box characters or colors: for screen readers and logs. Also REGARD_PLAIN=1.",
    ),
    ("--verbose", "Print every detail: explanations, reasons, signatures."),
    ("-h, --help", "Show this help and exit."),
)
VERSION_ROW = ("--version", "Print the version and exit.")

Row = tuple[str, str]
"""A label, such as an option, and its text."""


@dataclass(frozen=True)
class CommandHelp:
    """The parts of a docstring."""

    description: str
    examples: tuple[str, ...]
    read_more: str

    @property
    def summary(self) -> str:
        """The first sentence."""
        sentence = FIRST_SENTENCE.match(self.description)
        return " ".join((sentence.group() if sentence else self.description).split())


def parse_docstring(text: str) -> CommandHelp:
    """Split a docstring into its description, its examples and where to read more."""
    description, examples, read_more = [], [], ""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        heading, _, rest = paragraph.partition("\n")
        if heading == "Examples:":
            examples += [line.strip() for line in rest.split("\n")]
        elif heading.startswith("Read more:"):
            read_more = " ".join(paragraph.split())
        else:
            description.append(" ".join(paragraph.split()))
    return CommandHelp("\n\n".join(description), tuple(examples), read_more)


class HelpfulCommand(TyperCommand):
    """A command with the help text of this module, whose numbers are finite."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        parameters: list[Any] = self.params
        for parameter in parameters:
            value = ctx.params.get(parameter.name)
            if isinstance(value, float) and not math.isfinite(value):  # nan is within any limits
                raise typer.BadParameter("not finite", ctx=ctx, param=parameter)
        return rest

    def get_help(self, ctx: Any) -> str:
        parts = parse_docstring(self.help or "")
        sections = [("Arguments", argument_rows(self.params)), *option_groups(self.params)]
        return "\n".join(format_page(usage_line(self, ctx.command_path), parts, sections))

    def get_usage(self, ctx: Any) -> str:
        return usage_line(self, ctx.command_path)


class HelpfulGroup(TyperGroup):
    """The program itself: its commands in groups."""

    def get_help(self, ctx: Any) -> str:
        groups: dict[str, list[Row]] = {}
        for name, command in self.commands.items():
            summary = parse_docstring(command.help or "").summary
            groups.setdefault(getattr(command, "rich_help_panel", None) or GENERAL, []).append((name, summary))
        sections = [*groups.items(), (GENERAL, [VERSION_ROW, *GENERAL_ROWS])]
        return "\n".join(format_page(self.get_usage(ctx), parse_docstring(self.help or ""), sections))

    def get_usage(self, ctx: Any) -> str:
        return f"Usage: {ctx.command_path} COMMAND [OPTIONS]"


def help_(
    ctx: typer.Context,
    command: str | None = typer.Argument(None, metavar="COMMAND", help="A command of `regard`; the program if unset."),
) -> None:
    """Show the help of the program or of a command.

    Examples:
      regard help
      regard help train

    Read more: `regard COMMAND --help` shows the same text.
    """
    program = ctx.parent
    assert program is not None
    if command is None:
        typer.echo(program.get_help())
        return
    commands = vars(program.command)["commands"]
    if command not in commands:
        raise typer.BadParameter(f"there is no command '{command}'", ctx=program)
    typer.echo(typer.Context(commands[command], info_name=command, parent=program).get_help())


def is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def usage_line(command: Any, path: str) -> str:
    """How the command is called, on one line: arguments first, since --dev takes the files that follow it."""
    arguments = [each for each in command.params if is_argument(each)]
    required = [option_label(each) for each in command.params if each.required and each not in arguments]
    words = [each.metavar if each.required else f"[{each.metavar}]" for each in arguments]
    return " ".join(["Usage:", path, *words, *required, "[OPTIONS]"])


def argument_rows(parameters: Iterable[Any]) -> list[Row]:
    return [(parameter.metavar, parameter.help) for parameter in parameters if is_argument(parameter)]


def option_groups(parameters: Iterable[Any]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each group that has any, in the order of GROUPS."""
    groups: dict[str, list[Row]] = {group: [] for group in GROUPS}
    for parameter in parameters:
        if not is_argument(parameter) and not parameter.hidden:
            groups[parameter.rich_help_panel].append((option_label(parameter), option_text(parameter)))
    groups[GENERAL] += GENERAL_ROWS
    return ((group, rows) for group, rows in groups.items() if rows)


def option_label(parameter: Any) -> str:
    """An option with the word for its value, as it is typed."""
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {parameter.metavar}"


def option_text(parameter: Any) -> str:
    """The help of an option with its default and its limits."""
    limits = describe_limits(parameter)
    facts = "; ".join(filter(None, [_describe_default(parameter), "" if limits.startswith("at least") else limits]))
    return f"{parameter.help} {facts[0].upper()}{facts[1:]}." if facts else str(parameter.help)


def _describe_default(parameter: Any) -> str:
    default = parameter.default
    if parameter.required:
        return "required"
    if parameter.is_flag:
        names = parameter.opts if default else parameter.secondary_opts
        return f"default: {names[0]}" if parameter.secondary_opts else ""
    return "" if default in (None, "", [], ()) else f"default: {format_number(default)}"


def describe_limits(parameter: Any) -> str:
    """The smallest and the largest value of an option, in words."""
    holder = parameter if hasattr(parameter, "min") else parameter.type  # older versions of typer keep them there
    low, high = getattr(holder, "min", None), getattr(holder, "max", None)
    if high is None:
        return "" if low is None else f"at least {format_number(low)}"
    return f"at most {format_number(high)}" if low is None else f"from {format_number(low)} to {format_number(high)}"


def format_number(value: object) -> str:
    """A value as it is typed: 1 rather than 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def format_page(usage: str, parts: CommandHelp, sections: Sequence[tuple[str, Sequence[Row]]]) -> Iterator[str]:
    """The lines of a help text."""
    width = terminal_width()
    yield from wrap(usage, width, hanging=7)
    for paragraph in parts.description.split("\n\n"):
        yield ""
        yield from wrap(paragraph, width)
    labels = [label for _, rows in sections for label, _ in rows]
    column = max((len(label) for label in labels if len(label) <= width * MAX_LABEL_SHARE), default=0) + INDENT + GAP
    for title, rows in sections:
        if rows:
            yield from ("", format_heading(title))
            for label, text in rows:
                yield from format_row(label, text, column, width)
    if parts.examples:
        yield from ("", format_heading("Examples"))
        for example in parts.examples:
            yield from wrap_command_line(example, width)
    if parts.read_more:
        yield ""
        yield from wrap(parts.read_more, width)


def format_heading(text: str) -> str:
    """A heading, in bold where a terminal shows it."""
    bold = sys.stdout.isatty() and not is_plain() and not os.environ.get("NO_COLOR")
    return f"\x1b[1m{text}:\x1b[0m" if bold else f"{text}:"


def format_row(label: str, text: str, column: int, width: int) -> Iterator[str]:
    """A label and its text beside it, or below it where the label is long."""
    first, *rest = wrap(text, width - column) or [""]
    if INDENT + len(label) + GAP > column:
        yield " " * INDENT + label
        yield " " * column + first
    else:
        yield (" " * INDENT + label).ljust(column) + first
    yield from (" " * column + line for line in rest)


def wrap(text: str, width: int, hanging: int = 0) -> list[str]:
    """Wrap text at spaces alone: names and paths stay whole, and so do commands in backquotes and defaults."""
    bound = TOGETHER.sub(lambda match: match.group().replace(" ", NO_BREAK_SPACE), text)
    lines = textwrap.wrap(bound, width, subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False)
    return [line.replace(NO_BREAK_SPACE, " ") for line in lines]


def wrap_command_line(line: str, width: int) -> Iterator[str]:
    """A command line, continued with backslashes before its options where it is too long."""
    parts: list[str] = []
    for token in TOKEN.findall(line):
        starts_part = token.startswith("-") or token in ("|", "<", ">") or not parts
        if starts_part or INDENT + 2 + len(parts[-1]) + len(token) + 3 > width:
            parts.append(token)
        else:
            parts[-1] += f" {token}"
    current = " " * INDENT + parts[0]
    for part in parts[1:]:
        if len(current) + 1 + len(part) + 2 > width:
            yield f"{current} \\"
            current = " " * (INDENT + 2) + part
        else:
            current += f" {part}"
    yield current
