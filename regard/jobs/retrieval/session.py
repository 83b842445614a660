"""An open index with its encoder, which is loaded when it is first needed."""

import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regard.errors import ConfigError, DataError, SearchIndexError
from regard.formats.retrieval import DocumentColumns, SearchQuery, read_documents, read_queries, write_run
from regard.jobs.retrieval.encoder import identify_encoder, open_encoder
from regard.jobs.retrieval.results import SearchResult, collect_hits
from regard.jobs.translate.stream import read_chunks
from regard.progress import report_note, track
from regard.retrieval.build import Additions, IndexOptions, change_index, create_index
from regard.retrieval.dense.encoder import Encoder
from regard.retrieval.dense.stored_passages import embed_finite
from regard.retrieval.dense.vectors import Vectors
from regard.retrieval.index import METHODS, Method, QueryRankings, SearchIndex, open_search_index
from regard.retrieval.ranking import RankedDocuments
from regard.run import is_run

CHUNK_QUERIES = 256
MAX_DEPTH = 1000
"""Documents for a query."""


class SearchSession:
    """Searches and changes the index of a folder."""

    def __init__(self, path: Path, encoder: Path | None = None, device: str = "auto"):
        self.path = path
        self.index: SearchIndex = open_search_index(path)
        self._encoder_folder, self._device = encoder, device

    @functools.cached_property
    def encoder(self) -> Encoder:
        """The encoder of the index; another one is refused before it is loaded."""
        folder = self._encoder_folder or Path(self.index.manifest.encoder.run)
        if self._encoder_folder is None and not is_run(folder):
            raise SearchIndexError(
                f"{self.path}: was made by the encoder {self.index.manifest.encoder.describe()}, which is no longer in "
                f"{folder}. Name its folder with --encoder, or search with --method bm25."
            )
        self.index.require_encoder(identify_encoder(folder))
        return open_encoder(folder, self._device)

    def rank(
        self, queries: Sequence[SearchQuery], depth: int, method: str | None = None, approximate: bool = False
    ) -> Iterator[tuple[SearchQuery, QueryRankings, Vectors | None]]:
        """Each query with its rankings, and its vector if documents were compared with it."""
        if not 1 <= depth <= MAX_DEPTH:
            raise ConfigError(f"--top {depth}: expected a number from 1 to {MAX_DEPTH:,}")
        has_vectors, num_long = select_methods(method) != ("bm25",), 0
        for begin in range(0, len(queries), CHUNK_QUERIES):
            chunk = queries[begin : begin + CHUNK_QUERIES]
            texts = [_require_text(query) for query in chunk]
            vectors = embed_finite(self.encoder, texts) if has_vectors else None
            num_long += sum(len(self.encoder.split(text)) > 1 for text in texts) if has_vectors else 0
            rankings = self.index.search(texts, vectors, depth, approximate)
            for number, (query, ranking) in enumerate(zip(chunk, rankings, strict=True)):
                yield query, ranking, None if vectors is None else vectors[number]
        if num_long:
            report_note(
                f"{num_long:,} {'query is' if num_long == 1 else 'queries are'} longer than what the encoder reads: "
                f"dense search goes by the beginning, BM25 by the whole"
            )

    def search(
        self, queries: Iterable[SearchQuery], top: int, method: str | None = None, approximate: bool = False
    ) -> Iterator[SearchResult]:
        """The documents for each query, as queries arrive."""
        methods = select_methods(method)
        for chunk in read_chunks(queries, CHUNK_QUERIES):
            for query, rankings, vector in self.rank(chunk, top, method, approximate):
                yield collect_hits(self.index, query, rankings, methods, vector)

    def name_documents(self, ranking: RankedDocuments) -> dict[str, float]:
        """The ids of ranked documents, in order, with their scores."""
        pairs = zip(ranking.documents, ranking.scores, strict=True)
        return {self.index.documents.ids[int(number)]: float(score) for number, score in pairs}

    def change(
        self,
        files: Sequence[Path] = (),
        columns: DocumentColumns | None = None,
        deleted: Sequence[str] = (),
        replace: bool = False,
    ) -> None:
        """Add the documents of files, and delete others by their ids, both or neither."""
        additions = Additions(lambda: read_documents(files, columns), self.encoder, replace) if files else None
        self.index = change_index(self.path, additions, deleted)


def index_files(
    run: Path,
    files: Sequence[Path],
    columns: DocumentColumns,
    out: Path,
    options: IndexOptions,
    overwrite: bool,
    device: str,
) -> SearchIndex:
    """Index the documents of files with the encoder of a run."""
    if not files:
        raise ConfigError("no documents: give .jsonl, .tsv or .csv files, or folders of .txt files")
    return create_index(out, read_documents(files, columns), open_encoder(run, device), options, overwrite)


def write_search_run(
    session: SearchSession, queries: Path, out: Path, depth: int, method: str, approximate: bool = False
) -> None:
    """Search for the queries of a file, and write the ranked lists of one method as a TREC run."""
    read = read_queries(queries)
    ranked = track(session.rank(read, depth, method, approximate), "searching", len(read))
    lists = ((query.id, session.name_documents(getattr(rankings, method))) for query, rankings, _ in ranked)
    write_run(out, lists, tag=f"regard-{method}")


def select_methods(method: str | None) -> tuple[Method, ...]:
    """The methods that were asked for: one, or all of them."""
    if method is None:
        return METHODS
    if method not in METHODS:
        raise ConfigError(f"--method {method}: expected one of {', '.join(METHODS)}")
    return (method,)


def _require_text(query: SearchQuery) -> str:
    if not query.text.strip():
        raise DataError("the query is empty; write what to search for")
    return query.text
