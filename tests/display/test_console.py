"""Text for people on a terminal, in a pipe, in a log and for a screen reader."""

import os
import subprocess
import sys

import pytest

from regard.display.console import is_plain, make_console, terminal_width, use_plain

PROBE = """
from regard.display.console import is_plain, make_console, terminal_width
console = make_console()
console.print("[red]word[/red]")
console.print(f"PLAIN={is_plain()} TERMINAL={console.is_terminal} WIDTH={console.width} TEXT={terminal_width()}")
"""
TRAINING = """
from regard.display.training import ProgressDisplay
from regard.jobs.train.events import Note
with ProgressDisplay() as display:
    display.handle(Note("note"))
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("REGARD_PLAIN", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def on_terminal(columns: int, code: str = PROBE, **variables: str) -> str:
    """What a program shows on a terminal of this width."""
    pty = pytest.importorskip("pty")
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, columns.to_bytes(2, sys.byteorder).join([b"\x18\x00", b"\x00" * 4]))
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=terminal, stdout=terminal, stderr=terminal, env={**os.environ, **variables}
    )
    os.close(terminal)
    output = b""
    try:
        while part := os.read(controller, 4096):
            output += part
    except OSError:  # how Linux reports the end of a terminal
        pass
    os.close(controller)
    assert process.wait() == 0, output
    return output.decode("utf-8")


def test_a_terminal_has_its_width_and_colors():
    output = on_terminal(100)
    assert "PLAIN=False TERMINAL=True WIDTH=100 TEXT=100" in output and "\x1b[31m" in output


def test_text_is_between_60_and_120_columns_wide():
    assert "WIDTH=40 TEXT=60" in on_terminal(40)  # what is redrawn keeps to the terminal
    assert "WIDTH=200 TEXT=120" in on_terminal(200)


@pytest.mark.parametrize("variables", [{"REGARD_PLAIN": "1"}, {"TERM": "dumb"}], ids=str)
def test_plain_output_has_no_escape_codes(variables: dict[str, str]):
    output = on_terminal(100, **variables)
    assert "PLAIN=True TERMINAL=False WIDTH=100 TEXT=100" in output
    assert "\x1b" not in output and "word" in output


def test_training_is_shown_without_a_live_line_where_output_is_plain():
    assert "\x1b" in on_terminal(100, TRAINING)
    assert on_terminal(100, TRAINING, REGARD_PLAIN="1") == "  note\r\n"


def test_no_color_keeps_the_terminal_and_drops_its_colors():
    output = on_terminal(100, NO_COLOR="1")
    assert "PLAIN=False TERMINAL=True" in output and "\x1b[31m" not in output


def test_without_a_terminal_the_width_is_80_unless_columns_says_otherwise():
    for variables, width in (({}, 80), ({"COLUMNS": "97"}, 97), ({"COLUMNS": "7"}, 60), ({"COLUMNS": "wide"}, 80)):
        out = subprocess.run(
            [sys.executable, "-c", PROBE], capture_output=True, text=True, env={**os.environ, **variables}
        )
        assert f"TERMINAL=False WIDTH={width} TEXT={width}" in out.stderr, out.stderr
        assert "\x1b" not in out.stderr and out.stdout == ""


@pytest.mark.parametrize(("value", "plain"), [("1", True), ("0", False), ("", False), ("yes", True)])
def test_the_environment_can_ask_for_plain_output(value: str, plain: bool, monkeypatch):
    monkeypatch.setenv("REGARD_PLAIN", value)
    assert is_plain() is plain


def test_the_option_can_ask_for_plain_output(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert make_console().is_terminal
    use_plain(True)
    try:
        assert is_plain() and not make_console().is_terminal and make_console().width == terminal_width()
    finally:
        use_plain(False)
    assert not is_plain()
