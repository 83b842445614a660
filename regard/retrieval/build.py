"""Indexes are made here, and changed: a new folder is prepared beside the old one, and takes its place as a whole."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import regard
from regard.errors import ConfigError, DataError, SearchIndexError
from regard.exchange import contains_current, stage_folder
from regard.formats.retrieval import SearchDocument
from regard.languages import identify_texts
from regard.progress import report_note, track
from regard.retrieval.dense.encoder import Encoder
from regard.retrieval.dense.exact_search import ExactSearch
from regard.retrieval.dense.hnsw import HnswSearch, measure_recall, write_graph
from regard.retrieval.dense.stored_passages import StoredPassages, write_passages
from regard.retrieval.dense.vectors import PRECISIONS
from regard.retrieval.document_store import DocumentStore, list_ids, write_documents
from regard.retrieval.index import SearchIndex, open_search_index
from regard.retrieval.index_folder import INDEX_FORMAT, HnswFacts, IndexFolder, Manifest, lock_index, require_free
from regard.retrieval.lexical.analyzer import AUTO, Analyzer, AnalyzerSettings, choose_analyzer
from regard.retrieval.lexical.postings import write_inverted_index
from regard.retrieval.ranking import Numbers

NO_NUMBERS = np.empty(0, np.int64)


@dataclass(frozen=True)
class IndexOptions:
    """How documents are indexed."""

    language: str = AUTO
    stemmer: str = AUTO
    precision: str = "float32"
    max_passages: int = 0
    hnsw: bool = False

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise ConfigError(f"--precision {self.precision}: expected one of {', '.join(PRECISIONS)}")
        if self.max_passages < 0:
            raise ConfigError(f"--max-passages {self.max_passages}: expected 0 for all, or a number of passages")
        choose_analyzer("", self.stemmer)  # which refuses a name that it does not know


@dataclass(frozen=True)
class Additions:
    """Documents that are added, and what embeds them."""

    read: Callable[[], Iterator[SearchDocument]]
    encoder: Encoder
    replace: bool = False
    """Whether a document with the id of one in the index replaces it."""


def create_index(
    out: Path, documents: Iterable[SearchDocument], encoder: Encoder, options: IndexOptions, overwrite: bool = False
) -> SearchIndex:
    """Index documents into a folder, which must be free unless an index there may be overwritten."""
    require_free(out, overwrite)
    with lock_index(IndexFolder(out)), stage_folder(out, replace=overwrite) as staged:
        folder = IndexFolder(staged.path)
        count = write_documents(folder.documents, track(documents, "reading documents"), None, NO_NUMBERS)
        if not count:
            raise DataError("there are no documents to index: the files are empty")
        store = DocumentStore(folder.documents, count)
        analyzer = _choose_analyzer(store, options)
        manifest = Manifest(
            format=INDEX_FORMAT,
            regard=regard.__version__,
            encoder=encoder.identity,
            analyzer=analyzer,
            precision=options.precision,
            max_passages=options.max_passages,
            dim=0,
            num_documents=count,
            num_passages=0,
            num_empty=0,
        )
        _write_index(folder, store, manifest, encoder, None, NO_NUMBERS, options.hnsw)
        staged.commit({path.name for path in folder.paths()}.__contains__)
    return open_search_index(out)


def change_index(path: Path, additions: Additions | None = None, deleted: Sequence[str] = ()) -> SearchIndex:
    """Add documents to an index, and delete others by their ids."""
    folder = IndexFolder(path)
    folder.read_manifest()
    if contains_current(path):
        raise SearchIndexError(f"{path}: is the current folder, and cannot be replaced. Change to another one.")
    with lock_index(folder):
        old = open_search_index(path)
        if additions is not None:
            old.require_encoder(additions.encoder.identity)
        folder.verify()
        retained = _select_kept(old, additions, deleted)
        new_documents = track(additions.read(), "reading documents") if additions else ()
        with stage_folder(path, replace=True) as staged:
            new = IndexFolder(staged.path)
            count = write_documents(new.documents, new_documents, old.documents, retained)
            if additions and count == len(retained):
                raise DataError("there are no documents to add: the files are empty")
            if not count:
                raise DataError(f"{path}: no document would be left. Delete the folder instead.")
            store = DocumentStore(new.documents, count)
            manifest = replace(old.manifest, num_documents=count)
            encoder = additions.encoder if additions else None
            _write_index(new, store, manifest, encoder, old, retained, old.manifest.hnsw is not None)
            staged.commit({one.name for one in new.paths()}.__contains__)
    return open_search_index(path)


def _select_kept(old: SearchIndex, additions: Additions | None, deleted: Sequence[str]) -> Numbers:
    """The numbers of the documents that stay."""
    numbers = {identifier: old.documents.find(identifier) for identifier in deleted}
    if missing := [identifier for identifier, number in numbers.items() if number is None]:
        raise DataError(f"{old.folder.path}: has no document {list_ids(missing)}, so nothing was deleted")
    if additions and additions.replace:
        numbers |= {document.id: old.documents.find(document.id) for document in additions.read()}
    stays = np.ones(len(old.documents), bool)
    stays[[number for number in numbers.values() if number is not None]] = False
    return np.flatnonzero(stays)


def _write_index(
    folder: IndexFolder,
    store: DocumentStore,
    manifest: Manifest,
    encoder: Encoder | None,
    old: SearchIndex | None,
    retained: Numbers,
    has_graph: bool,
) -> None:
    """Everything but the documents themselves: of retained ones from the old index, of new ones from their contents."""
    contents = store.contents(len(retained))
    analyzer = Analyzer(manifest.analyzer)
    terms = (analyzer.find_terms(content) for content in track(contents, "counting terms"))
    write_inverted_index(folder.bm25, terms, old.bm25 if old else None, retained)
    starts, dim = write_passages(
        folder.passages,
        contents,
        encoder,
        manifest.max_passages,
        PRECISIONS[manifest.precision],
        old.passages if old else None,
        retained,
    )
    empty = np.flatnonzero(np.diff(starts) == 0)
    manifest = replace(manifest, dim=dim, num_passages=int(starts[-1]), num_empty=len(empty), hnsw=None)
    if has_graph:
        extended = old if old and len(retained) == len(old.documents) else None
        manifest = replace(manifest, hnsw=_write_graph(folder, store, manifest, extended))
    folder.write_manifest(manifest)
    if new_empty := [store.ids[number] for number in empty[empty >= len(retained)]]:
        report_note(f"documents without any text, which no query finds: {list_ids(new_empty)}")


def _write_graph(
    folder: IndexFolder, store: DocumentStore, manifest: Manifest, extended: SearchIndex | None
) -> HnswFacts:
    """The graph of a new index, and how well it finds; that of an index of which all is retained is extended."""
    vectors = PRECISIONS[manifest.precision].open(folder.passages, manifest.num_passages, manifest.dim)
    passages = StoredPassages(folder.passages, manifest.num_documents, manifest.num_passages, vectors)
    old, num_old = (extended.folder.hnsw, extended.manifest.num_passages) if extended else (None, 0)
    write_graph(folder.hnsw, passages, manifest.dim, old, num_old)
    graph = HnswSearch(folder.hnsw, passages, store.tie_ranks, manifest.dim)
    return measure_recall(ExactSearch(passages, store.tie_ranks), graph, passages)


def _choose_analyzer(store: DocumentStore, options: IndexOptions) -> AnalyzerSettings:
    language = identify_texts(store.contents(0)) if options.language == AUTO else options.language
    return choose_analyzer(language, options.stemmer)
