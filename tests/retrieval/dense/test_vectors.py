"""Vectors come back as they were stored; in int8 within half a step, and unchanged when they are stored again."""

from pathlib import Path

import numpy as np
import pytest

from regard.errors import RegardError, SearchIndexError
from regard.retrieval.dense.vectors import PRECISIONS, StoredVectors, quantize

N, D = 23, 5


def vectors(scale: float = 1.0, seed: int = 2) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((N, D)).astype(np.float32) * scale
    rows[:, 3] = 0  # a dimension that is never used
    return rows


def store(folder: Path, precision: str, blocks: list[np.ndarray], old: StoredVectors | None = None) -> StoredVectors:
    folder.mkdir()
    writer = PRECISIONS[precision].create(folder, old)
    for block in blocks:
        writer.add(block)
    writer.finish()
    return PRECISIONS[precision].open(folder, sum(map(len, blocks)), D)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_products_are_those_of_the_vectors_that_are_stored(tmp_path: Path, precision: str):
    rows, queries = vectors(), vectors(seed=7)[:3]
    stored = store(tmp_path / "a", precision, [rows[:11], rows[11:]])
    decoded = stored.decode(np.arange(N))
    steps = np.abs(rows).max(axis=0) / 127
    assert np.allclose(decoded, rows, rtol=0, atol=steps / 2 + 1e-7 if precision == "int8" else 0)
    products = stored.prepare(queries) @ stored.block(2, 19).T
    assert np.allclose(products, queries @ decoded[2:19].T, atol=1e-5)
    assert {path.name for path in (tmp_path / "a").iterdir()} <= {"vectors", "scales"}


def test_int8_needs_a_quarter_of_the_space(tmp_path: Path):
    for precision in PRECISIONS:
        store(tmp_path / precision, precision, [vectors()])
    sizes = [(tmp_path / precision / "vectors").stat().st_size for precision in ("float32", "int8")]
    assert sizes[0] == 4 * sizes[1]


def test_int8_vectors_that_are_stored_again_stay_as_they_are(tmp_path: Path):
    old = store(tmp_path / "a", "int8", [vectors()])
    again = store(tmp_path / "b", "int8", [old.decode(np.arange(7)), vectors(0.1)], old)
    assert (again.block(0, 7) == old.block(0, 7)).all()
    grown = store(tmp_path / "c", "int8", [old.decode(np.arange(7)), vectors(3)], old)
    steps = np.abs(vectors(3)).max(axis=0) / 127
    assert np.allclose(grown.decode(np.arange(7)), vectors()[:7], rtol=0, atol=steps)


def test_quantizing_never_leaves_the_range():
    assert quantize(np.array([[9.0, -9.0]], np.float32), np.array([0.01, 0.01], np.float32)).tolist() == [[127, -127]]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_file_of_another_size_is_refused(tmp_path: Path, precision: str):
    store(tmp_path / "a", precision, [vectors()])
    path = tmp_path / "a" / "vectors"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(SearchIndexError, match=r"vectors: damaged: has \d+ numbers; expected 23 vectors of 5"):
        PRECISIONS[precision].open(tmp_path / "a", N, D)
    path.unlink()
    with pytest.raises(RegardError, match=r"vectors: cannot be read.*index the documents again"):
        PRECISIONS[precision].open(tmp_path / "a", N, D)


def test_scales_that_are_not_finite_are_refused(tmp_path: Path):
    store(tmp_path / "a", "int8", [vectors()])
    (tmp_path / "a" / "scales").write_bytes(np.full(D, np.inf, np.float32).tobytes())
    with pytest.raises(SearchIndexError, match="scales: damaged"):
        PRECISIONS["int8"].open(tmp_path / "a", N, D)
