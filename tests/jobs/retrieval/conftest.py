"""An index by a real encoder, with judged queries."""

from pathlib import Path

import pytest

from regard.formats.retrieval import DocumentColumns
from regard.jobs.retrieval.session import index_files
from regard.retrieval.build import IndexOptions
from tests.jobs.retrieval.letters import write_documents, write_queries


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory, encoder_run: Path) -> Path:
    """idx, docs.jsonl, queries.tsv and qrels.txt; no test writes here."""
    folder = tmp_path_factory.mktemp("indexed")
    write_documents(folder / "docs.jsonl")
    write_queries(folder)
    options = IndexOptions(language="en")
    index_files(encoder_run, [folder / "docs.jsonl"], DocumentColumns(), folder / "idx", options, False, "cpu")
    return folder
