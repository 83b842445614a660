"""`regard.Index` in a program: open, search, add, delete, evaluate."""

import dataclasses
from pathlib import Path

import pytest

import regard
from tests.jobs.retrieval.conftest import indexed
from tests.jobs.retrieval.letters import N, write_documents

__all__ = ["indexed"]


def test_an_index_is_built_searched_and_changed(encoder_run: Path, indexed: Path, tmp_path: Path):
    index = regard.build_index(encoder_run, indexed / "docs.jsonl", out=tmp_path / "idx", language="en")
    assert len(index) == N == len(index.ids) and index.ids[0] == "d0" and index.path == tmp_path / "idx"
    result = index.search("the dog c d", top=5)
    assert isinstance(result, regard.SearchResult) and len(result.hits) == 5
    assert isinstance(result.hits[0], regard.SearchHit)
    pair = index.search(["the dog c d", "e f"], top=5)
    assert [one.query.text for one in pair] == ["the dog c d", "e f"]
    for one, other in zip(pair[0].hits, result.hits, strict=True):  # vectors of a batch differ in their last bits
        assert one.id == other.id and one.score == pytest.approx(other.score)
    index.add(write_documents(tmp_path / "more.jsonl", N, 5, seed=9))
    assert len(index) == N + 5 == len(regard.Index.open(tmp_path / "idx"))
    index.delete("d0", "d1")
    assert len(index) == N + 3 and "d0" not in list(index.ids)


def test_an_index_is_evaluated(indexed: Path):
    index = regard.Index.open(indexed / "idx", device="cpu")
    result = index.evaluate(indexed / "queries.tsv", indexed / "qrels.txt")
    assert isinstance(result, regard.SearchEvaluation) and 0 < result.scores["fused"]["ndcg_10"].value <= 100


def test_results_are_frozen_and_show_themselves(indexed: Path):
    index = regard.Index.open(indexed / "idx")
    result = index.search("the dog c <b>", top=3)
    for value in (result, result.hits[0]):
        assert dataclasses.is_dataclass(value) and value.__dataclass_params__.frozen
    html = result._repr_html_()
    assert "&lt;b&gt;" in html and "<b>" not in html and all(hit.id in html for hit in result.hits)
    assert repr(result).startswith("<SearchResult for 'the dog c <b>': d") and str(result).split()[0] == "rank"
    assert repr(index) == f"<Index {indexed / 'idx'}, 29 documents, encoder tiny>"
    assert "float32" in index._repr_html_() and "tiny" in index._repr_html_()
    with pytest.raises(regard.RegardError, match="is a search index"):
        regard.evaluate(indexed / "idx", "x.tsv")
