"""A search index that is open: dense, BM25 and fused rankings of its documents."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.errors import SearchIndexError
from regard.retrieval.dense.exact_search import ExactSearch
from regard.retrieval.dense.hnsw import HnswSearch
from regard.retrieval.dense.passages import Span
from regard.retrieval.dense.stored_passages import StoredPassages
from regard.retrieval.dense.vectors import PRECISIONS, Vectors
from regard.retrieval.document_store import DocumentStore
from regard.retrieval.index_folder import REMEDY, EncoderIdentity, IndexFolder, Manifest
from regard.retrieval.lexical.analyzer import NONE, STEMMERS, STOP_WORDS, Analyzer
from regard.retrieval.lexical.bm25 import SIGNATURE, InvertedIndex
from regard.retrieval.ranking import FUSION_DEPTH, RRF_K, RankedDocuments, fuse_reciprocal_ranks

Method = Literal["fused", "dense", "bm25"]
METHODS: tuple[Method, ...] = ("fused", "dense", "bm25")
"""In the order in which they are shown."""


@dataclass(frozen=True)
class QueryRankings:
    """What each method finds for one query; without the encoder, BM25 alone."""

    bm25: RankedDocuments
    dense: RankedDocuments | None = None
    fused: RankedDocuments | None = None


class SearchIndex:
    """Documents with their terms and their vectors."""

    def __init__(self, folder: IndexFolder):
        self.folder = folder
        self.manifest = manifest = folder.read_manifest()
        _require_known(folder, manifest)
        count = manifest.num_documents
        self.documents = DocumentStore(folder.documents, count)
        vectors = PRECISIONS[manifest.precision].open(folder.passages, manifest.num_passages, manifest.dim)
        self.passages = StoredPassages(folder.passages, count, manifest.num_passages, vectors)
        self.bm25 = InvertedIndex(folder.bm25, count)
        self.analyzer = Analyzer(manifest.analyzer)

    @functools.cached_property
    def exact(self) -> ExactSearch:
        return ExactSearch(self.passages, self.documents.tie_ranks)

    @functools.cached_property
    def hnsw(self) -> HnswSearch:
        """Approximate search, where the index has a graph for it."""
        if self.manifest.hnsw is None:
            raise SearchIndexError(
                f"{self.folder.path}: has no graph for approximate search. Leave out --hnsw, or index the documents "
                f"again with --hnsw --overwrite."
            )
        self.folder.verify(self.folder.hnsw)
        return HnswSearch(self.folder.hnsw, self.passages, self.documents.tie_ranks, self.manifest.dim)

    def search(
        self, queries: Sequence[str], vectors: Vectors | None, depth: int, approximate: bool = False
    ) -> list[QueryRankings]:
        """The best documents for each query; `vectors` (Q, D) are those of the queries, for dense and fused search."""
        ties = self.documents.tie_ranks
        fused_depth = max(depth, FUSION_DEPTH)
        lexical = [self.bm25.search(self.analyzer.find_terms(query), fused_depth, ties) for query in queries]
        if vectors is None:
            return [QueryRankings(_cut(bm25, depth)) for bm25 in lexical]
        self._require_dim(vectors)
        dense = (self.hnsw if approximate else self.exact).search(vectors, fused_depth)
        return [
            QueryRankings(
                _cut(bm25, depth),
                _cut(near, depth),
                fuse_reciprocal_ranks([_cut(near, FUSION_DEPTH), _cut(bm25, FUSION_DEPTH)], depth, ties),
            )
            for bm25, near in zip(lexical, dense, strict=True)
        ]

    def _require_dim(self, vectors: Vectors) -> None:
        """Refuse vectors of queries that have another length than those of the index."""
        if vectors.shape[1] != self.manifest.dim:
            raise SearchIndexError(
                f"{self.folder.path}: damaged: its vectors have {self.manifest.dim:,} numbers, those of its encoder "
                f"{vectors.shape[1]:,}. {REMEDY}"
            )

    def best_passage(self, number: int, vector: Vectors | None) -> Span:
        """The characters of a document's passage that is nearest to a query, or of its first one."""
        begin, end = (int(row) for row in self.passages.starts[number : number + 2])
        if begin == end:
            return 0, 0
        if vector is None or end - begin == 1:
            return self.passages.span(begin)
        vectors = self.passages.vectors
        nearest = (vectors.prepare(vector[None]) @ vectors.block(begin, end).T)[0].argmax()
        return self.passages.span(begin + int(nearest))

    def require_encoder(self, identity: EncoderIdentity) -> None:
        """Refuse an encoder whose vectors cannot be compared with those of the index."""
        if identity.checksum != self.manifest.encoder.checksum:
            raise SearchIndexError(
                f"{self.folder.path}: its vectors are those of {self.manifest.encoder.describe()}, but {identity.run} "
                f"has other weights ({identity.checksum[:12]}), whose vectors cannot be compared with them. Name the "
                f"run with --encoder, search with --method bm25, or index the documents again with --overwrite."
            )

    def signatures(self) -> dict[Method, str]:
        """How each method ranks."""
        manifest = self.manifest
        passages = f"passages:{manifest.max_passages or 'all'}"
        dense = f"dense:{manifest.encoder.name},{manifest.encoder.checksum[:12]}|{manifest.precision}|{passages}"
        bm25 = f"{SIGNATURE}|{manifest.analyzer.signature}"
        return {"fused": f"rrf:dense+bm25|k:{RRF_K}|depth:{FUSION_DEPTH}", "dense": dense, "bm25": bm25}


def open_search_index(path: Path) -> SearchIndex:
    """The index of a folder; one that is missing or damaged is refused."""
    return SearchIndex(IndexFolder(path))


def _require_known(folder: IndexFolder, manifest: Manifest) -> None:
    """Refuse a manifest with names that this version does not know."""
    is_known = manifest.precision in PRECISIONS and manifest.analyzer.stop_words in STOP_WORDS
    is_stemmed = manifest.analyzer.stemmer in {NONE, *STEMMERS.values()}
    if not (is_known and is_stemmed and manifest.num_documents and manifest.dim):
        raise SearchIndexError(f"{folder.manifest}: damaged: it names what no index has. {REMEDY}")


def _cut(ranking: RankedDocuments, depth: int) -> RankedDocuments:
    return RankedDocuments(ranking.documents[:depth], ranking.scores[:depth])
