"""Files <-> what search needs: documents, queries, judgments (qrels) and ranked lists (TREC runs)."""

from regard.formats.retrieval.documents import DocumentColumns, SearchDocument, read_documents
from regard.formats.retrieval.queries import SearchQuery, number_queries, read_queries
from regard.formats.retrieval.trec import read_judgments, read_run, write_run

__all__ = [
    "DocumentColumns",
    "SearchDocument",
    "SearchQuery",
    "number_queries",
    "read_documents",
    "read_judgments",
    "read_queries",
    "read_run",
    "write_run",
]
