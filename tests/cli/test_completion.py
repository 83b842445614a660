"""Completion as a shell asks for it: commands, options, run folders, settings; and a script that is written where
the shell looks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regard.cli.completion import SHELLS

BASH = shutil.which("bash")
PROGRAM = f"""#!{sys.executable}
from regard.cli import main
main()
"""
ASK = """
{setup}
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
compopt() {{ printf 'compopt %s %s\\n' "$1" "$2"; }}
_regard_completion regard
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with three run folders, a folder that is none, and the program on its path."""
    for run in ("runs/demo", "runs/mine", "studies/x/trials/0001"):
        (tmp_path / run).mkdir(parents=True)
        (tmp_path / run / "config.toml").touch()
    (tmp_path / "runs" / "notes").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "regard").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "bin" / "regard").chmod(0o755)
    return tmp_path


def run(home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, encoding="utf-8")


def complete(home: Path, words: str, setup: str = SHELLS["bash"].script) -> list[str]:
    """The answers of a real bash."""
    out = run(home, BASH or "", "-c", ASK.format(words=words, setup=setup))
    assert out.returncode == 0 and out.stderr == "", out.stderr
    return [line for line in out.stdout.split("\n") if line]


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "answers"),
    [
        ("regard tr", ["train", "translate"]),
        ("regard --plain tra", ["train", "translate"]),
        ("regard --vers", ["--version"]),
        ("regard translate runs/mine --be", ["--beam"]),
        ("regard look runs/mine --no", ["--no-measure"]),
        ("regard translate ''", ["runs/demo", "runs/mine"]),
        ("regard translate run", ["runs/demo", "runs/mine"]),
        ("regard translate runs/m", ["runs/mine"]),
        ("regard translate runs/mine/", ["compopt -o dirnames"]),
        ("regard translate runs/minexyz", ["compopt -o dirnames"]),
        ("regard compare runsxyz", ["compopt -o default"]),
        ("regard look studies/x/", ["studies/x/trials/0001"]),
        ("regard translate nowhere/", ["compopt -o dirnames"]),
        ("regard train --resume runs/d", ["runs/demo"]),
        ("regard compare runs/demo runs/m", ["runs/mine"]),
        ("regard train a.en --dev b.en ''", ["compopt -o default"]),
        ("regard train ''", ["compopt -o default"]),
        ("regard train a.tsv --out ''", ["compopt -o dirnames"]),
        ("regard train a.tsv --set train.seed", ["compopt -o nospace", "train.seed="]),
        ("regard train a.tsv --steps ''", []),
        ("regard help sen", ["senses"]),
        ("regard completion f", ["fish"]),
        ("regard nothing ''", []),
        ("regard settings ''", []),
    ],
)
def test_bash_completes(words: str, answers: list[str], home: Path):
    assert complete(home, words) == answers


def test_a_plugin_that_cannot_be_loaded_leaves_nothing_to_complete(monkeypatch, home: Path):
    words = {"COMP_WORDS": "regard\ntrain\n--set\nmodel.act", "COMP_CWORD": "3", "_REGARD_COMPLETE": "bash_complete"}
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    for plugins, answer in (("", "plain,model.activation=\nplain,model.activation_dropout=\n"), ("nowhere", "")):
        monkeypatch.setenv("REGARD_PLUGINS", plugins)
        out = subprocess.run([sys.executable, "-m", "regard"], capture_output=True, text=True, encoding="utf-8")
        assert (out.returncode, out.stdout, out.stderr) == (0, answer, "")


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_the_script_that_is_installed_completes_and_nothing_else_is_touched(home: Path):
    (home / ".bashrc").write_text("# mine\n", encoding="utf-8")
    before = {path for path in home.rglob("*") if path.is_file()}
    out = run(home, "regard", "completion", "bash", "--install")
    path = home / SHELLS["bash"].path
    assert out.returncode == 0, out.stderr
    assert {path for path in home.rglob("*") if path.is_file()} - before == {path}
    assert (home / ".bashrc").read_text(encoding="utf-8") == "# mine\n"
    assert f"written: {path}" in out.stderr and f"source {path}" in out.stderr
    assert complete(home, "regard eval", f"source {path}") == ["evaluate"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script_and_a_place_for_it(shell: str, home: Path):
    printed = run(home, "regard", "completion", shell)
    assert printed.returncode == 0 and f"_REGARD_COMPLETE={shell}_complete" in printed.stdout.replace(
        " fish_", "=fish_"
    )
    installed = run(home, "regard", "completion", shell, "--install")
    assert installed.returncode == 0 and (home / SHELLS[shell].path).read_text(encoding="utf-8") == printed.stdout
    if executable := shutil.which(shell):
        assert subprocess.run([executable, "-n", home / SHELLS[shell].path]).returncode == 0


def test_another_shell_is_refused(home: Path):
    out = run(home, "regard", "completion", "tcsh")
    assert out.returncode == 2
    assert out.stderr == "error: there is no completion for 'tcsh'; expected one of: bash, zsh, fish\n"
