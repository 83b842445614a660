"""The command line. Only this package parses arguments, prints and exits.

A command is a function: its signature defines its options, its docstring is its help. Heavy modules are imported inside
it, so that `regard --help` is fast.
"""

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer

from regard.cli import (
    architectures,
    bench,
    classify,
    compare,
    completion,
    convert,
    corpus,
    demo,
    distill,
    doctor,
    estimate,
    evaluate,
    fill,
    generate,
    help,
    index,
    lab,
    look,
    pairs,
    prune,
    report,
    search,
    senses,
    settings,
    shortlist,
    similar,
    summarize,
    tag,
    train,
    translate,
    tune,
    watch,
)
from regard.cli.signals import exit_on_signals
from regard.cli.streams import check_stdout, replace_closed_streams
from regard.cli.suggestions import suggest
from regard.cli.usage import PROGRAM, UsageError, describe_error, extract_flag, repeat_options
from regard.display.console import use_plain, use_verbose
from regard.display.escape import escape_output
from regard.display.stages import show_stages
from regard.errors import RegardError

COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Train": (demo.demo, train.train, watch.watch, estimate.estimate),
    "Use": (
        translate.translate,
        classify.classify,
        tag.tag,
        generate.generate,
        fill.fill,
        index.index,
        search.search,
        similar.similar,
        summarize.summarize,
        evaluate.evaluate,
        compare.compare,
    ),
    "Inspect": (look.look, look.heads, senses.senses, prune.prune),
    "Learn": (lab.lab,),
    "Studies": (tune.tune, architectures.architectures, report.report),
    "Data": (doctor.doctor, pairs.pairs, distill.distill, corpus.corpus),
    "Exchange": (convert.import_, convert.export),
    "Machine and settings": (bench.bench, shortlist.shortlist, settings.settings, completion.completion, help.help_),
}
"""The commands in the groups of `regard --help`, in its order."""

OUT_OF_MEMORY = "not enough memory: choose a smaller model, a smaller batch, or shorter texts, or free some memory"

app = typer.Typer(
    name=PROGRAM,
    cls=help.HelpfulGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group, functions in COMMANDS.items():
    for function in functions:
        name = function.__name__.rstrip("_").replace("_", "-")
        app.command(name, cls=help.HelpfulCommand, rich_help_panel=group)(function)


def _print_version(value: bool) -> None:
    if value:
        from regard import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def regard(
    version: bool = typer.Option(False, "--version", is_eager=True, callback=_print_version),
) -> None:
    """Train Transformers on your own text, on your own machine, and see what they attend to.

    Examples:
      regard demo
      regard train train.en train.fr --dev dev.en dev.fr --out runs/mine --minutes 30
      echo "I love dogs." | regard translate runs/mine
      regard look runs/mine "I love dogs." --out look.html

    Read more: `regard COMMAND --help` for the options and examples of a command, and README.md.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program. An error that the user can fix is printed as one sentence, and the exit code is 2."""
    replace_closed_streams()
    with escape_output():
        _main(sys.argv[1:] if argv is None else list(argv))


def _main(argv: list[str]) -> None:
    program = _program()
    if instruction := os.environ.get(completion.VARIABLE):
        with contextlib.suppress(RegardError):  # as of a plug-in that cannot be loaded: there are no candidates
            print("\n".join(completion.answer(instruction, vars(program)["commands"])))
        return
    arguments, plain = extract_flag(argv, "--plain")
    arguments, verbose = extract_flag(arguments, "--verbose")
    use_plain(plain)
    use_verbose(verbose)
    arguments = repeat_options(arguments) or ["--help"]
    if suggestion := suggest(arguments, command_options()):
        fail(suggestion)
    try:
        with exit_on_signals(), show_stages():
            code = program.main(args=arguments, prog_name=PROGRAM, standalone_mode=False)
            sys.stdout.flush()  # an error here is one of the command, not of Python's exit
        sys.exit(code or 0)
    except UsageError as error:
        fail(describe_error(error, arguments, vars(program)["commands"]))
    except RegardError as error:
        fail(str(error))
    except BrokenPipeError:
        check_stdout()  # the reader of the pipe has gone: end quietly, and flush nothing
        sys.exit(0)
    except OSError as error:
        stream = "file" if check_stdout() else "standard output"
        fail(f"{error.filename or stream}: {error.strerror or error}")
    except MemoryError:
        fail(OUT_OF_MEMORY)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        fail(OUT_OF_MEMORY)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether PyTorch could not allocate a tensor; on a CPU it says so in words only."""
    message = str(error)
    return type(error).__name__ == "OutOfMemoryError" or "not enough memory" in message or "can't allocate" in message


@functools.cache
def _program() -> Any:
    """All commands, parsed from their functions once."""
    return typer.main.get_command(app)


def command_options() -> dict[str, frozenset[str]]:
    """The options of every command."""
    commands = vars(_program())["commands"]
    return {
        name: frozenset({"--help", *(option for parameter in command.params for option in parameter.opts)})
        for name, command in commands.items()
    }


def fail(message: str) -> None:
    """End with an error message; a terminal gets it in lines that fit, a file as it is."""
    text = f"error: {message}"
    if sys.stderr.isatty():
        from regard.display.console import terminal_width
        from regard.display.layout import wrap

        text = "\n".join(wrap(text, terminal_width()))
    print(text, file=sys.stderr)
    sys.exit(2)
