"""The documents that a search finds, and what an index is made of."""

from itertools import zip_longest

from regard.display.layout import Column, format_table, wrap, wrap_all
from regard.display.numbers import format_bytes, pluralize
from regard.jobs.retrieval.results import METHOD_TITLES, SearchHit, SearchResult
from regard.retrieval.index import SearchIndex

MAX_ID_CHARS = 24
"""Of an id in the table; the list below it has all of it."""
MAX_TEXT_CHARS = 160
"""Of a query and of a document's text."""


def format_search_result(result: SearchResult, width: int, verbose: bool = False) -> list[str]:
    """The ids that each method finds, side by side; then the documents of the first one."""
    lines = wrap(_shorten(result.query.text, verbose), width)
    if not any(result.rankings.values()):
        return [*lines, *wrap("Nothing was found: no document has a word of the query.", width)]
    titles = [METHOD_TITLES[method] for method in result.rankings]
    columns = [Column("rank", right=True)]
    for title in titles:
        columns += [Column(title), Column("score", right=True)]
    rows = [
        [str(rank), *(cell for hit in hits for cell in _format_hit(hit))]
        for rank, hits in enumerate(zip_longest(*result.rankings.values()), start=1)
    ]
    lines += ["", *format_table(columns, rows, width), ""]
    for hit in result.hits:
        lines += _format_document(hit, width, verbose)
    return lines


def _format_hit(hit: SearchHit | None) -> tuple[str, str]:
    if hit is None:
        return "–", ""
    name = hit.id if len(hit.id) <= MAX_ID_CHARS else f"{hit.id[: MAX_ID_CHARS - 1]}…"
    return name, f"{hit.score:.4f}" if hit.score < 1 else f"{hit.score:.2f}"


def _format_document(hit: SearchHit, width: int, verbose: bool) -> list[str]:
    """A document in a few lines; with `verbose` its whole passage."""
    text = _shorten(" ".join(hit.text.split()), verbose)
    title = " ".join(hit.title.split())
    heading = wrap(f"{hit.rank}. {hit.id}{': ' if title else ''}{title}", width, "", "   ")
    return [*heading, *(wrap(text, width, "   ") if text else [])]


def _shorten(text: str, verbose: bool) -> str:
    """The words at the beginning of a long text, unless all of it is wanted."""
    if verbose or len(text) <= MAX_TEXT_CHARS:
        return text
    return f"{text[:MAX_TEXT_CHARS].rsplit(' ', 1)[0]} …"


def format_index(index: SearchIndex, width: int) -> list[str]:
    """What was indexed, and how it can be searched."""
    manifest = index.manifest
    size = sum(path.stat().st_size for path in index.folder.path.rglob("*") if path.is_file())
    empty = f", {manifest.num_empty:,} of them empty" if manifest.num_empty else ""
    facts = [
        f"{pluralize(manifest.num_documents, 'document')}{empty}, {format_bytes(size)} in {index.folder.path}",
        f"dense: {pluralize(manifest.num_passages, 'passage')}, vectors of {manifest.dim} numbers in "
        f"{manifest.precision}, by {manifest.encoder.describe()}",
        f"BM25: {len(index.bm25.terms):,} terms, {manifest.analyzer.describe()}",
    ]
    if manifest.hnsw is not None:
        facts.append(
            f"graph for --hnsw: finds {manifest.hnsw.recall:.1%} of the ten nearest documents that exact search finds "
            f"(measured with {pluralize(manifest.hnsw.sample, 'passage')} as queries)"
        )
    return wrap_all(facts, width, "", "  ")
