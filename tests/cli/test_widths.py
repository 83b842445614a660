"""What nine commands print fits the terminal: in a real one and in a file, from 60 columns on."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from regard.report.text import display_width
from tests.jobs.conftest import TINY, files

__all__ = ["files"]
PROGRAM = """
import json, os, sys
os.chdir(sys.argv[1])
from regard.cli import main
for arguments in json.loads(sys.argv[2]):
    print("###", arguments[0], flush=True)
    try:
        main(arguments)
    except SystemExit as end:
        print("### ended with", end.code, flush=True)
"""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SETTINGS = [word for setting in TINY for word in ("--set", setting)]
COMMANDS = [
    ["doctor", "bad.en", "bad.fr", "--source", "en", "--target", "fr"],
    ["estimate", "train.en", "train.fr", "--steps", "7", *SETTINGS],
    ["train", "train.en", "train.fr", "--out", "run", "--steps", "7", *SETTINGS],
    ["evaluate", "run", "test.en", "test.fr", "--beam", "1"],
    ["compare", "run", "test.fr", "--on", "test.en", "test.fr", "--beam", "1", "--out", "comparison"],
    ["look", "run", "The old queen saw the white horses of my brother.", "--sentences", "5"],
    ["heads", "run", "--sentences", "5"],
    ["translate", "run", "messages.po", "--out", "fr.po"],
    [
        "tune",
        "train.en",
        "train.fr",
        "--over",
        "model.dropout=0.1,0.2",
        "--steps-each",
        "2",
        "--out",
        "study",
        *SETTINGS,
    ],
]


SLOW_CASES = ((60, False), (80, True), (120, True), (120, False))


@pytest.fixture
def folder(files: Path, tmp_path: Path) -> Path:
    """A folder with a corpus, one with faults, and a file of messages."""
    for path in files.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    source, target = ((files / f"train.{language}").read_text(encoding="utf-8") for language in ("en", "fr"))
    (tmp_path / "bad.en").write_text(source + "<url>x</url>\nI did not sleep at all.\n", encoding="utf-8")
    (tmp_path / "bad.fr").write_text(target + "<url>x</url>\n\n", encoding="utf-8")
    entries = [f'msgid "The {{name{n}}} of the old queen saw %s."\nmsgstr ""\n' for n in range(14)]
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
    (tmp_path / "messages.po").write_text("\n".join([header, *entries]), encoding="utf-8")
    return tmp_path


def run_in_terminal(command: list[str], width: int, environment: dict[str, str]) -> str:
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    text = b""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=inside, stderr=inside, env=environment) as process:
        os.close(inside)
        while True:
            try:
                block = os.read(terminal, 65536)
            except OSError:  # raised when the program has ended
                break
            if not block:
                break
            text += block
    os.close(terminal)
    assert process.returncode == 0
    return text.decode()


@pytest.mark.parametrize(
    ("width", "in_terminal"),
    [(60, True), (80, False), *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW_CASES)],
)
def test_no_line_is_wider_than_the_terminal(width: int, in_terminal: bool, folder: Path):
    command = [sys.executable, "-c", PROGRAM, str(folder), json.dumps(COMMANDS)]
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    if in_terminal:
        text = run_in_terminal(command, width, environment)
    else:
        environment["COLUMNS"] = str(width)
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment
        )
        text = done.stdout.decode()
        assert "\x1b" not in text
    lines = [part for line in ESCAPES.sub("", text).split("\n") for part in line.split("\r")]
    assert lines.count("### ended with 0") == len(COMMANDS), text
    assert [line for line in lines if display_width(line) > width] == []
    assert "Traceback" not in text and "messages.po" in text
