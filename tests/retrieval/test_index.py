"""An index finds what a comparison with every document finds, however it was made; damage is said in a sentence."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from regard.errors import BusyError, ConfigError, DataError, RegardError, SearchIndexError
from regard.formats.retrieval import SearchDocument
from regard.metrics.retrieval import rank_documents
from regard.progress import SilentListener, report_progress_to
from regard.retrieval.build import Additions, IndexOptions, change_index, create_index
from regard.retrieval.dense import exact_search
from regard.retrieval.dense.encoder import Encoder
from regard.retrieval.index import SearchIndex, open_search_index
from regard.retrieval.index_folder import IndexFolder, is_index, lock_index
from regard.retrieval.lexical.analyzer import choose_analyzer
from regard.retrieval.ranking import fuse_reciprocal_ranks
from tests.retrieval.toy import WINDOW, documents, embed, encoder, read_tree, token_spans

N = 53
QUERIES = ["heat flowing in a slab", "wingless drag", "lifts"]
OPTIONS = IndexOptions(language="en")


def make(folder: Path, docs: list[SearchDocument], **options: object) -> SearchIndex:
    return create_index(folder, docs, encoder(), IndexOptions(language="en", **options))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    return make(tmp_path_factory.mktemp("index") / "idx", documents(N))


def best_passages(query: str) -> dict[str, float]:
    """The score of each document by hand: its best passage."""
    vector = embed([query])[0]
    contents = {one.id: one.content for one in documents(N) if one.content}
    return {
        name: max(float(embed([content[begin:end]])[0] @ vector) for begin, end in encoder().split(content))
        for name, content in contents.items()
    }


@pytest.mark.parametrize("block", [exact_search.MAX_BLOCK_NUMBERS, 40])
def test_dense_search_is_that_of_every_passage(index: SearchIndex, block: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exact_search, "MAX_BLOCK_NUMBERS", block)
    for query, rankings in zip(QUERIES, index.search(QUERIES, embed(QUERIES), N), strict=True):
        expected = best_passages(query)
        found = [index.documents.ids[n] for n in rankings.dense.documents]
        assert sorted(found) == sorted(expected) and len(found) == N - 1  # the empty one has no vector
        assert rankings.dense.scores == pytest.approx([expected[name] for name in found], abs=1e-6)
        named = dict(zip(found, rankings.dense.scores.tolist(), strict=True))
        assert found == rank_documents(named)


def test_depth_cuts_and_without_vectors_there_is_bm25_alone(index: SearchIndex):
    whole, short = (index.search(QUERIES, embed(QUERIES), depth)[0] for depth in (N, 5))
    for method in ("dense", "bm25", "fused"):
        assert list(getattr(short, method).documents) == list(getattr(whole, method).documents[:5])
    everything = [whole.dense, whole.bm25]
    fused = fuse_reciprocal_ranks(everything, N, index.documents.tie_ranks)  # and not their first ones alone
    assert list(fused.documents) == list(whole.fused.documents) and list(fused.scores) == list(whole.fused.scores)
    alone = index.search(QUERIES, None, 5)[0]
    assert list(alone.bm25.documents) == list(short.bm25.documents) and alone.dense is None is alone.fused


def test_the_best_passage_is_the_one_with_the_score(index: SearchIndex):
    vector = embed(QUERIES)[0]
    ranking = index.search(QUERIES[:1], embed(QUERIES[:1]), 7)[0].dense
    for number, score in zip(ranking.documents, ranking.scores, strict=True):
        begin, end = index.best_passage(int(number), vector)
        content = index.documents[int(number)].content
        assert float(embed([content[begin:end]])[0] @ vector) == pytest.approx(float(score), abs=1e-6)
        assert len(content[begin:end].split()) <= WINDOW
    assert index.best_passage(N // 2, vector) == (0, 0)


def test_documents_are_found_by_their_ids(index: SearchIndex):
    assert [index.documents.find(f"d{n}") for n in range(N)] == list(range(N))
    assert index.documents.find("d") is None is index.documents.find("zz")


def test_added_and_deleted_documents_leave_no_trace(tmp_path: Path):
    docs = documents(N)
    make(tmp_path / "whole", docs)
    make(tmp_path / "half", docs[:31])
    added = change_index(tmp_path / "half", Additions(lambda: iter(docs[31:]), encoder()))
    assert added.manifest.num_documents == N and read_tree(tmp_path / "half") == read_tree(tmp_path / "whole")
    kept = [one for n, one in enumerate(docs) if n % 3]
    change_index(tmp_path / "half", deleted=[one.id for one in docs[::3]])
    make(tmp_path / "fewer", kept)
    assert read_tree(tmp_path / "half") == read_tree(tmp_path / "fewer")


def test_a_document_is_replaced_by_one_with_its_id(tmp_path: Path):
    docs = documents(N)
    make(tmp_path / "idx", docs)
    new = [SearchDocument("d7", "", "a new text", "more:1"), SearchDocument("x", "", "another", "more:2")]
    with pytest.raises(DataError, match=r"more:1: the index already holds a document with the id 'd7'.*--replace"):
        change_index(tmp_path / "idx", Additions(lambda: iter(new), encoder()))
    changed = change_index(tmp_path / "idx", Additions(lambda: iter(new), encoder(), replace=True))
    assert len(changed.documents) == N + 1
    assert changed.documents[changed.documents.find("d7")].text == "a new text"
    make(tmp_path / "fresh", [*(one for one in docs if one.id != "d7"), *new])
    assert read_tree(tmp_path / "idx") == read_tree(tmp_path / "fresh")


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_int8_finds_nearly_the_same(tmp_path: Path, precision: str, index: SearchIndex):
    small = make(tmp_path / "idx", documents(N), precision=precision)
    exact = index.search(QUERIES, embed(QUERIES), N)
    for one, other in zip(small.search(QUERIES, embed(QUERIES), N), exact, strict=True):
        scores = dict(zip(other.dense.documents.tolist(), other.dense.scores.tolist(), strict=True))
        assert one.dense.scores == pytest.approx([scores[n] for n in one.dense.documents.tolist()], abs=0.02)


def test_max_passages_truncates(tmp_path: Path, index: SearchIndex):
    short = make(tmp_path / "idx", documents(N), max_passages=1)
    assert short.manifest.num_passages == N - 1 < index.manifest.num_passages
    added = [SearchDocument("x", "", " ".join(["heat"] * 31))]
    changed = change_index(tmp_path / "idx", Additions(lambda: iter(added), encoder()))
    assert changed.manifest.num_passages == N  # one more


def test_language_decides_how_words_are_stemmed(tmp_path: Path):
    french = [SearchDocument(str(n), "", f"Les {n} chevaux blancs couraient dans la prairie verte.") for n in range(7)]
    index = create_index(tmp_path / "idx", french, encoder(), IndexOptions())
    assert index.manifest.analyzer.stemmer == "french" and "fr" in index.manifest.analyzer.describe()
    assert len(index.search(["le cheval blanc"], None, 10)[0].bm25.documents) == 7
    assert "stem:french" in index.signatures()["bm25"] and "toy,a1a1" in index.signatures()["dense"]


class Notes(SilentListener):
    def __init__(self):
        self.notes = []

    def show_note(self, text: str) -> None:
        self.notes.append(text)


def test_empty_documents_are_noted_once(tmp_path: Path):
    with report_progress_to(listener := Notes()):
        make(tmp_path / "idx", documents(N))
        change_index(tmp_path / "idx", deleted=["d3"])
    assert listener.notes == ["documents without any text, which no query finds: 'd26'"]
    assert open_search_index(tmp_path / "idx").manifest.num_empty == 1


def test_bad_documents_leave_no_index(tmp_path: Path):
    twice = [SearchDocument("a", "", "x", "f:1"), SearchDocument("a", "", "y", "f:2")]
    for docs, message in (
        (twice, "f:2: another document before has the id 'a', too"),
        ([], "there are no documents to index"),
        ([SearchDocument("a", "", " ")], "no document has any text"),
    ):
        with pytest.raises(DataError, match=message):
            make(tmp_path / "idx", docs)
        assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_deleted_is_said_and_nothing_is_changed(tmp_path: Path):
    make(tmp_path / "idx", documents(5))
    before = read_tree(tmp_path / "idx")
    ids = [f"d{n}" for n in range(5)]
    with pytest.raises(DataError, match="has no document 'x', 'y', so nothing was deleted"):
        change_index(tmp_path / "idx", deleted=["d1", "x", "y"])
    with pytest.raises(DataError, match="no document would be left"):
        change_index(tmp_path / "idx", deleted=ids)
    with pytest.raises(DataError, match="there are no documents to add: the files are empty"):
        change_index(tmp_path / "idx", Additions(lambda: iter(()), encoder()))
    assert read_tree(tmp_path / "idx") == before


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_empty_folder_is_free(tmp_path: Path, overwrite: bool):
    (tmp_path / "idx").mkdir()
    create_index(tmp_path / "idx", documents(5), encoder(), OPTIONS, overwrite)
    make(tmp_path / "fresh", documents(5))
    assert read_tree(tmp_path / "idx") == read_tree(tmp_path / "fresh")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "idx"]


def test_a_failure_leaves_an_empty_folder_empty(tmp_path: Path):
    (tmp_path / "idx").mkdir()
    with pytest.raises(DataError, match="there are no documents"):
        make(tmp_path / "idx", [])
    assert not list((tmp_path / "idx").iterdir())


def test_an_index_replaces_nothing_but_an_index_and_keeps_what_is_yours(tmp_path: Path):
    make(tmp_path / "idx", documents(5))
    (tmp_path / "idx" / "notes.txt").write_text("mine")
    with pytest.raises(SearchIndexError, match=r"already holds a search index\. Add to it.*--overwrite"):
        make(tmp_path / "idx", documents(7))
    create_index(tmp_path / "idx", documents(7), encoder(), OPTIONS, overwrite=True)
    assert len(open_search_index(tmp_path / "idx").documents) == 7
    change_index(tmp_path / "idx", deleted=["d0"])
    assert (tmp_path / "idx" / "notes.txt").read_text() == "mine" and is_index(tmp_path / "idx")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(SearchIndexError, match="already exists and is not a search index"):
        create_index(tmp_path / "other", documents(7), encoder(), OPTIONS, overwrite=True)


def test_the_current_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make(tmp_path / "idx", documents(5))
    monkeypatch.chdir(tmp_path / "idx")
    with pytest.raises(SearchIndexError, match="is the current folder"):
        change_index(Path(), deleted=["d0"])
    with pytest.raises(SearchIndexError, match="is the current folder"):
        create_index(Path(), documents(5), encoder(), OPTIONS, overwrite=True)


def test_two_processes_do_not_change_one_index(tmp_path: Path):
    make(tmp_path / "idx", documents(5))
    change_index(tmp_path / "idx", deleted=["d0"])
    with lock_index(IndexFolder(tmp_path / "idx")), pytest.raises(BusyError, match="another process is changing"):
        change_index(tmp_path / "idx", deleted=["d1"])
    assert len(change_index(tmp_path / "idx", deleted=["d1"]).documents) == 3


def test_another_encoder_is_refused(tmp_path: Path):
    index = make(tmp_path / "idx", documents(5))
    with pytest.raises(SearchIndexError, match=r"its vectors are those of toy \(weights a1a1.*other weights \(b2b2"):
        change_index(tmp_path / "idx", Additions(lambda: iter(documents(3)), encoder("b2")))
    index.require_encoder(encoder().identity)


def test_an_encoder_that_overflows_is_refused(tmp_path: Path):
    broken = Encoder(encoder().identity, lambda texts: np.full((len(texts), 3), np.nan, np.float32), encoder().split)
    with pytest.raises(DataError, match="a vector is not finite: its weights overflow"):
        create_index(tmp_path / "idx", documents(5), broken, OPTIONS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "int4"}, "--precision int4: expected one of float32, int8"),
        ({"stemmer": "x"}, "--stemmer x"),
        ({"max_passages": -1}, "--max-passages -1"),
    ],
)
def test_unknown_options_are_refused(options: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        IndexOptions(**options)


def change_json(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


UNKNOWN_STEMMER = {"language": "", "stemmer": "?", "stop_words": "none"}
DAMAGE = {
    "no file": lambda idx: (idx / "bm25" / "lengths").unlink(),
    "short order": lambda idx: shorten(idx / "documents" / "order"),
    "wrong order": lambda idx: (idx / "documents" / "order").write_bytes(np.full(5, 7, np.int32).tobytes()),
    "short texts": lambda idx: shorten(idx / "documents" / "texts.text"),
    "short starts": lambda idx: shorten(idx / "passages" / "starts"),
    "short spans": lambda idx: shorten(idx / "passages" / "spans"),
    "vectors": lambda idx: shorten(idx / "passages" / "vectors"),
    "not JSON": lambda idx: (idx / "index.json").write_text("{"),
    "no encoder": lambda idx: change_json(idx / "index.json", encoder=None),
    "unknown precision": lambda idx: change_json(idx / "index.json", precision="int2"),
    "unknown stemmer": lambda idx: change_json(idx / "index.json", analyzer=UNKNOWN_STEMMER),
    "a count": lambda idx: change_json(idx / "index.json", num_documents=10**12),
    "no documents": lambda idx: change_json(idx / "index.json", num_documents=0),
    "a pipe": lambda idx: ((idx / "passages" / "vectors").unlink(), os.mkfifo(idx / "passages" / "vectors")),
    "a vector that is not finite": lambda idx: (idx / "passages" / "vectors").write_bytes(
        np.full(np.fromfile(idx / "passages" / "vectors", np.float32).shape, np.nan, np.float32).tobytes()
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_index_is_refused_in_one_sentence(tmp_path: Path, kind: str):
    make(tmp_path / "idx", documents(5))
    DAMAGE[kind](tmp_path / "idx")
    with pytest.raises(RegardError, match=r"(damaged|cannot be read).*index the documents again with --overwrite") as e:
        open_search_index(tmp_path / "idx").search(QUERIES, embed(QUERIES), 3)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_index_is_overwritten_as_its_message_says(tmp_path: Path, kind: str):
    for name in ("idx", "fresh"):
        make(tmp_path / name, documents(5))
    DAMAGE[kind](tmp_path / "idx")
    create_index(tmp_path / "idx", documents(5), encoder(), OPTIONS, overwrite=True)
    assert read_tree(tmp_path / "idx") == read_tree(tmp_path / "fresh")


def test_another_format_and_no_index_are_refused(tmp_path: Path):
    make(tmp_path / "idx", documents(5))
    change_json(tmp_path / "idx" / "index.json", format=2)
    with pytest.raises(SearchIndexError, match="has index format 2, but this version reads format 1"):
        open_search_index(tmp_path / "idx")
    with pytest.raises(SearchIndexError, match=r"no search index\. Make one with `regard index"):
        open_search_index(tmp_path / "nothing")
    assert not is_index(tmp_path)


def test_an_index_is_verified_before_it_is_copied(tmp_path: Path):
    make(tmp_path / "idx", documents(5))
    path = tmp_path / "idx" / "passages" / "vectors"
    values = np.fromfile(path, np.float32)
    values[3] += 0.5  # which no search could notice
    path.write_bytes(values.tobytes())
    open_search_index(tmp_path / "idx").search(QUERIES, embed(QUERIES), 3)
    with pytest.raises(SearchIndexError, match="vectors: damaged: its checksum is not the one"):
        change_index(tmp_path / "idx", deleted=["d0"])


def test_a_text_that_is_not_utf8_is_refused_where_it_is_read(tmp_path: Path):
    index = make(tmp_path / "idx", documents(5))
    path = tmp_path / "idx" / "documents" / "texts.text"
    path.write_bytes(re.sub(rb"[a-z]", b"\xff", path.read_bytes()))
    with pytest.raises(RegardError, match="not UTF-8"):
        index.documents[0]


def test_one_document_is_an_index_too(tmp_path: Path):
    one, other = SearchDocument("a", "", "heat in a slab"), SearchDocument("b", "", "drag")
    index = make(tmp_path / "idx", [one])
    (found,) = index.search(["heat"], embed(["heat"]), 10)
    assert [list(ranking.documents) for ranking in (found.bm25, found.dense, found.fused)] == [[0], [0], [0]]
    (nothing,) = index.search(["drag"], embed(["drag"]), 10)
    assert not len(nothing.bm25.documents) and list(nothing.fused.documents) == [0]
    grown = change_index(tmp_path / "idx", Additions(lambda: iter([other]), encoder()))
    assert list(grown.search(["drag"], embed(["drag"]), 1)[0].fused.documents) == [1]
    assert len(change_index(tmp_path / "idx", deleted=["a"]).documents) == 1


def test_the_toy_encoder_has_windows():
    assert max(len(token_spans(one.content)) for one in documents(N)) > WINDOW


def test_the_language_that_is_named_decides_and_no_other(tmp_path: Path):
    texts = ["Der Hund und die Katze schlafen in dem alten Haus.", "Wir haben gestern mit den Kindern gespielt."] * 3
    docs = [SearchDocument(f"d{n}", "", text) for n, text in enumerate(texts)]
    for language, expected in (("auto", "de"), ("fr", "fr"), ("en", "en")):
        index = create_index(tmp_path / language, docs, encoder(), IndexOptions(language=language))
        assert index.manifest.analyzer == choose_analyzer(expected), language
