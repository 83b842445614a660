"""Files of labeled texts -> a store of texts inside the run. Done once; a resumed run finds them there."""

from collections.abc import Mapping, Sequence

import numpy as np

from regard.config import Config
from regard.data import store
from regard.data.group_split import GroupSplit, hold_out_texts
from regard.formats.labeled import ColumnNames, LabeledText, read_labeled_texts
from regard.jobs.doctor import LabeledFiles, diagnose_labels
from regard.jobs.tasks.held_out import held_out_fractions, write_manifest
from regard.progress import stage, track
from regard.run import Run
from regard.tasks.classify.examples import store_example


def column_names(config: Config) -> ColumnNames:
    """The columns that the settings name."""
    return ColumnNames(config.classify.text, config.classify.text_pair, config.classify.label)


def write_texts(run: Run, config: Config) -> None:
    """Read every file, drop what the doctor diagnoses, hold out the missing sets, and store the texts in the run."""
    if run.texts_manifest.exists():
        return
    c = config.data
    labeled = LabeledFiles("classify", {"train": c.train, "dev": c.dev, "test": c.test}, column_names(config))
    diagnosis = diagnose_labels(labeled, c.keep, c.drop)
    diagnosis.require_trainable()
    run.write_json(run.doctor, diagnosis.as_dict())
    clean = list(diagnosis.clean(track(read_labeled_texts(c.train, labeled.columns), "reading train")))
    fractions = held_out_fractions(config, len(clean))
    split = _split(clean, config, fractions)
    sets = ((name, store_example(clean[row])) for name, rows in split.rows.items() for row in rows.tolist())
    counts = store.write_sets(run.store, ("train", *fractions), sets)
    for name, files in (("dev", c.dev), ("test", c.test)):
        if files:
            texts = diagnosis.clean(read_labeled_texts(files, labeled.columns), name)
            counts[name] = store.write_texts(run.store, name, map(store_example, texts))
    notes = []
    if len(split.dropped):
        notes = [f"{len(split.dropped):,} texts are parts of texts of two sets, and are in none"]
    write_manifest(run, counts, list(fractions), notes)


def _split(examples: Sequence[LabeledText], config: Config, fractions: Mapping[str, float]) -> GroupSplit:
    """The rows of each set: texts that are parts of one another are on one side."""
    if not fractions:
        return GroupSplit({"train": np.arange(len(examples))}, np.arange(0), 0)
    with stage("holding out whole groups of texts"):
        return hold_out_texts(examples, config.train.seed, fractions)
