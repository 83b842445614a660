"""Check a corpus, generate one, and estimate what training on one would take."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard import config as configs
from regard.api.arguments import AnyPath, Files, list_files, optional_path
from regard.api.terminal import showing
from regard.atomic import open_output
from regard.data.corpora import CORPORA, GoldPair, write_rows
from regard.data.doctor import Diagnosis
from regard.data.documents.related_parts import RELATIONS, relate_parts
from regard.errors import ConfigError, DataError
from regard.exchange import check_folder
from regard.formats import Pair
from regard.formats.document_texts import read_documents
from regard.formats.labeled import ColumnNames
from regard.jobs.doctor import (
    LabeledFiles,
    diagnose_labels,
    parse_label_task,
    write_clean_corpus,
    write_clean_labels,
)
from regard.jobs.tasks.translation.prepare import diagnose
from regard.progress import track

DOCUMENT_SUFFIXES = (".txt", ".md", ".rst")
"""Of the files of a folder that are documents."""


def doctor(
    *files: Files,
    dev: Files | None = None,
    test: Files | None = None,
    source: str = "",
    target: str = "",
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    fix: AnyPath | None = None,
    task: str = "translate",
    text_column: str = "",
    text_pair_column: str = "",
    label_column: str = "",
    progress: bool = False,
) -> Diagnosis:
    """Check a corpus: what is wrong with it, where, and what is done about it in training.

    >>> diagnosis = regard.doctor("pairs.tsv", source="en", target="fr")
    >>> diagnosis.pairs_read == diagnosis.pairs_kept
    True

    `keep` and `drop` name kinds of findings whose pairs are kept or dropped, other than by default. `fix` is a folder
    that a clean copy of the corpus is written to.

    With `task="classify"` the files are texts with labels (.csv, .tsv, .jsonl, fastText's `__label__`, a folder for
    each class), with `task="tag"` sentences of tagged words (CoNLL's columns, .jsonl). The columns of a table are
    recognized by usual names, unless they are named.
    """
    if not files:
        raise ConfigError("nothing to check: give two aligned text files, or a .tsv, .jsonl, .tmx, .po or .xlf file")
    data = {"train": list_files(files), "dev": list_files(dev), "test": list_files(test)}
    columns = ColumnNames(text_column, text_pair_column, label_column)
    if task != "translate":
        with showing(progress):
            return _check_labels(LabeledFiles(parse_label_task(task), data, columns), keep, drop, optional_path(fix))
    if columns != ColumnNames():
        raise ConfigError("columns are named for texts with labels: add task=classify")
    languages = {"source": source, "target": target}
    config = configs.build({"data": {**data, **languages, "keep": list(keep), "drop": list(drop)}})
    folder = optional_path(fix)
    if folder is not None:
        check_folder(folder)
    with showing(progress):
        diagnosis = diagnose(config)
        if folder is not None:
            write_clean_corpus(config, diagnosis, folder)
    return diagnosis


def _check_labels(labeled: LabeledFiles, keep: Sequence[str], drop: Sequence[str], fix: Path | None) -> Diagnosis:
    if fix is not None:
        check_folder(fix)
    diagnosis = diagnose_labels(labeled, keep, drop)
    if fix is not None:
        write_clean_labels(labeled, diagnosis, fix)
    return diagnosis


def corpus(name: str, pairs: int = 10_000, seed: int = 1, out: AnyPath | None = None) -> Iterator[GoldPair]:
    """The pairs of a built-in corpus, with gold word alignments: english-french, copy, reverse, sort or lookup.

    >>> pair = next(regard.corpus("copy", pairs=1))
    >>> pair.source == pair.target
    True

    With `out`, they are written there as TSV.
    """
    if name not in CORPORA:
        raise ConfigError(f"there is no built-in corpus '{name}'; expected one of: {', '.join(CORPORA)}")
    if pairs < 1:
        raise ConfigError(f"pairs={pairs}: a corpus has at least one pair")
    generate = CORPORA[name]
    if out is not None:
        with open_output(Path(out)) as file:
            rows = track(write_rows(generate(pairs, seed)), "generating pairs", pairs)
            file.writelines(f"{row}\n".encode() for row in rows)
    return generate(pairs, seed)


def document_pairs(
    *files: Files,
    kinds: Sequence[str] | None = None,
    language: str = "",
    out: AnyPath | None = None,
    progress: bool = False,
) -> list[Pair]:
    """Pairs of texts out of documents, to train an encoder on: a short text and a longer one that it is about.

        pairs = regard.document_pairs("notes/", out="pairs.tsv")
        regard.train("pairs.tsv", task="embed")

    Files are text or Markdown, each a document; of a folder, all .txt, .md and .rst files. `kinds` are title (with the
    whole text), heading (with its section) and sentence (the first of a paragraph, with the others); all if unset. With
    `out`, they are written there as TSV.
    """
    chosen = list(RELATIONS) if kinds is None else list(kinds)
    if unknown := [kind for kind in chosen if kind not in RELATIONS]:
        raise ConfigError(f"kind={unknown[0]}: expected one of {', '.join(RELATIONS)}")
    with showing(progress):
        documents = track(read_documents(list_files(files), folder_suffixes=DOCUMENT_SUFFIXES), "reading documents")
        pairs = list(relate_parts(documents, chosen, language))
    if not pairs:
        raise DataError(
            f"{' '.join(list_files(files))}: no pairs of the kind {' or '.join(chosen)}; expected titles or headings "
            f"above text, or paragraphs of several sentences"
        )
    if out is not None:
        with open_output(Path(out)) as file:
            file.writelines(f"{pair.source}\t{pair.target}\n".encode() for pair in pairs)
    return pairs
