"""`regard index` and `regard search` as people type them."""

import io
import json
from pathlib import Path

import pytest

from regard.cli import main
from regard.formats.retrieval import read_run
from tests.cli.test_classify import typed
from tests.jobs.retrieval.conftest import indexed
from tests.jobs.retrieval.letters import N, Q, write_documents

__all__ = ["indexed"]


def refused(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one sentence of a command that ends with 2."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    assert end.value.code == 2 and out == "" and "Traceback" not in err
    (line,) = [line for line in err.split("\n") if line.startswith("error: ")]
    return line


def test_documents_are_indexed_searched_added_and_deleted(encoder_run: Path, indexed: Path, tmp_path: Path, capfd):
    idx = tmp_path / "idx"
    shown = typed(capfd, "index", encoder_run, indexed / "docs.jsonl", "--out", idx, "--precision", "int8")
    assert f"{N} documents" in shown and "in int8, by tiny (weights" in shown and "BM25: " in shown
    more = write_documents(tmp_path / "more.jsonl", N, 3, seed=7)
    assert f"{N + 3} documents" in typed(capfd, "index", idx, "--add", more)
    assert "already holds a document with the id" in refused(capfd, "index", idx, "--add", more)
    assert f"{N + 3} documents" in typed(capfd, "index", idx, "--add", more, "--replace")
    assert f"{N + 1} documents" in typed(capfd, "index", idx, "--delete", f"d{N}", "--delete", "d0")
    result = json.loads(typed(capfd, "search", idx, "c d e", "--json", "--top", "3", "--method", "bm25"))
    assert result["query"] == "c d e" and len(result["bm25"]) == 3 and "dense" not in result


def test_three_methods_stand_side_by_side(indexed: Path, capfd, monkeypatch: pytest.MonkeyPatch):
    for width in (60, 100):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = typed(capfd, "search", indexed / "idx", "the dog c d", "--top", "5").split("\n")
        assert max(map(len, lines)) <= width and lines[0] == "the dog c d"
        assert lines[2].split() == ["rank", "fused", "score", "dense", "score", "BM25", "score"]
        assert [line.split()[0] for line in lines[3:8]] == ["1", "2", "3", "4", "5"]
        assert any(line.startswith("1. d") for line in lines) and any(line.startswith("5. d") for line in lines)


def test_queries_come_from_standard_input(indexed: Path, capfd, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"c d\n\ne f\n")))
    lines = typed(capfd, "search", indexed / "idx", "--json", "--top", "2").split("\n")
    rows = [json.loads(line) for line in lines if line]
    assert [(row["id"], row["query"]) for row in rows] == [("1", "c d"), ("3", "e f")]
    assert [list(row) for row in rows] == [["id", "query", "fused", "dense", "bm25"]] * 2
    assert rows[0]["fused"][0].keys() == {"rank", "id", "score", "title", "text"}


def test_of_an_endless_query_the_beginning_is_shown(indexed: Path, tmp_path: Path, capfd):
    text = f"the dog c d {'x' * 3_000_000} sees"
    (tmp_path / "queries.jsonl").write_text(json.dumps({"id": "1", "text": text}) + "\n", encoding="utf-8")
    options = ("search", indexed / "idx", "--queries", tmp_path / "queries.jsonl", "--method", "bm25")
    shown = typed(capfd, *options)
    assert shown.split("\n")[0] == "the dog c d …" and "1. d" in shown and len(shown) < 10_000
    assert json.loads(typed(capfd, *options, "--json"))["query"] == text


def test_nothing_found_is_said(indexed: Path, capfd):
    shown = typed(capfd, "search", indexed / "idx", "xyzzy", "--method", "bm25")
    assert "Nothing was found: no document has a word of the query." in shown


def test_a_run_is_written_and_scored(indexed: Path, tmp_path: Path, capfd):
    files = ["--queries", indexed / "queries.tsv"]
    assert typed(capfd, "search", indexed / "idx", *files, "--run", tmp_path / "out.trec") == ""
    run = read_run(tmp_path / "out.trec")
    assert len(run) == Q and (tmp_path / "out.trec").read_text().startswith("q0 Q0 d")
    judged = [*files, "--judgments", indexed / "qrels.txt"]
    scores = json.loads(
        typed(capfd, "search", indexed / "idx", *judged, "--compare-with", tmp_path / "out.trec", "--json")
    )
    assert scores["systems"]["out.trec"] == scores["systems"]["fused"]
    assert "highest nDCG@10 on 13 queries" in typed(capfd, "search", indexed / "idx", *judged)


def bad(indexed: Path, tmp_path: Path, encoder_run: Path) -> dict[str, tuple[list[object], str]]:
    idx, docs = indexed / "idx", indexed / "docs.jsonl"
    (tmp_path / "twice.tsv").write_text("a\tx\na\ty\n")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "blank.tsv").write_text("q1\t \n")
    (tmp_path / "noid.csv").write_text("query-id,corpus-id,score\n,d1,1\n")
    judged = ["search", idx, "--queries", indexed / "queries.tsv", "--judgments", indexed / "qrels.txt"]
    return {
        "an empty query": (["search", idx, " "], "the query is empty"),
        "an empty query in a file": (["search", idx, "--queries", tmp_path / "blank.tsv"], "blank.tsv:1: the query"),
        "two kinds of queries": (["search", idx, "x", "--queries", docs], "not both"),
        "a run without queries": (["search", idx, "x", "--run", "y"], "--queries is missing"),
        "another system without judgments": (
            ["search", idx, "x", "--compare-with", tmp_path / "none.trec"],
            "--judgments is missing: --compare-with",
        ),
        "judgments of the first documents": ([*judged, "--top", "3"], "--top is not for --judgments"),
        "judgments of one method": ([*judged, "--method", "bm25"], "--method is not for --judgments"),
        "judgments without ids": (
            ["search", idx, "--queries", indexed / "queries.tsv", "--judgments", tmp_path / "noid.csv"],
            "noid.csv:2: the judgment has no id of a query",
        ),
        "nothing to add": (["index", idx, "--add", tmp_path / "empty.jsonl"], "there are no documents to add"),
        "one column for two texts": (
            ["index", encoder_run, docs, "--out", tmp_path / "x", "--title-column", "text", "--text-column", "Text"],
            "would be both the title and the text",
        ),
        "no index": (["search", tmp_path / "none", "x"], "no search index"),
        "a run is no index": (["search", encoder_run, "x"], "no search index"),
        "an index is no run": (["evaluate", idx, docs], f"is a search index; evaluate it with `regard search {idx}"),
        "no --out": (["index", encoder_run, docs], "--out is missing"),
        "no documents": (["index", encoder_run, "--out", tmp_path / "x"], "no documents: give"),
        "an empty file": (["index", encoder_run, tmp_path / "empty.jsonl", "--out", tmp_path / "x"], "no documents"),
        "an id twice": (
            ["index", encoder_run, tmp_path / "twice.tsv", "--out", tmp_path / "x"],
            "twice.tsv:2: another",
        ),
        "no encoder": (["index", tmp_path, docs, "--out", tmp_path / "x"], "not a run folder"),
        "both changes": (["index", idx, "--add", docs, "--delete", "d1"], "not both"),
        "two outputs": (["index", idx, "--add", docs, "--out", "x"], "leave out --out"),
        "an unknown id": (["index", idx, "--delete", "zz"], "has no document 'zz', so nothing was deleted"),
        "an unknown method": (["search", idx, "x", "--method", "tfidf"], "expected one of fused, dense, bm25"),
        "no graph": (["search", idx, "x", "--hnsw"], "has no graph for approximate search"),
    }


@pytest.mark.parametrize("kind", list(bad(Path(), Path("/tmp"), Path())))
def test_bad_input_gets_one_sentence(kind: str, indexed: Path, encoder_run: Path, tmp_path: Path, capfd):
    arguments, message = bad(indexed, tmp_path, encoder_run)[kind]
    assert message in refused(capfd, *arguments)
    assert not (tmp_path / "x").exists()


def test_a_graph_is_built_and_its_recall_is_printed(encoder_run: Path, indexed: Path, tmp_path: Path, capfd):
    pytest.importorskip("usearch", reason="needs usearch: pip install '.[hnsw]'")
    shown = typed(capfd, "index", encoder_run, indexed / "docs.jsonl", "--out", tmp_path / "idx", "--hnsw")
    assert "of the ten nearest documents that exact search finds" in " ".join(shown.split())
    exact, near = (
        json.loads(typed(capfd, "search", tmp_path / "idx", "c d e", "--json", *flags)) for flags in ([], ["--hnsw"])
    )
    assert [hit["id"] for hit in exact["dense"]][:3] == [hit["id"] for hit in near["dense"]][:3]
