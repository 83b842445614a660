"""The package as others get it: a wheel in an empty environment."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.docs.test_blocks import script

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return next(out.glob("*.whl"))


@pytest.mark.slow
def test_a_wheel_in_an_empty_environment_runs_the_demo(wheel: Path, tmp_path: Path):
    names = zipfile.ZipFile(wheel).namelist()
    assert "regard/report/static/page.css" in names and not [n for n in names if n.startswith("tests")]
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    pip = [tmp_path / "env" / "bin" / "pip", "install", "--quiet", "-c", ROOT / "constraints.txt"]
    subprocess.run([*pip, "torch"], check=True)
    subprocess.run([*pip, wheel], check=True)
    command = [tmp_path / "env" / "bin" / "regard", "demo", "--quick"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert "What to try next" in out.stdout and "alignment error rate" in out.stdout
    assert (tmp_path / "runs" / "demo" / "report.html").exists()
    assert_the_tour_runs(tmp_path / "env" / "bin", tmp_path / "elsewhere")


def assert_the_tour_runs(programs: Path, folder: Path) -> None:
    """The README's tour, shell and Python, in a folder that knows nothing of the repository."""
    folder.mkdir()
    environment = {"PATH": f"{programs}:/usr/bin:/bin"}
    tour = script(ROOT / "README.md", folder)
    out = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", tour], cwd=folder, capture_output=True, text=True, env=environment
    )
    assert out.returncode == 0, out.stderr
    assert "BLEU" in out.stdout and (folder / "look.html").exists() and (folder / "runs" / "half").is_dir()
