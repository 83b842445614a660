"""A signal that ends the program: displays end, the terminal has its cursor, and the exit code names the signal."""

import contextlib
import os
import pty
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import time
from regard import cli
from regard.progress import stage

@cli.app.command("wait", cls=cli.help.HelpfulCommand)
def wait():
    with stage("waiting"):
        time.sleep(600)
    print("not reached")

cli.main(["wait"])
"""
DEFAULTS = {signal.SIGTERM: "SIG_DFL", signal.SIGHUP: "SIG_DFL", signal.SIGINT: "default_int_handler"}
HIDE_CURSOR, SHOW_CURSOR = b"\x1b[?25l", b"\x1b[?25h"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)], ids=str
)
def test_a_signal_ends_the_program_in_order(number: signal.Signals, code: int):
    terminal, inside = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    text = b""
    program = f"import signal; signal.signal({number:d}, signal.{DEFAULTS[number]})\n{PROGRAM}"  # whatever nohup did
    with subprocess.Popen([sys.executable, "-c", program], stdout=inside, stderr=inside, env=environment) as process:
        os.close(inside)
        while HIDE_CURSOR not in text:
            text += os.read(terminal, 65536)
        process.send_signal(number)
        with contextlib.suppress(OSError):  # raised when the program has ended
            while block := os.read(terminal, 65536):
                text += block
    os.close(terminal)
    assert process.returncode == code and b"Traceback" not in text and b"not reached" not in text, text
    assert text.rindex(SHOW_CURSOR) > text.rindex(HIDE_CURSOR)


def test_a_signal_that_is_ignored_stays_so():
    code = (
        "import os, signal, sys\nfrom regard.cli.signals import exit_on_signals\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"  # as nohup does
        "with exit_on_signals():\n os.kill(os.getpid(), signal.SIGHUP)\n print('here')\n"
        "print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (out.returncode, out.stdout) == (0, "here\nTrue\n")
