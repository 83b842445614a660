"""Approximate search: the same scores as exact search, nearly the same documents, and a graph that grows."""

import sys
from pathlib import Path

import numpy as np
import pytest

from regard.errors import ConfigError, SearchIndexError
from regard.formats.retrieval import SearchDocument
from regard.retrieval.build import Additions, IndexOptions, change_index, create_index
from regard.retrieval.index import open_search_index
from tests.retrieval.test_index import QUERIES
from tests.retrieval.toy import documents, embed, encoder

OPTIONS = IndexOptions(language="en", hnsw=True)
N = 101


def test_the_graph_finds_what_exact_search_finds_with_the_same_scores(tmp_path: Path):
    pytest.importorskip("usearch", reason="needs usearch: pip install '.[hnsw]'")
    index = create_index(tmp_path / "idx", documents(N), encoder(), OPTIONS)
    assert index.manifest.hnsw.recall > 0.95 and index.manifest.hnsw.sample == 200
    vectors = embed(QUERIES)
    exact, near = (index.search(QUERIES, vectors, 10, approximate) for approximate in (False, True))
    for one, other in zip(exact, near, strict=True):
        shared = set(one.dense.documents) & set(other.dense.documents)
        scores = dict(zip(one.dense.documents, one.dense.scores, strict=True))
        pairs = zip(other.dense.documents, other.dense.scores, strict=True)
        assert len(shared) >= 9 and all(scores.get(n, s) == pytest.approx(s, abs=1e-6) for n, s in pairs)
        assert list(one.bm25.documents) == list(other.bm25.documents)


def test_a_graph_grows_and_is_built_again_after_a_deletion(tmp_path: Path):
    pytest.importorskip("usearch", reason="needs usearch: pip install '.[hnsw]'")
    create_index(tmp_path / "idx", documents(31), encoder(), OPTIONS)
    new = SearchDocument("new", "", "quite other words")
    grown = change_index(tmp_path / "idx", Additions(lambda: iter([new]), encoder()))
    query = embed([new.content])
    assert grown.documents.ids[grown.hnsw.search(query, 1)[0].documents[0]] == "new"
    fewer = change_index(tmp_path / "idx", deleted=["new", "d3"])
    assert len(fewer.documents) == 30 and fewer.manifest.hnsw is not None
    assert max(fewer.hnsw.search(query, 30)[0].documents) < 30


def test_a_damaged_graph_is_refused_before_compiled_code_reads_it(tmp_path: Path):
    pytest.importorskip("usearch", reason="needs usearch: pip install '.[hnsw]'")
    index = create_index(tmp_path / "idx", documents(31), encoder(), OPTIONS)
    raw = bytearray(index.folder.hnsw.read_bytes())
    raw[len(raw) // 2] ^= 255
    index.folder.hnsw.write_bytes(bytes(raw))
    opened = open_search_index(tmp_path / "idx")
    with pytest.raises(SearchIndexError, match=r"hnsw\.usearch: damaged: its checksum"):
        opened.search(QUERIES, embed(QUERIES), 3, approximate=True)
    assert len(opened.search(QUERIES, embed(QUERIES), 3)[0].dense.documents) == 3  # exact search needs no graph


def test_without_a_graph_or_the_package_a_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    index = create_index(tmp_path / "idx", documents(5), encoder(), IndexOptions(language="en"))
    with pytest.raises(SearchIndexError, match="has no graph for approximate search"):
        index.search(QUERIES, embed(QUERIES), 3, approximate=True)
    monkeypatch.setitem(sys.modules, "usearch", None)
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(ConfigError, match=r"needs the package usearch; .*pip install '\.\[hnsw\]'"):
        create_index(tmp_path / "other", documents(5), encoder(), OPTIONS)
    assert not (tmp_path / "other").exists()


def test_a_key_beyond_the_passages_is_damage(tmp_path: Path):
    pytest.importorskip("usearch", reason="needs usearch: pip install '.[hnsw]'")
    index = create_index(tmp_path / "idx", documents(11), encoder(), OPTIONS)
    graph = index.hnsw
    with pytest.raises(SearchIndexError, match="names passages that do not exist"):
        graph._rank(embed(QUERIES)[0], np.array([10**6]), 3)
