"""Index documents, search them, and evaluate the search."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

from regard.api.arguments import AnyPath, Files, list_files, optional_path, to_paths
from regard.api.models import Texts
from regard.api.terminal import showing
from regard.formats.retrieval import DocumentColumns, SearchQuery
from regard.jobs.retrieval.evaluation import SearchEvaluation, evaluate_search
from regard.jobs.retrieval.results import SearchResult
from regard.jobs.retrieval.session import SearchSession, index_files, write_search_run
from regard.report import DefinitionList, Value, render_fragment
from regard.retrieval.build import IndexOptions
from regard.retrieval.index import SearchIndex


class Index:
    """A search index: documents with their terms and their vectors.

        index = regard.Index.open("idx")
        for hit in index.search("heat conduction in slabs").hits:
            print(hit.rank, hit.id, hit.score, hit.title)

    Dense search, BM25 and both fused are always computed; the encoder is loaded when it is first needed.
    """

    def __init__(self, session: SearchSession):
        self.session = session

    @classmethod
    def open(cls, path: AnyPath, *, encoder: AnyPath | None = None, device: str = "auto") -> "Index":
        """The index of a folder. `encoder` is the run that made its vectors, where it is not at its place any more."""
        return cls(SearchSession(Path(path), optional_path(encoder), device))

    @property
    def path(self) -> Path:
        return self.session.path

    @property
    def ids(self) -> Sequence[str]:
        """The ids of all documents, in the order in which they were added."""
        return self._index.documents.ids

    @overload
    def search(
        self, queries: str, *, top: int = 10, method: str | None = None, approximate: bool = False
    ) -> SearchResult: ...

    @overload
    def search(
        self, queries: Texts, *, top: int = 10, method: str | None = None, approximate: bool = False
    ) -> list[SearchResult]: ...

    def search(
        self, queries: str | Texts, *, top: int = 10, method: str | None = None, approximate: bool = False
    ) -> SearchResult | list[SearchResult]:
        """The documents for a query, or for each query of a list.

        `method` is fused, dense or bm25; unset, all three are side by side. `approximate` searches by the graph of an
        index that was made with `hnsw=True`.
        """
        one = isinstance(queries, str)
        texts = [queries] if isinstance(queries, str) else list(queries)
        numbered = [SearchQuery(str(number), text) for number, text in enumerate(texts, start=1)]
        results = list(self.session.search(numbered, top, method, approximate))
        return results[0] if one else results

    def search_stream(
        self, queries: Iterable[SearchQuery], *, top: int = 10, method: str | None = None, approximate: bool = False
    ) -> Iterator[SearchResult]:
        """As `search` for queries with ids, as they arrive."""
        return self.session.search(queries, top, method, approximate)

    def evaluate(
        self,
        queries: AnyPath,
        judgments: AnyPath,
        *,
        compare_with: Files = (),
        approximate: bool = False,
        progress: bool = False,
    ) -> SearchEvaluation:
        """Score dense, BM25 and fused search on judged queries, as trec_eval does, with intervals and paired tests.

            index.evaluate("queries.jsonl", "qrels.txt", compare_with="lucene.trec").scores["fused"]["ndcg_10"]

        `compare_with` are runs of other systems in the format of TREC.
        """
        others = list(map(Path, list_files(compare_with)))
        with showing(progress):
            return evaluate_search(self.session, Path(queries), Path(judgments), others, approximate)

    def write_run(
        self,
        queries: AnyPath,
        out: AnyPath,
        *,
        top: int = 1000,
        method: str | None = None,
        approximate: bool = False,
        progress: bool = False,
    ) -> None:
        """Write what is found for the queries of a file as a TREC run, which trec_eval reads; fused by default."""
        with showing(progress):
            write_search_run(self.session, Path(queries), Path(out), top, method or "fused", approximate)

    def add(
        self,
        *files: Files,
        id_column: str = "",
        title_column: str = "",
        text_column: str = "",
        replace: bool = False,
        progress: bool = False,
    ) -> None:
        """Add the documents of files; with `replace`, a document with the id of one in the index replaces it."""
        with showing(progress):
            columns = DocumentColumns(id_column, title_column, text_column)
            self.session.change(to_paths(files), columns, replace=replace)

    def delete(self, *ids: str) -> None:
        """Delete documents by their ids."""
        self.session.change(deleted=ids)

    @property
    def _index(self) -> SearchIndex:
        return self.session.index

    def __len__(self) -> int:
        """The number of documents."""
        return len(self._index.documents)

    def __repr__(self) -> str:
        return f"<Index {self.path}, {len(self):,} documents, encoder {self._index.manifest.encoder.name}>"

    def _repr_html_(self) -> str:
        manifest = self._index.manifest
        facts: dict[str, Value] = {
            "documents": manifest.num_documents,
            "passages": manifest.num_passages,
            "terms": len(self._index.bm25.terms),
            "encoder": manifest.encoder.describe(),
            "vectors": f"{manifest.dim} numbers in {manifest.precision}",
            "BM25": manifest.analyzer.describe(),
        }
        return render_fragment([DefinitionList(facts)])


def build_index(
    run: AnyPath,
    *files: Files,
    out: AnyPath,
    id_column: str = "",
    title_column: str = "",
    text_column: str = "",
    language: str = "auto",
    stemmer: str = "auto",
    precision: str = "float32",
    max_passages: int = 0,
    hnsw: bool = False,
    overwrite: bool = False,
    device: str = "auto",
    progress: bool = False,
) -> Index:
    """Index documents with the vectors of an encoder run, and with the terms that BM25 counts.

        index = regard.build_index("runs/minilm", "docs.jsonl", out="idx")

    `files` are .jsonl, .tsv or .csv with columns for id, title (if any) and text, folders of .txt files, or single
    ones. `language` decides how words are stemmed; `precision="int8"` needs a quarter of the space. A document that
    is longer than the encoder's window has several passages, of which the best one counts; `max_passages=1` truncates.
    """
    columns = DocumentColumns(id_column, title_column, text_column)
    options = IndexOptions(language, stemmer, precision, max_passages, hnsw)
    with showing(progress):
        index_files(Path(run), to_paths(files), columns, Path(out), options, overwrite, device)
    return Index.open(out, encoder=run, device=device)
