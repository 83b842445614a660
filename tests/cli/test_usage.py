"""Wrong use: one sentence, the usage line of the command, exit code 2."""

from typing import Any, get_args, get_type_hints

import pytest
import typer

from regard.cli import COMMANDS, app, main
from regard.cli.help import describe_limits
from regard.cli.usage import extract_flag, repeat_options
from regard.config import build, describe, override
from regard.display.console import is_plain, use_plain
from regard.errors import ConfigError
from tests.tuning.synthetic import study_of

FUNCTIONS = {function.__name__: function for functions in COMMANDS.values() for function in functions}
MISTAKES = {
    "translate": ("RUN is missing", "regard translate RUN [FILE] [OPTIONS]"),
    "translate x --beam q": (
        "--beam q: expected a whole number from 1 to 200",
        "regard translate RUN [FILE] [OPTIONS]",
    ),
    "translate x --beam=5000": (
        "--beam 5000: expected a whole number from 1 to 200",
        "regard translate RUN [FILE] [OPTIONS]",
    ),
    "translate x --workers 999999": (
        "--workers 999999: expected a whole number from 0 to 64",
        "regard translate RUN [FILE] [OPTIONS]",
    ),
    "translate x --top-k -3": (
        "--top-k -3: expected a whole number from 0 to 1000000",
        "regard translate RUN [FILE] [OPTIONS]",
    ),
    "translate x --nbest 0": ("--nbest 0: expected a whole number at least 1", "regard translate RUN [FILE] [OPTIONS]"),
    "translate x --alpha nan": ("--alpha nan: expected a number", "regard translate RUN [FILE] [OPTIONS]"),
    "translate x --top-p inf": ("--top-p inf: expected a number", "regard translate RUN [FILE] [OPTIONS]"),
    "bench --seconds nan": ("--seconds nan: expected a number from 0 to 3600", "regard bench [RUN] [OPTIONS]"),
    "prune x --out y --finetune-steps 999999999999": (
        "--finetune-steps 999999999999: expected a whole number from 0 to 10000000",
        "regard prune RUN --out FOLDER [OPTIONS]",
    ),
    "bench --seconds soon": ("--seconds soon: expected a number from 0 to 3600", "regard bench [RUN] [OPTIONS]"),
    "train a --steps 1.5": ("--steps 1.5: expected a whole number", "regard train [FILES] [OPTIONS]"),
    "train --resume": ("--resume needs a value: --resume RUN", "regard train [FILES] [OPTIONS]"),
    "compare a b --on": ("--on needs a value: --on FILE [FILE]", "regard compare RUNS [OPTIONS]"),
    "evaluate x y --json=3": ("--json takes no value", "regard evaluate RUN FILES [OPTIONS]"),
    "export runs/x": ("--to FORMAT is missing", "regard export RUN --to FORMAT [OPTIONS]"),
    "settings x": ("regard settings takes fewer arguments; left over: x", "regard settings [OPTIONS]"),
    "train --zzz": ("regard train has no option --zzz", "regard train [FILES] [OPTIONS]"),
    "heads x --sentence 3": (
        "regard heads has no option --sentence; did you mean '--sentences'?",
        "regard heads RUN [FILES] [OPTIONS]",
    ),
    "trian": ("there is no command 'trian'; did you mean 'train'?", "regard COMMAND [OPTIONS]"),
    "help nothing": ("there is no command 'nothing'", "regard help [COMMAND] [OPTIONS]"),
    "--zzz": ("regard has no option --zzz", "regard COMMAND [OPTIONS]"),
}


BOUND_BY_SETTINGS = {
    *("--steps", "--batch-tokens", "--seed", "--threads", "--steps-each", "--trials", "--seeds"),
}
"""Whole numbers whose largest value is that of a setting, or of a field of a study."""


def numeric_options() -> list[tuple[str, Any, type]]:
    """The commands and their options that are numbers."""
    commands = vars(typer.main.get_command(app))["commands"]
    hints = {name.rstrip("_"): get_type_hints(function) for name, function in FUNCTIONS.items()}
    return [
        (name, option, kind)
        for name, command in commands.items()
        for option in command.params
        for kind in (int, float)
        if option.opts[0].startswith("--") and kind in (hint := hints[name][option.name], *get_args(hint))
    ]


def required_arguments(command: str) -> list[str]:
    parameters = vars(typer.main.get_command(app))["commands"][command].params
    options = [
        word for one in parameters if one.required and one.opts[0].startswith("--") for word in (one.opts[0], "x")
    ]
    return [*("x" for one in parameters if one.required and not one.opts[0].startswith("--")), *options]


def test_no_number_is_infinite_or_nan(capsys):
    options = [(command, option.opts[0]) for command, option, _ in numeric_options()]
    assert len(options) > 30 and ("translate", "--alpha") in options and ("tune", "--minutes-each") in options
    for command, option in options:
        for value in ("nan", "inf", "-inf", "1e999"):
            with pytest.raises(SystemExit) as stop:
                main([command, *required_arguments(command), f"{option}={value}"])
            assert stop.value.code == 2
            assert capsys.readouterr().err.startswith(f"error: {option} {value}: expected a "), (command, option)


def test_every_whole_number_has_a_largest_value():
    unbounded = [
        (command, option.opts[0])
        for command, option, kind in numeric_options()
        if kind is int and "at most" not in describe_limits(option) and " to " not in describe_limits(option)
    ]
    assert {option for _, option in unbounded} <= {*BOUND_BY_SETTINGS, "--nbest"}, unbounded  # nbest: by the beam
    config = {setting.name for setting in describe()}
    for name in ("train.steps", "train.batch_tokens", "train.seed", "train.threads"):
        assert name in config
        with pytest.raises(ConfigError, match=f"{name}="):
            override(build({}), [f"{name}={10**30}"])
    for name in ("trials", "seeds"):
        with pytest.raises(ConfigError, match=f"{name}="):
            study_of(sampler="tpe", space={"model.layers": [1, 2]}, **{name: 10**30})


@pytest.mark.parametrize("line", MISTAKES)
def test_wrong_use_is_one_sentence_with_the_usage_line(line: str, capsys):
    sentence, usage = MISTAKES[line]
    with pytest.raises(SystemExit) as stop:
        main(line.split())
    printed = capsys.readouterr()
    assert stop.value.code == 2 and printed.out == ""
    assert printed.err == f"error: {sentence}\nUsage: {usage}\n"


def test_more_translations_than_the_beam_holds_are_refused_before_the_model_is_read(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["translate", "nowhere", "--nbest", "9"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "error: nbest=9: must be between 1 and the beam size, 5\n"


@pytest.mark.parametrize(
    ("typed", "repeated"),
    [
        ("train a --dev b c --out r", "train a --dev b --dev c --out r"),
        ("train a --dev --out r", "train a --dev --out r"),
        ("train a --dev --test b", "train a --dev --test b"),
        ("train a --dev b -- --dev c d", "train a --dev b -- --dev c d"),
        ("train a --dev -- b", "train a --dev -- b"),
        ("translate run - --on x", "translate run - --on x"),
        ("compare a --on - b", "compare a --on - --on b"),
        ("--dev", "--dev"),
    ],
)
def test_options_with_several_values_are_repeated(typed: str, repeated: str):
    assert repeat_options(typed.split()) == repeated.split()


@pytest.mark.parametrize(
    ("typed", "rest", "plain"),
    [
        ("--plain train a", "train a", True),
        ("train a --plain", "train a", True),
        ("train a --dev b --plain c", "train a --dev b c", True),
        ("look run -- --plain", "look run -- --plain", False),
        ("train a", "train a", False),
        ("", "", False),
    ],
)
def test_plain_may_stand_anywhere_before_two_dashes(typed: str, rest: str, plain: bool):
    assert extract_flag(typed.split(), "--plain") == (rest.split(), plain)


@pytest.mark.parametrize("line", ["--plain help", "help --plain"])
def test_the_program_knows_that_output_is_plain(line: str, monkeypatch):
    monkeypatch.delenv("REGARD_PLAIN", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    try:
        with pytest.raises(SystemExit):
            main(line.split())
        assert is_plain()
        with pytest.raises(SystemExit):
            main(["help"])
        assert not is_plain()  # the option of one call does not reach the next
    finally:
        use_plain(False)
