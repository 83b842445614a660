"""The first change that CONTRIBUTING.md walks through works as it stands there."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, blocks

TEST = "tests/data/doctor/test_doctor.py"


def run_test(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"PYTHONPATH": str(folder)})


def test_the_test_fails_before_the_code_is_there_and_passes_after(tmp_path: Path):
    for name in ("regard", "tests", "pyproject.toml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    test, code = (block.text for block in blocks(ROOT / "CONTRIBUTING.md") if block.language == "diff")
    apply(test, tmp_path)
    assert "2 failed" in run_test(tmp_path).stdout
    apply(code, tmp_path)
    out = run_test(tmp_path)
    assert out.returncode == 0, out.stdout


def apply(patch: str, folder: Path) -> None:
    out = subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
