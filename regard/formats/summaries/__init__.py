"""Files -> documents with their summaries."""

from regard.formats.summaries.examples import SummarizedDocument
from regard.formats.summaries.reader import SummaryColumns, read_documents

__all__ = ["SummarizedDocument", "SummaryColumns", "read_documents"]
