"""Examine files of labeled text, and write a clean copy of a corpus that the doctor has examined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, cast, get_args

from regard.config import Config
from regard.data.doctor import Diagnosis
from regard.data.label_doctor import LabelDoctor, LabelStream, view_labeled_text, view_tagged_sentence
from regard.data.tag_schemes import detect_scheme
from regard.errors import ConfigError, DataError
from regard.exchange import write_folder
from regard.files import resolve
from regard.formats import Pair, are_two_texts, jsonl, text
from regard.formats.labeled import (
    ColumnNames,
    read_labeled_texts,
    read_tagged_sentences,
    write_labeled_texts,
    write_tagged_sentences,
)
from regard.jobs.tasks.translation.prepare import stream_pairs
from regard.progress import track


def write_clean_corpus(config: Config, diagnosis: Diagnosis, folder: Path) -> list[Path]:
    """Write every split without dropped pairs: two text files stay two, other formats become JSON lines."""
    with write_folder(folder) as staged:
        return _write_splits(config, diagnosis, folder, staged)


def _write_splits(config: Config, diagnosis: Diagnosis, folder: Path, staged: Path) -> list[Path]:
    """Write the files of a folder into another one that will replace it; returns their final paths."""
    written_paths: list[Path] = []
    for name, files in (("train", config.data.train), ("dev", config.data.dev), ("test", config.data.test)):
        if files:
            pairs = list(track(diagnosis.clean(stream_pairs(config, files).read(), name), f"reading {name}"))
            paths = _output_paths(folder, name, files, pairs)
            input_paths = {resolve(file) for file in (*config.data.train, *config.data.dev, *config.data.test)}
            for path in paths:
                if resolve(path) in input_paths | {resolve(other) for other in written_paths}:
                    raise DataError(f"{path}: would be overwritten; choose another folder with --fix")
            staged_paths = [staged / path.relative_to(folder) for path in paths]
            if len(paths) == 2:
                text.write(staged_paths[0], staged_paths[1], pairs)
            else:
                jsonl.write(staged_paths[0], pairs)
            written_paths += paths
    return written_paths


def _output_paths(folder: Path, name: str, files: Sequence[str], pairs: list[Pair]) -> list[Path]:
    """The files of a split: named as its two input files, in a folder of its own for dev and test."""
    if not are_two_texts(files) or any("\n" in pair.source + pair.target for pair in pairs):
        return [folder / f"{name}.jsonl"]
    directory = folder if name == "train" else folder / name
    source, target = (Path(file).name.removesuffix(".gz") for file in files)
    return [directory / source, directory / (target if target != source else f"{target}.target")]


SCHEME_SENTENCES = 10_000
"""Sentences whose tags decide on the scheme of a file."""
LabelTask = Literal["classify", "tag"]


def parse_label_task(name: str) -> LabelTask:
    """A task with labels by its name."""
    tasks = get_args(LabelTask)
    if name not in tasks:
        raise ConfigError(f"task={name}: expected one of translate, {', '.join(tasks)}")
    return cast(LabelTask, name)


@dataclass(frozen=True)
class LabeledFiles:
    """Files of labeled text by split, and the columns of their tables."""

    task: LabelTask
    files: Mapping[str, Sequence[str]]
    """train, and dev and test if there are such."""
    columns: ColumnNames

    def __post_init__(self) -> None:
        if self.task == "tag" and self.columns != ColumnNames():
            raise ConfigError(
                "the columns of words and tags are fixed: the first one is the word, the last one the tag"
            )

    def stream(self, split: str) -> LabelStream | None:
        """The examples of a split as the doctor sees them; None if it has no files."""
        files = self.files.get(split)
        if not files:
            return None
        if self.task == "tag":
            scheme = detect_scheme(s.tags for s in islice(read_tagged_sentences(files), SCHEME_SENTENCES))
            return LabelStream(
                lambda: (view_tagged_sentence(sentence, scheme) for sentence in read_tagged_sentences(files)),
                scheme.name,
            )
        return LabelStream(lambda: map(view_labeled_text, read_labeled_texts(files, self.columns)))


def diagnose_labels(labeled: LabeledFiles, keep: Sequence[str], drop: Sequence[str]) -> Diagnosis:
    """The diagnosis of files of labeled text."""
    doctor = LabelDoctor(frozenset(keep), frozenset(drop))
    train = labeled.stream("train")
    assert train is not None
    diagnosis = doctor.examine(train, labeled.stream("dev"), labeled.stream("test"))
    if not diagnosis.pairs_read:
        raise DataError(f"{' '.join(labeled.files['train'])}: has no text; expected rows with a text and a label")
    return diagnosis


def write_clean_labels(labeled: LabeledFiles, diagnosis: Diagnosis, folder: Path) -> None:
    """Write every split without what is dropped: JSON lines of texts and labels, or columns of words and tags."""
    inputs = {Path(file).resolve() for files in labeled.files.values() for file in files}
    with write_folder(folder) as staged:
        for split, files in labeled.files.items():
            name = f"{split}.conll" if labeled.task == "tag" else f"{split}.jsonl"
            if (folder / name).resolve() in inputs:
                raise DataError(f"{folder / name}: would be overwritten; choose another folder with --fix")
            if files and labeled.task == "tag":
                sentences = diagnosis.clean(track(read_tagged_sentences(files), f"reading {split}"), split)
                write_tagged_sentences(staged / name, sentences)
            elif files:
                texts = diagnosis.clean(track(read_labeled_texts(files, labeled.columns), f"reading {split}"), split)
                write_labeled_texts(staged / name, texts)
