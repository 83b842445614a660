"""regard completion: commands, options, run folders and setting names, completed by the shell.

The protocol is that of click: the script of the shell calls the program with the typed words in its environment, and
the program answers with a line per candidate: its kind (plain, file or dir), a comma and its value.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from regard.cli.help import is_argument
from regard.cli.options import MULTI_VALUE_OPTIONS, OUTPUT, argument, flag
from regard.errors import ConfigError

VARIABLE = "_REGARD_COMPLETE"
SEARCH_DEPTH = 2  # folders below the typed one in which run folders are searched
MAX_FOLDERS = 500  # looked at per completion, so that it never waits for a large disk

BASH = """\
_regard_completion() {
    local IFS=$'\\n' kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case "$kind" in
            dir) compopt -o dirnames; return ;;
            file) compopt -o default; return ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \\
        _REGARD_COMPLETE=bash_complete "$1" 2>/dev/null)
    [[ "${#COMPREPLY[@]}" == 1 && "${COMPREPLY[0]}" == *= ]] && compopt -o nospace
    return 0
}
complete -o nosort -F _regard_completion regard
"""
ZSH = """\
#compdef regard
_regard_completion() {
    local -a values
    local kind value
    while IFS=, read -r kind value; do
        case "$kind" in
            dir) _path_files -/ ;;
            file) _path_files -f ;;
            plain) values+=("$value") ;;
        esac
    done < <(env COMP_WORDS="${(F)words}" COMP_CWORD=$((CURRENT-1)) \\
        _REGARD_COMPLETE=zsh_complete "$words[1]" 2>/dev/null)
    (( ${#values} )) && compadd -U -V regard -a values
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _regard_completion "$@"
else
    compdef _regard_completion regard
fi
"""
FISH = """\
function _regard_completion
    set -l words (commandline -opc) (commandline -ct)
    set -lx COMP_WORDS (string join \\n -- $words)
    set -lx COMP_CWORD (math (count $words) - 1)
    set -lx _REGARD_COMPLETE fish_complete
    for line in (regard 2>/dev/null)
        set -l parts (string split -m 1 , -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories (commandline -ct)
            case file
                __fish_complete_path (commandline -ct)
            case plain
                echo $parts[2]
        end
    end
end
complete --no-files --command regard --arguments "(_regard_completion)"
"""


@dataclass(frozen=True)
class Shell:
    """A shell: its script, the file that it reads by itself, and what its user must do once."""

    script: str
    path: str
    hint: str


SHELLS = {
    "bash": Shell(
        BASH,
        ".local/share/bash-completion/completions/regard",
        "bash reads it where the package bash-completion is installed; elsewhere add this line to ~/.bashrc: "
        "source {path}",
    ),
    "zsh": Shell(
        ZSH,
        ".zfunc/_regard",
        "zsh reads it if these lines stand in ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit && compinit",
    ),
    "fish": Shell(FISH, ".config/fish/completions/regard.fish", "fish reads it by itself."),
}


def completion(
    shell: str = argument("SHELL", "Your shell: bash, zsh or fish."),
    install: bool = flag(OUTPUT, "Write the script where the shell looks for it, and say where.", "--install"),
) -> None:
    """Print the script that completes commands, options, run folders and setting names in your shell.

    No file of yours is changed: --install writes one file of its own, and says what else the shell needs.

    Examples:
      regard completion bash --install
      regard completion zsh > _regard

    Read more: the manual of your shell, under completion.
    """
    if shell not in SHELLS:
        raise ConfigError(f"there is no completion for '{shell}'; expected one of: {', '.join(SHELLS)}")
    if not install:
        typer.echo(SHELLS[shell].script, nl=False)
        return
    from regard.cli.output import write

    path = Path.home() / SHELLS[shell].path
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, SHELLS[shell].script.encode())
    typer.echo(SHELLS[shell].hint.format(path=path) + "\nOpen a new shell to use it.", err=True)


def answer(instruction: str, commands: Mapping[str, Any]) -> Iterator[str]:
    """The lines that a script of this module reads. The words come from its environment, one per line."""
    if not instruction.endswith("_complete"):
        return
    words, index = os.environ.get("COMP_WORDS", "").split("\n"), int(os.environ.get("COMP_CWORD", "0"))
    prefix = words[index] if index < len(words) else ""
    yield from candidates(words[1:index], prefix, commands)


def candidates(words: Sequence[str], prefix: str, commands: Mapping[str, Any]) -> Iterator[str]:
    """What may follow the words of a command line and begins with the prefix: kind, comma, value."""
    position = next((index for index, word in enumerate(words) if not word.startswith("-")), None)
    if position is None:
        yield from _plain([*commands, "--plain", "--verbose", "--version", "--help"], prefix)
        return
    command = commands.get(words[position])
    if command is None:
        return
    rest = words[position + 1 :]
    if (value_word := _expected_value(command, rest)) is None and prefix.startswith("-"):
        yield from _plain([*_option_names(command), "--plain", "--verbose", "--help"], prefix)
    elif value_word or (value_word := _next_argument(command, rest)):
        yield from _values(value_word, prefix, commands)


def _plain(values: Sequence[str], prefix: str) -> Iterator[str]:
    options = [value for value in values if value.startswith("-") == prefix.startswith("-")]
    return (f"plain,{value}" for value in options if value.startswith(prefix))


def _option_names(command: Any) -> list[str]:
    return [name for each in command.params if not is_argument(each) for name in (*each.opts, *each.secondary_opts)]


def _expected_value(command: Any, words: Sequence[str]) -> str | None:
    """The word for the value that the last option takes, or None."""
    takers = {name: each for each in command.params if not is_argument(each) and not each.is_flag for name in each.opts}
    if words and words[-1] in takers:
        return str(takers[words[-1]].metavar)
    last_option = next((word for word in reversed(words) if word.startswith("-")), "")
    return "FILE" if last_option in MULTI_VALUE_OPTIONS and last_option in takers else None


def _next_argument(command: Any, words: Sequence[str]) -> str:
    """The word for the next argument of the command: its last one takes all that follow."""
    takers = {name for each in command.params if not is_argument(each) and not each.is_flag for name in each.opts}
    num_values = sum(
        not word.startswith("-") and before not in takers for before, word in zip(["", *words], words, strict=False)
    )
    arguments = [each for each in command.params if is_argument(each)]
    if not arguments or (num_values >= len(arguments) and arguments[-1].nargs == 1):
        return ""
    return str(arguments[min(num_values, len(arguments) - 1)].metavar)


def _values(value_word: str, prefix: str, commands: Mapping[str, Any]) -> Iterator[str]:
    """Candidates for a value, by the word that help texts use for it."""
    match value_word.split()[0]:
        case "RUN" | "RUNS":
            runs = sorted(find_runs(prefix))
            yield from (f"plain,{run}" for run in runs)
            if not runs:
                yield "file," if value_word == "RUNS" else "dir,"
        case "FOLDER" | "INDEX":
            yield "dir,"
        case "NAME=VALUE" | "NAME=VALUES":
            from regard.config import describe

            yield from _plain([f"{setting.name}=" for setting in describe()], prefix)
        case "LAB":
            from regard.labs.catalog import all_labs

            yield from _plain([lab.name for lab in all_labs()], prefix)
            yield "file,"
        case "COMMAND":
            yield from _plain([*commands], prefix)
        case "SHELL":
            yield from _plain([*SHELLS], prefix)
        case "NUMBER" | "TEXT" | "CODE":
            return
        case _:
            yield "file,"


def find_runs(prefix: str) -> Iterator[str]:
    """Run folders, that is, folders with a config.toml, whose path begins with the prefix."""
    base, _, _ = prefix.rpartition("/")
    start = Path(base or ("/" if prefix.startswith("/") else ".")).expanduser()
    level = [(start, f"{base}/" if "/" in prefix else "")]
    for _depth in range(SEARCH_DEPTH):
        inner = [
            (folder, f"{path}{folder.name}")
            for parent, path in level[:MAX_FOLDERS]
            for folder in _subfolders(parent)
            if f"{path}{folder.name}".startswith(prefix)
        ]
        yield from (path for folder, path in inner if (folder / "config.toml").is_file())
        level = [(folder, f"{path}/") for folder, path in inner]


def _subfolders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError:
        return []
