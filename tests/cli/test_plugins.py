"""The example plug-in in one process after another: train, translate, inspect; and what happens without it."""

import csv
import os
import subprocess
from pathlib import Path

import pytest

from regard.formats import read_pairs
from tests import commands
from tests.conftest import EXAMPLE_PLUGIN
from tests.jobs.conftest import TINY

CHANGES = (
    *TINY,
    "model.positions.kind=kerple",
    "model.positions.options.slope=2",
    "model.activation=squared-relu",
)
PLUGIN = {"REGARD_PLUGINS": str(EXAMPLE_PLUGIN)}


def regard(*arguments: object, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "REGARD_PLUGINS"} | variables
    return commands.regard(*arguments, stdin=stdin, env=environment)


@pytest.fixture(scope="session")
def table(tmp_path_factory, files: Path) -> Path:
    path = tmp_path_factory.mktemp("table") / "pairs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows((p.source, p.target) for p in read_pairs([files / "train.en", files / "train.fr"]))
    return path


@pytest.fixture(scope="session")
def run(tmp_path_factory, table: Path) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "mine"
    sets = [word for change in CHANGES for word in ("--set", change)]
    out = regard("train", table, "--out", folder, "--steps", 2, "--verbose", *sets, **PLUGIN)
    assert out.returncode == 0, out.stderr
    assert "positions 4," in out.stderr  # two heads in one layer of two stacks
    return folder


@pytest.mark.parametrize("options", [(), ("--quantize", "int8"), ("--workers", 2)], ids=str)
def test_another_process_translates_with_the_run(run: Path, options):
    out = regard("translate", run, *options, stdin="The girl eats.\n", **PLUGIN)
    assert out.returncode == 0 and out.stdout.count("\n") == 1, out.stderr


def test_positions_of_the_run_are_inspected(run: Path):
    out = regard("look", run, "--positions", **PLUGIN)
    assert out.returncode == 0 and "kerple" in out.stdout, out.stderr


@pytest.mark.parametrize("kind", ["marian", "ctranslate2"])
def test_exports_refuse_the_run_with_a_sentence(run: Path, tmp_path: Path, kind: str):
    out = regard("export", run, "--to", kind, "--out", tmp_path / "out", **PLUGIN)
    assert out.returncode == 2 and out.stderr.startswith("error: ") and "model.activation" in out.stderr, out.stderr


def test_settings_list_the_registered_names():
    out = regard("settings", **PLUGIN).stdout
    assert "alibi, rotary, kerple." in out and "swiglu, squared-relu." in out and "# options is unset" in out


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (("translate", "RUN"), {}, "config.toml: model.activation='squared-relu': input should be 'relu', "),
        (("translate", "RUN"), {}, "model.positions.kind='kerple': input should be 'none', "),
        (("translate", "RUN"), {}, "If a plug-in provides it, install that package (entry points `regard.plugins`)"),
        (
            ("train", "TABLE", "--out", "x"),
            {},
            "pairs.csv: does not say what to train for; name it with --task: translate",
        ),
        (("settings",), {"REGARD_PLUGINS": "nowhere"}, "the plug-in 'nowhere' (in REGARD_PLUGINS) cannot be loaded"),
    ],
)
def test_without_the_plugin_one_sentence_says_what_is_missing(run, table, arguments, variables, message):
    out = regard(*({"RUN": run, "TABLE": table}.get(word, word) for word in arguments), **variables)
    assert out.returncode == 2 and message in out.stderr and "Traceback" not in out.stderr
