"""Approximate search in a graph of vectors (Malkov and Yashunin 2016), by the package usearch; its recall is measured.

The graph is a file that compiled code reads, after its checksum was verified: by a search that asks for it, and when
documents are added to an index that has one.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ConfigError, SearchIndexError
from regard.progress import stage
from regard.retrieval.dense.exact_search import ExactSearch
from regard.retrieval.dense.stored_passages import StoredPassages
from regard.retrieval.dense.vectors import COPY_ROWS, Vectors
from regard.retrieval.index_folder import REMEDY, HnswFacts
from regard.retrieval.ranking import Numbers, RankedDocuments, select_top

CONNECTIVITY, EXPANSION_ADD, MIN_EXPANSION = 16, 128, 64
RECALL_DEPTH, RECALL_SAMPLE = 10, 200


class HnswSearch:
    """The nearest passages by the graph, with their exact scores; a document has that of its best passage."""

    def __init__(self, path: Path, passages: StoredPassages, tie_ranks: NDArray[np.int32], dim: int):
        self._path, self._passages, self._tie_ranks = path, passages, tie_ranks
        self._graph = _open_graph(path, dim, view=True)
        self._passages_per_document = -(-int(passages.starts[-1]) // len(tie_ranks))

    def search(self, queries: Vectors, depth: int) -> list[RankedDocuments]:
        """The best documents of each query (Q, D), as far as the graph finds them."""
        count = min(int(self._passages.starts[-1]), depth * self._passages_per_document)
        self._graph.expansion_search = max(MIN_EXPANSION, count)
        keys = (self._graph.search(query, count).keys for query in queries)
        return [self._rank(query, rows.astype(np.int64), depth) for query, rows in zip(queries, keys, strict=True)]

    def _rank(self, query: Vectors, rows: Numbers, depth: int) -> RankedDocuments:
        if len(rows) and (rows.min() < 0 or rows.max() >= self._passages.starts[-1]):
            raise SearchIndexError(f"{self._path}: damaged: it names passages that do not exist. {REMEDY}")
        scores = self._passages.vectors.decode(rows) @ query
        documents, positions = np.unique(self._passages.documents_of(rows), return_inverse=True)
        best = np.full(len(documents), -np.inf, np.float32)
        np.maximum.at(best, positions, scores)
        return select_top(documents, best, depth, self._tie_ranks)


def write_graph(path: Path, passages: StoredPassages, dim: int, old: Path | None, num_old: int) -> None:
    """The graph of all vectors; an older one, of the first `num_old` of them, is extended."""
    graph = _import_usearch().Index(
        ndim=dim, metric="ip", dtype="f32", connectivity=CONNECTIVITY, expansion_add=EXPANSION_ADD
    )
    if old is not None:
        graph = _open_graph(old, dim, view=False)
    count = int(passages.starts[-1])
    first = num_old if old is not None else 0
    with stage("building the graph", count - first) as current:
        for begin in range(first, count, COPY_ROWS):
            rows = np.arange(begin, min(begin + COPY_ROWS, count))
            graph.add(rows, passages.vectors.decode(rows))
            current.advance(len(rows))
    graph.save(str(path))


def measure_recall(exact: ExactSearch, graph: HnswSearch, passages: StoredPassages) -> HnswFacts:
    """The share of the ten nearest documents that the graph finds, with some of the passages as queries."""
    count = int(passages.starts[-1])
    rows = np.random.default_rng(0).choice(count, min(RECALL_SAMPLE, count), replace=False)
    queries = passages.vectors.decode(np.sort(rows))
    pairs = zip(exact.search(queries, RECALL_DEPTH), graph.search(queries, RECALL_DEPTH), strict=True)
    shares = [len(np.intersect1d(a.documents, b.documents)) / len(a.documents) for a, b in pairs]
    return HnswFacts(float(np.mean(shares)), len(queries))


def _open_graph(path: Path, dim: int, view: bool) -> Any:
    usearch = _import_usearch()
    try:
        graph = usearch.Index.restore(str(path), view=view)
    except Exception as error:  # the library raises nothing more precise
        raise SearchIndexError(f"{path}: damaged ({str(error)[:100]}). {REMEDY}") from None
    if graph is None or graph.ndim != dim:
        raise SearchIndexError(f"{path}: damaged: not a graph of vectors with {dim} numbers. {REMEDY}")
    return graph


def _import_usearch() -> Any:
    try:
        import usearch.index
    except ImportError:
        raise ConfigError(
            "approximate search needs the package usearch; in Regard's source folder: pip install '.[hnsw]'. "
            "Exact search needs nothing: leave out --hnsw."
        ) from None
    return usearch.index
