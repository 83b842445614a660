"""Commands and options by other names, answered with ours."""

from collections.abc import Mapping, Sequence
from itertools import takewhile

COMMANDS = {
    "embed-words": "senses",
    "eval": "evaluate",
    "score": "evaluate",
    "fit": "train",
    "infer": "translate",
    "predict": "translate",
    "benchmark": "bench",
    "check": "doctor",
    "config": "settings",
    "convert": "import or export",
    "inspect": "look",
    "optimize": "tune",
}
OPTIONS = {
    "--against": "--compare-with",
    "--alone": "--keep-only",
    "--mend": "--finetune-steps",
    "--places": "--num-positions",
    "--output": "--out",
    "--output-dir": "--out",
    "--save-dir": "--out",
    "--beam-size": "--beam",
    "--num-beams": "--beam",
    "--beam-width": "--beam",
    "--length-penalty": "--alpha",
    "--num-return-sequences": "--nbest",
    "--config": "--set name=value for one setting, or a study file for `regard tune`",
    "--valid": "--dev",
    "--val": "--dev",
    "--init-from": "--from",
    "--from-pretrained": "--from",
    "--continue": "--resume",
}

Options = Mapping[str, frozenset[str]]
"""The options of each command."""


def suggest(arguments: Sequence[str], options: Options) -> str | None:
    """What to type instead of a command or an option that does not exist; None where there is nothing to suggest."""
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    if command not in options:
        return f"there is no command '{command}'; did you mean '{COMMANDS[command]}'?" if command in COMMANDS else None
    for argument in takewhile(lambda argument: argument != "--", arguments):
        option = argument.partition("=")[0]
        if (
            option.startswith("--")
            and option not in options[command]
            and (known := _suggest_option(option, options[command]))
        ):
            return f"regard {command} has no option {option}; did you mean {known}?"
    return None


def _suggest_option(option: str, options: frozenset[str]) -> str | None:
    if option in OPTIONS and OPTIONS[option].split()[0] in options:
        return OPTIONS[option]
    from regard.config.names import find_setting

    setting = find_setting(option.removeprefix("--"))
    short = f"--{setting.rpartition('.')[2].replace('_', '-')}" if setting else ""
    if short in options:
        return short
    return f"--set {setting}=…" if setting and "--set" in options else None
