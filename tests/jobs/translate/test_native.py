"""A run by native code: in this process, in workers, and as a command."""

from pathlib import Path

import pytest

from regard.decode import BeamSearch, GreedySearch
from regard.jobs.load import load
from regard.jobs.train import fit
from regard.jobs.translate.engine_choice import open_chosen
from regard.jobs.translate.worker_pool import RuntimeOptions, WorkerPool
from tests.commands import regard
from tests.runtime.native.conftest import native_library
from tests.tasks.translate.test_translator import candidates

__all__ = ["native_library"]


@pytest.fixture
def run(tmp_path: Path, tiny, native_library) -> Path:
    for _ in fit.train_run(tmp_path / "run", tiny("train.steps=2"), False, lambda: False):
        pass
    return tmp_path / "run"


def test_a_run_is_translated_by_native_code(run: Path, files: Path):
    texts = (files / "test.en").read_text(encoding="utf-8").splitlines()
    expected = candidates(load(run), texts, BeamSearch(3))
    with open_chosen(run, RuntimeOptions(engine="native", quantize="none", workers=1), BeamSearch(3)) as opened:
        assert candidates(opened.backend, texts, BeamSearch(3)) == expected


@pytest.mark.slow
def test_programs_and_workers_use_native_code(run: Path, files: Path):
    texts = (files / "test.en").read_text(encoding="utf-8").splitlines()
    with WorkerPool(run, 2, "int8", "native") as pool:
        translations = pool.candidates(texts, GreedySearch())
    alone = load(run, quantize="int8", engine="native").candidates(texts, GreedySearch())
    assert translations == alone
    out = regard("translate", run, files / "test.en", "--engine", "native", "--quantize", "int8", "--beam", 1)
    assert out.returncode == 0, out.stderr
    assert out.stdout.splitlines() == [row[0].text for row in alone]
