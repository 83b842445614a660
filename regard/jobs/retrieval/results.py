"""What a search returns: the documents that each method finds, with their texts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from regard.formats.retrieval import SearchQuery
from regard.report import Paragraph, Table, TableView, render_fragment
from regard.retrieval.dense.vectors import Vectors
from regard.retrieval.index import METHODS, Method, QueryRankings, SearchIndex
from regard.retrieval.ranking import RankedDocuments

METHOD_TITLES: Mapping[str, str] = {"fused": "fused", "dense": "dense", "bm25": "BM25"}


@dataclass(frozen=True)
class SearchHit:
    """A document that was found."""

    rank: int
    """From 1 on."""
    id: str
    score: float
    """Fused: the sum of reciprocal ranks; dense: the cosine similarity; bm25: the sum of the weights of terms."""
    title: str
    text: str
    """The passage that is nearest to the query; the first one where no vectors were compared."""


@dataclass(frozen=True, repr=False)
class SearchResult:
    """The documents for one query, by every method that was asked for."""

    query: SearchQuery
    rankings: Mapping[Method, tuple[SearchHit, ...]]

    @property
    def hits(self) -> tuple[SearchHit, ...]:
        """The documents of the first method: fused, if all were asked for."""
        return next(iter(self.rankings.values()))

    def as_dict(self) -> dict[str, Any]:
        """The query, and rank, id, score, title and text of each document by method."""
        rankings = {str(method): [asdict(hit) for hit in hits] for method, hits in self.rankings.items()}
        return {"id": self.query.id, "query": self.query.text, **rankings}

    def as_table(self) -> Table:
        """A row for each rank: the document of each method, and its score."""
        depth = max(map(len, self.rankings.values()))
        return Table(
            {"rank": list(range(1, depth + 1))}
            | {
                column: [getattr(hits[i], field) if i < len(hits) else None for i in range(depth)]
                for method, hits in self.rankings.items()
                for field, column in (("id", METHOD_TITLES[method]), ("score", f"{METHOD_TITLES[method]} score"))
            }
        )

    def __repr__(self) -> str:
        return f"<SearchResult for {self.query.text[:60]!r}: {', '.join(hit.id for hit in self.hits[:10])}>"

    def __str__(self) -> str:
        return str(self.as_table())

    def _repr_html_(self) -> str:
        texts = Table.from_rows({"document": hit.id, "title": hit.title, "text": hit.text[:300]} for hit in self.hits)
        return render_fragment([Paragraph(self.query.text), TableView(self.as_table()), TableView(texts)])


def collect_hits(
    index: SearchIndex, query: SearchQuery, rankings: QueryRankings, methods: tuple[Method, ...], vector: Vectors | None
) -> SearchResult:
    """The documents of rankings, with their texts."""
    return SearchResult(
        query,
        {method: _make_hits(index, ranking, vector) for method, ranking in select_rankings(rankings, methods).items()},
    )


def select_rankings(rankings: QueryRankings, methods: tuple[Method, ...] = METHODS) -> dict[Method, RankedDocuments]:
    """The rankings of some methods, as far as there are any."""
    by_method = {method: getattr(rankings, method) for method in methods}
    return {method: ranking for method, ranking in by_method.items() if ranking is not None}


def _make_hits(index: SearchIndex, ranking: RankedDocuments, vector: Vectors | None) -> tuple[SearchHit, ...]:
    hits = []
    for rank, (number, score) in enumerate(zip(ranking.documents, ranking.scores, strict=True), start=1):
        document = index.documents[int(number)]
        begin, end = index.best_passage(int(number), vector)
        text_begin = len(document.content) - len(document.text)  # after the title
        text = document.content[max(begin, text_begin) : end].strip()
        hits.append(SearchHit(rank, document.id, float(score), document.title, text))
    return tuple(hits)
