"""regard watch and regard train --watch: they print an address, and Ctrl-C ends the watch alone."""

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from regard.data.corpora import english_french
from tests.commands import TINY_SETTINGS

PROGRAM = [sys.executable, "-m", "regard"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("watch") / "pairs.tsv"
    rows = english_french.split(120, 5, 5, 5, seed=3).train
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in rows), encoding="utf-8")
    return path


def start(*arguments: str | Path) -> tuple[subprocess.Popen, str]:
    """A command that serves, and the address that it has printed."""
    command = [*PROGRAM, *map(str, arguments)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "http://127.0.0.1:" in line:
            return process, next(word for word in line.split() if word.startswith("http://"))
    raise AssertionError("no address was printed")


@pytest.mark.slow
def test_a_training_is_watched_and_its_watch_ended(pairs: Path, tmp_path: Path):
    run = tmp_path / "run"
    train = ("train", pairs, "--out", run, "--steps", "4000", "--watch", *TINY_SETTINGS)
    process, address = start(*train)
    with urllib.request.urlopen(f"{address}state.json", timeout=20) as answer:
        assert json.load(answer)["state"] in ("preparing", "training")
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143, "stopped, and the server did not keep it"


def test_ctrl_c_ends_the_watch_and_nothing_else(pairs: Path, tmp_path: Path):
    run = tmp_path / "run"
    train = [*PROGRAM, "train", str(pairs), "--out", str(run), "--steps", "2", *TINY_SETTINGS]
    subprocess.run(train, check=True, capture_output=True)
    before = (run / "latest.json").read_bytes()
    process, address = start("watch", run)
    with urllib.request.urlopen(f"{address}state.json", timeout=20) as answer:
        assert json.load(answer)["state"] == "finished"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0 and output == "" and (run / "latest.json").read_bytes() == before
