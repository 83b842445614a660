"""BM25 is Lucene's, and the inverted index depends on its documents alone, not on how they came."""

import math
import random
from pathlib import Path

import numpy as np
import pytest

from regard.errors import RegardError
from regard.retrieval.lexical import postings
from regard.retrieval.lexical.bm25 import InvertedIndex
from regard.retrieval.lexical.postings import write_inverted_index
from tests.retrieval.toy import WORDS, read_tree

NONE = np.empty(0, np.int64)


def texts(count: int, seed: int = 5) -> list[list[str]]:
    rng = random.Random(seed)
    return [[], *(rng.choices(WORDS, k=rng.randint(1, 17)) for _ in range(count - 1))]


def build(folder: Path, new: list[list[str]], old: InvertedIndex | None = None, kept=NONE) -> InvertedIndex:
    write_inverted_index(folder, new, old, np.asarray(kept))
    return InvertedIndex(folder, len(kept) + len(new))


def test_the_score_is_the_formula(tmp_path: Path):
    index = build(tmp_path / "a", [["heat", "heat", "flow"], ["flow"], ["slab", "wing"]])
    n, lengths, mean = 3, [3, 1, 2], 2

    def weight(tf: int, length: int, df: int) -> float:
        return math.log(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + 1.2 * (0.25 + 0.75 * length / mean))

    expected = [weight(2, lengths[0], 1) + weight(1, lengths[0], 2), weight(1, lengths[1], 2), 0]
    assert index.score(["heat", "flow", "unknown"]) == pytest.approx(expected)
    assert index.score(["flow", "flow"]) == pytest.approx(2 * index.score(["flow"]))
    assert not index.score([]).any()


def test_scores_are_those_of_bm25s(tmp_path: Path):
    bm25s = pytest.importorskip("bm25s", reason="needs bm25s: pip install '.[dev]'")
    corpus = texts(101)
    theirs = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    theirs.index([list(document) for document in corpus], show_progress=False)
    ours = build(tmp_path / "a", corpus)
    for query in (["wing", "heats"], ["dragless"], WORDS[:11]):
        assert ours.score(query) == pytest.approx(theirs.get_scores(query), abs=1e-5)


def test_only_documents_with_a_term_are_ranked(tmp_path: Path):
    index = build(tmp_path / "a", [["heat"], ["flow"], ["heat"]])
    ranking = index.search(["heat"], 10, np.array([0, 1, 2], np.int32))
    assert list(ranking.documents) == [2, 0]  # equal scores: the last id first


@pytest.mark.parametrize("block", [postings.BLOCK, 7])
def test_added_and_deleted_documents_leave_no_trace(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch):
    corpus = texts(37)
    whole = build(tmp_path / "whole", corpus)
    monkeypatch.setattr(postings, "BLOCK", block)
    monkeypatch.setattr(postings, "MAX_ROWS", block)
    half = build(tmp_path / "half", corpus[:23])
    build(tmp_path / "added", corpus[23:], half, np.arange(23))
    assert read_tree(tmp_path / "added") == read_tree(tmp_path / "whole")
    kept = [n for n in range(37) if n % 3]
    build(tmp_path / "deleted", [], whole, kept)
    build(tmp_path / "fewer", [corpus[n] for n in kept])
    assert read_tree(tmp_path / "deleted") == read_tree(tmp_path / "fewer")


def test_documents_without_terms_are_an_index_too(tmp_path: Path):
    assert not build(tmp_path / "a", [[], []]).score(["heat"]).any()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("postings.documents", lambda values: values + 1000),
        ("postings.documents", lambda values: values - 1000),
        ("postings.documents", lambda values: values * 0),
        ("postings.counts", lambda values: values * 0),
        ("postings.counts", lambda values: values[:-1]),
        ("lengths", lambda values: values - 100),
        ("lengths", lambda values: values[1:]),
        ("postings.starts", lambda values: values[::-1]),
        ("terms.offsets", lambda values: values // 2),
    ],
)
def test_damaged_postings_are_refused(tmp_path: Path, name: str, change):
    build(tmp_path / "a", [["heat", "flow"], ["heat"], ["heat"]])
    path = tmp_path / "a" / name
    dtype = np.int64 if name.endswith(("starts", "offsets")) else np.int32
    path.write_bytes(change(np.fromfile(path, dtype)).astype(dtype).tobytes())
    with pytest.raises(RegardError, match=r"damaged.*--overwrite"):
        InvertedIndex(tmp_path / "a", 3).score(["heat"])


def test_scores_that_are_equal_in_float32_are_ordered_by_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    index = build(tmp_path / "a", [["heat"]] * 4)
    monkeypatch.setattr(InvertedIndex, "score", lambda self, terms: np.array([1.0, 1 + 1e-9, 0.0, 1 - 1e-9]))
    ranking = index.search(["heat"], 3, np.array([3, 0, 1, 2], np.int32))
    assert ranking.documents.tolist() == [0, 3, 1] and ranking.scores.dtype == np.float32
