"""An index is scored as trec_eval scores its runs; what judgments and documents lack is said."""

import dataclasses
from pathlib import Path

import pytest

from regard.display.views.retrieval.evaluation import format_search_evaluation
from regard.errors import DataError, FormatError
from regard.formats.retrieval import read_judgments, read_run
from regard.jobs.retrieval.evaluation import evaluate_search
from regard.jobs.retrieval.session import SearchSession, write_search_run
from tests.jobs.retrieval.letters import Q

TITLES = ["fused", "dense", "BM25"]


@pytest.fixture(scope="module")
def session(indexed: Path) -> SearchSession:
    return SearchSession(indexed / "idx")


def test_scores_are_those_of_trec_eval_on_the_runs_that_are_written(
    session: SearchSession, indexed: Path, tmp_path: Path
):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="needs pytrec-eval-terrier: pip install '.[dev]'")
    files = (indexed / "queries.tsv", indexed / "qrels.txt")
    result = evaluate_search(session, *files)
    judgments = read_judgments(files[1])
    for method, title in zip(("fused", "dense", "bm25"), TITLES, strict=True):
        write_search_run(session, files[0], tmp_path / "out.trec", 1000, method)
        run = read_run(tmp_path / "out.trec")
        evaluated = pytrec_eval.RelevanceEvaluator(judgments, {"ndcg_cut_10", "map"}).evaluate(run).values()
        for ours, theirs in (("ndcg_10", "ndcg_cut_10"), ("ap", "map")):
            mean = 100 * sum(query[theirs] for query in evaluated) / Q
            assert result.scores[title][ours].value == pytest.approx(mean, abs=1e-6), (title, ours)
    assert result.scores["BM25"]["rr"].value > 90  # queries are parts of documents
    assert result.notes == () and result.num_queries == Q


def test_other_systems_are_compared_with_ours(session: SearchSession, indexed: Path, tmp_path: Path):
    write_search_run(session, indexed / "queries.tsv", tmp_path / "bm25.trec", 1000, "bm25")
    lines = (tmp_path / "bm25.trec").read_text().split("\n")
    (tmp_path / "part.trec").write_text("\n".join(line for line in lines if not line.startswith("q1 ")))
    others = [tmp_path / "bm25.trec", tmp_path / "part.trec"]
    result = evaluate_search(session, indexed / "queries.tsv", indexed / "qrels.txt", others)
    assert list(result.systems) == [*TITLES, "bm25.trec", "part.trec"]
    assert result.scores["bm25.trec"] == result.scores["BM25"]
    assert result.notes == ("judged queries for which part.trec has no documents, and which count 0: 1 ('q1')",)
    tests = {(test.first, test.second): test for test in result.tests["ndcg_10"]}
    assert len(tests) == 10 and tests["BM25", "bm25.trec"].verdict == "no query differs"
    assert tests["BM25", "part.trec"].difference.value > 0
    assert result.best in ("BM25", "bm25.trec") and "best BM25" in repr(result)


def test_what_does_not_fit_together_is_noted(session: SearchSession, indexed: Path, tmp_path: Path):
    queries, judgments = tmp_path / "q.tsv", tmp_path / "qrels"
    queries.write_text("q0\tc d\nq1\td e\nnew\te f\n")
    judgments.write_text("q0 0 d1 1\nq0 0 d999 1\nq1 0 d2 0\nold 0 d3 1\n")
    result = evaluate_search(session, queries, judgments)
    assert result.num_queries == 3
    assert result.notes == (
        "queries without a judged document, which are not scored: 1 ('new')",
        f"judged queries that {queries} does not have, and which count 0: 1 ('old')",
        "judged queries without a relevant document, which count 0: 1 ('q1')",
        "judged documents that are not in the index, and that no search finds: 1 ('d999')",
    )
    shown = "\n".join(format_search_evaluation(result, 100))
    assert all(note[:40] in shown for note in result.notes)


@pytest.mark.parametrize(
    ("queries", "judgments", "message"),
    [
        ("a\tc d\n", "q0 0 d1 1\n", r"judges no query of .*it has the ids 'q0'; the queries have 'a'"),
        (
            "q0\tc d\n",
            "q0 0 d1 0\nq0 0 d2 -1\n",
            r"qrels: has no document of .*idx that is relevant \(grade 1 or more\)",
        ),
        ("q0\tc d\n", "q0 0 x1 1\nzz 0 d1 1\n", r"relevant .* to a query of .*q\.tsv: every score would be 0"),
        ("q0\tc d\n", "q0 0 x1 1\nq0 0 d1 0\n", r"every score would be 0"),
        ("q0\tc d\n", "q0 0 x1 1\n", r"judges no document of .*it has the ids 'x1'; the index has 'd0', 'd1'"),
    ],
)
def test_ids_that_never_fit_are_an_error(session, tmp_path: Path, queries: str, judgments: str, message: str):
    (tmp_path / "q.tsv").write_text(queries)
    (tmp_path / "qrels").write_text(judgments)
    with pytest.raises(DataError, match=message):
        evaluate_search(session, tmp_path / "q.tsv", tmp_path / "qrels")


def test_a_bad_run_of_another_system_is_refused_before_the_search(session, indexed: Path, tmp_path: Path):
    (tmp_path / "bad.trec").write_text("q1 d1\n")
    with pytest.raises(FormatError, match=r"bad\.trec:1: has 2 columns"):
        evaluate_search(session, indexed / "queries.tsv", indexed / "qrels.txt", [tmp_path / "bad.trec"])


def test_the_result_is_frozen_and_shows_itself(session: SearchSession, indexed: Path):
    result = evaluate_search(session, indexed / "queries.tsv", indexed / "qrels.txt")
    assert dataclasses.is_dataclass(result) and result.__dataclass_params__.frozen
    html = result._repr_html_()
    assert all(title in html for title in TITLES) and "p (bootstrap)" in html
    values = result.as_dict()
    assert values["systems"]["fused"]["ndcg_10"]["value"] == result.scores["fused"]["ndcg_10"].value
    assert [test["second"] for test in values["tests"]["ap"]] == ["dense", "BM25", "BM25"]
    assert "stem:porter" in values["rankings"]["BM25"] and str(result).count("nDCG@10") == 3


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_evaluation_fits_the_terminal(session: SearchSession, indexed: Path, width: int):
    result = evaluate_search(session, indexed / "queries.tsv", indexed / "qrels.txt")
    for verbose in (False, True):
        lines = format_search_evaluation(result, width, verbose)
        assert max(map(len, lines)) <= width
        assert "highest nDCG@10 on 13 queries" in lines[0] and any("P@10" in line for line in lines) == verbose
