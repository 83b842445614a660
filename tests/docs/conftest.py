"""What the pages assume: commands on the path, pairs, a trained run, an imported encoder. And the site, built once."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.preloaded import warm_commands
from tests.tiny_bert import write_bert

SMALL = "--set model.dim=32 --set model.heads=2 --set model.layers=2 --set model.ffn=64 --set train.batch_tokens=256"
PREPARE = f"""
regard corpus english-french --pairs 460 --out pairs.tsv
cut -f 1 pairs.tsv > all.en
cut -f 2 pairs.tsv > all.fr
for side in en fr; do
    head -400 all.$side > train.$side
    sed -n 401,430p all.$side > dev.$side
    sed -n 431,460p all.$side > test.$side
done
regard train train.en train.fr --dev dev.en dev.fr --test test.en test.fr --source en --target fr --out runs/mine \\
    --steps 30 {SMALL}
regard import bert --out runs/minilm
rm -r bert
"""

Shell = Callable[[str, Path], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def one_core() -> Iterator[None]:
    """Processes that are started have one core, and so one thread: tests run side by side."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(cores)[os.getpid() % len(cores)]})
    yield
    os.sched_setaffinity(0, cores)


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Runs a script in a folder."""
    with warm_commands(tmp_path_factory.mktemp("bin")) as path:

        def run(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
            return subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script],
                cwd=folder,
                capture_output=True,
                text=True,
                env={"PATH": path, "HOME": str(folder), "OMP_NUM_THREADS": "1"},
            )

        yield run


@pytest.fixture(scope="session")
def prepared(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files and the runs that how-to guides assume; runs/minilm is a tiny encoder of its kind."""
    folder = tmp_path_factory.mktemp("prepared")
    write_bert(folder / "bert")
    out = shell(PREPARE, folder)
    assert out.returncode == 0, out.stderr
    return folder


@pytest.fixture
def workplace(prepared: Path, tmp_path: Path) -> Path:
    """A copy of it, in which a page may change what it likes."""
    shutil.copytree(prepared, tmp_path / "work")
    shutil.copytree(ROOT / "examples", tmp_path / "work" / "examples")
    return tmp_path / "work"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install 'regard[docs]'")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder
