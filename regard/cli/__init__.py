"""The command line. Only this package parses arguments, prints and exits.

A command is a function: its signature defines its options, its docstring is its help. Heavy modules are imported inside
it, so that `regard --help` is fast.
"""

import contextlib
import os
import sys
from collections.abc import Sequence

import typer

from regard.cli import (
    bench,
    compare,
    convert,
    corpus,
    demo,
    doctor,
    estimate,
    evaluate,
    look,
    prune,
    report,
    senses,
    settings,
    train,
    translate,
    tune,
)
from regard.cli.suggestions import suggest
from regard.display.stages import show_stages
from regard.errors import RegardError

COMMANDS = (
    train.train,
    translate.translate,
    evaluate.evaluate,
    tune.tune,
    compare.compare,
    report.report,
    look.look,
    look.heads,
    prune.prune,
    senses.senses,
    doctor.doctor,
    estimate.estimate,
    bench.bench,
    demo.demo,
    corpus.corpus,
    convert.import_,
    convert.export,
    settings.settings,
)
MULTI_VALUE_OPTIONS = ("--dev", "--test", "--on")
"""Options that take one or two files: `--dev dev.en dev.fr` is parsed as `--dev dev.en --dev dev.fr`."""

app = typer.Typer(
    name="regard",
    help="Train Transformers on your own text, on your own machine, and see what they attend to.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in COMMANDS:
    app.command(command.__name__.rstrip("_").replace("_", "-"))(command)


def _print_version(value: bool) -> None:
    if value:
        from regard import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def regard(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
    ),
) -> None:
    pass


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program. An error that the user can fix is printed as one sentence, and the exit code is 2."""
    arguments = repeat_options(sys.argv[1:] if argv is None else list(argv))
    if suggestion := suggest(arguments, command_options()):
        fail(suggestion)
    try:
        with show_stages():
            app(args=arguments, prog_name="regard")
    except RegardError as error:
        fail(str(error))
    except BrokenPipeError:
        with contextlib.suppress(OSError):  # the reader of the pipe has gone: end quietly, and flush nothing
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)


def command_options() -> dict[str, frozenset[str]]:
    """The options of every command."""
    commands = vars(typer.main.get_command(app))["commands"]
    return {
        name: frozenset({"--help", *(option for parameter in command.params for option in parameter.opts)})
        for name, command in commands.items()
    }


def repeat_options(arguments: Sequence[str]) -> list[str]:
    """Repeat an option before each of its values, since the parser accepts one value per option."""
    option, out = "", []
    for argument in arguments:
        if argument in MULTI_VALUE_OPTIONS:
            option, awaiting_value = argument, True
            continue
        if argument.startswith("-") and len(argument) > 1:
            option = ""
        if option:
            out.append(option)
            awaiting_value = False
        out.append(argument)
    if option and awaiting_value:
        out.append(option)  # no value followed: the parser reports it
    return out


def fail(message: str) -> None:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)
