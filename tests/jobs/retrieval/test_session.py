"""An index by a real encoder: passages that fit its window, vectors that are its own, and no others."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from regard.errors import ConfigError, DataError, RunError, SearchIndexError
from regard.formats.retrieval import SearchQuery, read_queries, read_run
from regard.jobs.convert import import_folder
from regard.jobs.load import load_encoder
from regard.jobs.retrieval.encoder import identify_encoder, open_encoder
from regard.jobs.retrieval.session import SearchSession, write_search_run
from regard.metrics.retrieval import rank_documents
from regard.model import weights
from regard.progress import report_progress_to
from regard.retrieval.index import METHODS
from tests.jobs.retrieval.letters import N, Q, write_documents
from tests.notes import NoteListener
from tests.tiny_bert import WINDOW


def test_every_passage_is_read_to_its_end(encoder_run: Path):
    encoder, embedder = open_encoder(encoder_run, "cpu"), load_encoder(encoder_run, "cpu")
    text = " ".join(["a b c dog"] * 17)
    passages = encoder.split(text)
    assert len(passages) > 3
    for begin, end in passages:
        tokens = embedder.tokenizer.spans(text[begin:end], 1000)
        assert len(tokens) - 2 <= WINDOW
    assert encoder.split("the dog") == [(0, 7)] and encoder.split(" ") == []


def test_vectors_are_those_of_the_encoder(indexed: Path, encoder_run: Path):
    index = SearchSession(indexed / "idx").index
    embedder = load_encoder(encoder_run, "cpu")
    for number in (0, N - 1):
        begin, end = index.passages.starts[number : number + 2]
        content = index.documents[number].content
        texts = [content[slice(*index.passages.span(row))] for row in range(begin, end)]
        ours = index.passages.vectors.decode(np.arange(begin, end))
        assert np.allclose(ours, embedder.embed(texts).numpy(), atol=1e-6)
    assert index.manifest.num_passages > N


def test_results_have_the_texts_of_all_methods(indexed: Path):
    session = SearchSession(indexed / "idx")
    (result,) = session.search([SearchQuery("7", "the dog c d e")], 5)
    assert tuple(result.rankings) == METHODS and result.hits is result.rankings["fused"]
    for method, hits in result.rankings.items():
        assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5], method
        for hit in hits:
            document = session.index.documents[session.index.documents.find(hit.id)]
            assert hit.title == document.title and hit.text in document.text and hit.text
    assert result.rankings["dense"][0].score == pytest.approx(
        max(float(vector @ session.encoder.embed(["the dog c d e"])[0]) for vector in all_vectors(session)), abs=1e-6
    )
    (alone,) = session.search([SearchQuery("7", "the dog c d e")], 5, "bm25")
    assert alone.hits == tuple(alone.rankings["bm25"]) and tuple(alone.rankings) == ("bm25",)
    assert [hit.id for hit in alone.hits] == [hit.id for hit in result.rankings["bm25"]]


def all_vectors(session: SearchSession) -> np.ndarray:
    return session.index.passages.vectors.decode(np.arange(session.index.manifest.num_passages))


def test_a_run_that_is_written_has_the_ranking(indexed: Path, tmp_path: Path):
    session = SearchSession(indexed / "idx")
    for method in METHODS:
        write_search_run(session, indexed / "queries.tsv", tmp_path / "out.trec", 7, method)
        run = read_run(tmp_path / "out.trec")
        for query, rankings, _ in session.rank(read_queries(indexed / "queries.tsv"), 7):
            expected = session.name_documents(getattr(rankings, method))
            assert list(run[query.id]) == list(expected) == rank_documents(expected)
            assert list(run[query.id].values()) == pytest.approx(list(expected.values()), rel=1e-8)
        assert len(run) == Q
        assert f"regard-{method}" in (tmp_path / "out.trec").read_text()


def test_bm25_needs_no_encoder_and_the_others_say_where_it_was(indexed: Path, encoder_run: Path, tmp_path: Path):
    shutil.copytree(encoder_run, tmp_path / "moved")
    query = [SearchQuery("1", "c d")]
    shutil.copytree(indexed / "idx", tmp_path / "idx")
    manifest = tmp_path / "idx" / "index.json"
    manifest.write_text(manifest.read_text().replace(str(encoder_run), str(tmp_path / "gone")))
    assert len(list(SearchSession(tmp_path / "idx").search(query, 3, "bm25"))) == 1
    with pytest.raises(SearchIndexError, match=r"no longer in .*gone. Name its folder with --encoder"):
        list(SearchSession(tmp_path / "idx").search(query, 3))
    assert len(list(SearchSession(tmp_path / "idx", tmp_path / "moved").search(query, 3))) == 1


def test_an_encoder_with_other_weights_is_refused(indexed: Path, encoder_run: Path, tmp_path: Path):
    bert = encoder_run.parent / "bert"
    shutil.copytree(bert, tmp_path / "bert")
    tensors = weights.read(bert / "model.safetensors")
    name = next(iter(tensors))
    weights.write({**tensors, name: tensors[name] + 1}, tmp_path / "bert" / "model.safetensors")
    import_folder(tmp_path / "bert", tmp_path / "other")
    assert identify_encoder(tmp_path / "other").checksum != identify_encoder(encoder_run).checksum
    session = SearchSession(indexed / "idx", tmp_path / "other")
    with pytest.raises(SearchIndexError, match=r"its vectors are those of tiny .*cannot be compared.*--method bm25"):
        list(session.search([SearchQuery("1", "c d")], 3))
    with pytest.raises(RunError, match="no such run"):
        list(SearchSession(indexed / "idx", tmp_path / "none").search([SearchQuery("1", "c d")], 3))


@pytest.mark.parametrize(
    ("text", "depth", "method", "error", "message"),
    [
        (" ", 3, None, DataError, "the query is empty"),
        ("c", 0, None, ConfigError, "--top 0: expected a number from 1 to 1,000"),
        ("c", 1001, None, ConfigError, "--top 1001"),
        ("c", 3, "tfidf", ConfigError, "--method tfidf: expected one of fused, dense, bm25"),
    ],
)
def test_bad_searches_are_refused(indexed: Path, text: str, depth: int, method: str | None, error, message: str):
    with pytest.raises(error, match=message):
        list(SearchSession(indexed / "idx").search([SearchQuery("1", text)], depth, method))


def test_documents_are_added_and_deleted(indexed: Path, tmp_path: Path):
    shutil.copytree(indexed / "idx", tmp_path / "idx")
    session = SearchSession(tmp_path / "idx")
    session.change([write_documents(tmp_path / "more.jsonl", N, 5, seed=9)])
    assert len(session.index.documents) == N + 5
    session.change(deleted=[f"d{N + n}" for n in range(5)])
    assert len(session.index.documents) == N
    trees = [(folder / "idx" / "passages" / "vectors").read_bytes() for folder in (indexed, tmp_path)]
    assert trees[0] == trees[1]


def test_a_query_that_the_encoder_cuts_is_said(indexed: Path):
    notes: list[str] = []
    long = " ".join(["a b c dog"] * 17)
    for method, expected in (("bm25", []), (None, ["2 queries are longer than what the encoder reads"])):
        with report_progress_to(NoteListener(notes)):
            texts = [SearchQuery(str(n), text) for n, text in enumerate((long, "c d", f"{long} b"))]
            assert len(list(SearchSession(indexed / "idx").search(texts, 3, method))) == 3
        assert [note[: len(text)] for note, text in zip(notes, expected, strict=True)] == expected
