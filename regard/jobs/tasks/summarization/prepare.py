"""Files of documents and summaries -> a store of texts inside the run. Done once; a resumed run finds them there."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from regard.config import Config, ExtractConfig, SummarizeConfig
from regard.data import store
from regard.data.group_split import hold_out_related
from regard.data.normalization import hash_source
from regard.data.sentences import rules_for
from regard.errors import ConfigError, DataError
from regard.formats import Pair
from regard.formats.summaries import SummarizedDocument, SummaryColumns, read_documents
from regard.jobs.tasks.held_out import held_out_fractions, write_manifest
from regard.progress import report_note, stage, track
from regard.run import Run
from regard.tasks.summarize.documents import divide_text, store_document

OVERLAP, LONGER = "overlap", "longer"
Documents = list[SummarizedDocument]
Complete = Callable[[SummarizedDocument], SummarizedDocument]
"""Adds what a task learns of a document, as the labels of its sentences."""


def read_files(files: Sequence[str], config: Config) -> Iterator[SummarizedDocument]:
    """The documents of files as sentences, by the columns that the settings name."""
    c: SummarizeConfig | ExtractConfig = config.extract if config.task == "extract" else config.summarize
    columns = SummaryColumns(c.text, c.summary, getattr(c, "labels", ""))
    rules = rules_for(config.data.source)
    for document in read_documents(files, columns, config.data.max_line_bytes):
        if document.is_divided:
            yield document
        else:
            yield replace(document, sentences=divide_text("\n".join(document.sentences), rules), is_divided=True)


def write_texts(run: Run, config: Config, complete: Complete, one_reference: bool) -> None:
    """Read every file, hold out the missing sets, and store the documents of each set in the run.

    With `one_reference`, a training document with several summaries is stored once with each.
    """
    if run.texts_manifest.exists():
        return
    _require_known_findings(config)
    c = config.data
    sets = {"train": list(track(read_files(c.train, config), "reading train"))}
    fractions = held_out_fractions(config, len(sets["train"]))
    if fractions:
        sets = _hold_out(sets["train"], config.split_seed, fractions)
    for name, files in (("dev", c.dev), ("test", c.test)):
        if files:
            sets[name] = list(track(read_files(files, config), f"reading {name}"))
    notes = [] if OVERLAP in c.keep else _drop_overlap(sets)
    notes += _drop_unusable(sets, LONGER in c.drop)
    for name, documents in sets.items():
        if not documents:
            reasons = f" ({'; '.join(notes)})" if notes and name == "train" else ""
            raise DataError(f"{name} has no document{reasons}; expected one at least, and hundreds to learn from")
    if one_reference:
        sets["train"] = [replace(one, references=(text,)) for one in sets["train"] for text in one.references]
    pairs = (
        (name, store_document(complete(document)))
        for name, documents in sets.items()
        for document in track(documents, f"storing {name}")
    )
    counts = store.write_sets(run.store, tuple(sets), pairs)
    write_manifest(run, counts, list(fractions), notes)


def _require_known_findings(config: Config) -> None:
    if not {*config.data.drop} <= {LONGER} or not {*config.data.keep} <= {OVERLAP}:
        raise ConfigError(
            f"data.keep={list(config.data.keep)}, data.drop={list(config.data.drop)}: of documents, "
            f"data.keep={OVERLAP} keeps those that dev or test have, too, and data.drop={LONGER} drops those whose "
            f"summary is longer"
        )


def _hold_out(documents: Documents, seed: int, fractions: Mapping[str, float]) -> dict[str, Documents]:
    with stage("holding out documents"):
        split = hold_out_related([[document.text] for document in documents], seed, fractions)
    return {name: [documents[row] for row in rows.tolist()] for name, rows in split.rows.items()}


def _drop_overlap(sets: dict[str, Documents]) -> list[str]:
    """Leave documents out of train that dev or test have, too; what was left out."""
    held_out = {hash_source(one.text) for name, documents in sets.items() if name != "train" for one in documents}
    training = [one for one in sets["train"] if not one.sentences or hash_source(one.text) not in held_out]
    num_dropped = len(sets["train"]) - len(training)
    sets["train"] = training
    return [f"{num_dropped:,} training documents are also in dev or test, and are left out"] if num_dropped else []


def _drop_unusable(sets: dict[str, Documents], drop_longer: bool) -> list[str]:
    """Leave empty documents out of train; what was left out, and what looks wrong."""
    notes = []
    for name, documents in sets.items():
        num_empty = sum(not document.sentences for document in documents)
        if num_empty:
            what = "are left out" if name == "train" else "have an empty summary"
            notes.append(f"{name}: {num_empty:,} documents are empty, and {what}")
    sets["train"] = [document for document in sets["train"] if document.sentences]
    longer = [document for document in sets["train"] if is_longer(document)]
    if longer and drop_longer:
        sets["train"] = [document for document in sets["train"] if not is_longer(document)]
    if longer:
        advice = "left out" if drop_longer else f"data.drop={LONGER} leaves them out"
        notes.append(f"train: {len(longer):,} summaries are longer than their document ({advice})")
    return notes


def require_texts(pairs: Sequence[Pair]) -> None:
    """Refuse stored documents that are all empty; say how many are."""
    num_empty = sum(not pair.source for pair in pairs)
    if num_empty == len(pairs):
        raise DataError(f"{pairs[0].location}: this document and all others are empty; expected texts to summarize")
    if num_empty:
        report_note(f"{num_empty:,} of {len(pairs):,} documents are empty, and have an empty summary")


def is_longer(document: SummarizedDocument) -> bool:
    """Whether a summary has more words than its document."""
    return any(len(text.split()) > len(document.text.split()) for text in document.references)
