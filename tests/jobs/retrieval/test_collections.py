"""Cranfield and MED, two test collections of half a century: the anchors of BM25, MiniLM and both fused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from regard.formats.retrieval import SearchQuery, read_documents, read_judgments, read_queries
from regard.jobs.retrieval.session import SearchSession
from regard.metrics.retrieval import score_run
from regard.retrieval.build import IndexOptions, create_index
from regard.retrieval.dense.encoder import Encoder
from regard.retrieval.index_folder import EncoderIdentity
from tests.cli.test_classify import typed
from tests.interchange.test_bert import minilm

pytestmark = pytest.mark.corpora
FILES = {"cranfield": ("cran.all.1400", "cran.qry", "cranqrel"), "med": ("MED.ALL", "MED.QRY", "MED.REL")}
FIELD = re.compile(r"\.(?:I +(\d+)|([TABW]))\s*")
HIGHEST = 5  # Cranfield's grades count down: 1 is the best, 4 the least relevant


def read_smart(path: Path) -> Iterator[dict[str, str]]:
    """The records of the SMART format: .I with a number, then fields of lines; a field that comes twice is joined."""
    record: dict[str, str] = {}
    field = ""
    for line in path.read_text(encoding="utf-8").split("\n"):
        match = FIELD.fullmatch(line)
        if match and match[1]:
            if record:
                yield record
            record, field = {"I": str(int(match[1]))}, ""
        elif match:
            field = match[2]
        elif field:
            record[field] = record.get(field, "") + line + "\n"
    yield record


def convert(corpora: Path, name: str, out: Path) -> None:
    """docs.jsonl, queries.jsonl and qrels.txt; queries are numbered by their position, as the judgments count them."""
    documents, queries, judgments = (corpora / name / file for file in FILES[name])
    rows = [{"id": r["I"], "title": r.get("T", ""), "text": r.get("W", "")} for r in read_smart(documents)]
    questions = [{"id": n, "text": record["W"]} for n, record in enumerate(read_smart(queries), start=1)]
    for file, records in (("docs.jsonl", rows), ("queries.jsonl", questions)):
        (out / file).write_text("".join(json.dumps(record) + "\n" for record in records))
    cells = [line.split() for line in judgments.read_text().split("\n") if line.strip()]
    grades = {"cranfield": lambda grade: HIGHEST - int(grade), "med": int}[name]
    lines = [f"{query} 0 {document} {grades(grade)}\n" for query, document, grade in cells]
    (out / "qrels.txt").write_text("".join(lines))


def blind_encoder() -> Encoder:
    """One vector for all texts: what BM25 finds needs no other."""
    vector = np.ones((1, 1), np.float32)
    identity = EncoderIdentity("blind", "", "")
    return Encoder(identity, lambda texts: vector.repeat(len(texts), 0), lambda text: [(0, 1)] * bool(text.strip()))


@pytest.mark.parametrize(
    ("name", "sizes", "expected"),
    [
        ("cranfield", (1400, 225), {"ndcg_10": 51.96, "ap": 42.06, "rr": 80.71, "recall_100": 75.60}),
        ("med", (1033, 30), {"ndcg_10": 68.26, "ap": 52.19, "rr": 89.09, "recall_100": 78.36}),
    ],
)
def test_bm25_has_the_scores_of_other_implementations(corpora: Path, tmp_path: Path, name: str, sizes, expected):
    convert(corpora, name, tmp_path)
    index = create_index(tmp_path / "idx", read_documents([tmp_path / "docs.jsonl"]), blind_encoder(), IndexOptions())
    queries = read_queries(tmp_path / "queries.jsonl")
    assert (len(index.documents), len(queries)) == sizes
    empty = [index.documents.ids[number] for number in np.flatnonzero(np.diff(index.passages.starts) == 0)]
    assert empty == (["471", "995"] if name == "cranfield" else [])
    assert index.manifest.analyzer.signature.endswith("stem:porter|stop:lucene-en")  # by the language of the text
    scores = score_run(dict(rank_all(tmp_path / "idx", queries)), read_judgments(tmp_path / "qrels.txt")).scores
    assert {measure: scores[measure].value for measure in expected} == pytest.approx(expected, abs=0.01)


def rank_all(index: Path, queries: list[SearchQuery]) -> Iterator[tuple[str, dict[str, float]]]:
    session = SearchSession(index)
    for query, rankings, _ in session.rank(queries, 1000, "bm25"):
        yield query.id, session.name_documents(rankings.bm25)


SEARCH = ["--queries", "queries.jsonl", "--judgments", "qrels.txt", "--json"]
ANCHORS = {
    "cranfield": {"BM25": 52.0, "dense": 50.6, "fused": 55.9},
    "med": {"BM25": 68.3, "dense": 78.7, "fused": 77.8},
}
"""nDCG@10 of documents that are truncated to the 256 tokens of MiniLM."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_minilm_and_bm25_by_the_commands_that_people_type(
    name: str, corpora: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    convert(corpora, name, tmp_path)
    typed(capfd, "import", minilm(), "--out", "minilm")
    shown = typed(capfd, "index", "minilm", "docs.jsonl", "--out", "idx", "--max-passages", "1")
    assert ("2 of them empty" in shown) == (name == "cranfield")
    result = json.loads(typed(capfd, "search", "idx", *SEARCH))
    values = {system: scores["ndcg_10"]["value"] for system, scores in result["systems"].items()}
    assert values == pytest.approx(ANCHORS[name], abs=0.1)
    tests = {(test["first"], test["second"]): test for test in result["tests"]["ndcg_10"]}
    is_better = {other: tests["fused", other]["low"] > 0 for other in ("dense", "BM25")}
    assert is_better == {"dense": name == "cranfield", "BM25": True}
