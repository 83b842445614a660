"""Files of documents -> a store of texts inside the run. Done once; a resumed run finds them there."""

from collections.abc import Callable, Sequence

from regard.config import Config
from regard.data import store
from regard.data.group_split import hold_out_documents
from regard.formats import Pair
from regard.formats.document_texts import DocumentText, read_documents
from regard.jobs.tasks.held_out import list_held_out_sets, write_manifest
from regard.progress import stage
from regard.run import Run

FRACTION = 0.1
MAX_CHARACTERS = 1_000_000
"""Of a set that is held out: more would take long to score, and hardly narrow the interval."""


def name_nothing(document: DocumentText) -> str:
    """No target: a document is its own."""
    return ""


def write_documents(
    run: Run, config: Config, separator: str, name_target: Callable[[DocumentText], str] = name_nothing
) -> None:
    """Read every file, hold out the missing sets, and store the documents in the run, each as an input."""
    if run.texts_manifest.exists():
        return
    c = config.data
    documents = _read(c.train, separator, config)
    size = sum(len(document.text) for document in documents)
    fractions = dict.fromkeys(list_held_out_sets(config), min(FRACTION, MAX_CHARACTERS / size))
    sets = hold_out_documents(documents, config.split_seed, fractions) if fractions else {"train": documents}
    sets |= {name: _read(files, separator, config) for name, files in (("dev", c.dev), ("test", c.test)) if files}
    counts = {
        name: store.write_texts(run.store, name, (Pair(document.text, name_target(document)) for document in texts))
        for name, texts in sets.items()
    }
    write_manifest(run, counts, list(fractions), [])


def _read(files: Sequence[str], separator: str, config: Config) -> list[DocumentText]:
    with stage("reading documents"):
        return list(read_documents(files, separator, config.data.max_line_bytes))
