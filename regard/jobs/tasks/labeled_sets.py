"""Files of labeled text -> a store of examples inside the run, for any task with labels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from regard.config import Config
from regard.data import store
from regard.data.doctor import Action, Diagnosis
from regard.data.group_split import GroupSplit
from regard.formats import Pair
from regard.jobs.doctor import LabeledFiles, diagnose_labels
from regard.jobs.tasks.held_out import held_out_fractions, write_manifest
from regard.progress import stage, track
from regard.run import Run

Example = TypeVar("Example")
HoldOut = Callable[[Sequence[Example], int, Mapping[str, float]], GroupSplit]
"""Examples, a seed, and the fraction of each set -> the rows of each set."""
HARMLESS = frozenset({"duplicate", "missing_class"})
"""Kinds of findings that `regard doctor` shows, and that need no attention before every training."""


def write_labeled_sets(
    run: Run,
    config: Config,
    labeled: LabeledFiles,
    read: Callable[[Sequence[str]], Iterator[Example]],
    store_example: Callable[[Example], Pair],
    hold_out: HoldOut[Example],
) -> None:
    """Read every file, drop what the doctor diagnoses, hold out the missing sets, and store the examples in the run."""
    if run.texts_manifest.exists():
        return
    c = config.data
    diagnosis = diagnose_labels(labeled, c.keep, c.drop)
    diagnosis.require_trainable()
    run.write_json(run.doctor, diagnosis.as_dict())
    clean = list(diagnosis.clean(track(read(c.train), "reading train")))
    fractions = held_out_fractions(config, len(clean))
    split = _split(clean, config.split_seed, fractions, hold_out)
    sets = ((name, store_example(clean[row])) for name, rows in split.rows.items() for row in rows.tolist())
    counts = store.write_sets(run.store, ("train", *fractions), sets)
    for name, files in (("dev", c.dev), ("test", c.test)):
        if files:
            counts[name] = store.write_texts(run.store, name, map(store_example, diagnosis.clean(read(files), name)))
    num_dropped = len(split.dropped)
    notes = [f"{num_dropped:,} texts are parts of texts of two sets, and are in none"] if num_dropped else []
    write_manifest(run, counts, list(fractions), [*notes, *list_warnings(diagnosis)])


def list_warnings(diagnosis: Diagnosis) -> list[str]:
    """What is trained on although it spoils training or flatters scores, a line for each kind of finding.

    What is dropped is a part of the plan.
    """
    return [
        finding.format_line()
        for finding in diagnosis.findings
        if finding.action is Action.NOTED and finding.kind.name not in HARMLESS
    ]


def _split(
    examples: Sequence[Example], seed: int, fractions: Mapping[str, float], hold_out: HoldOut[Example]
) -> GroupSplit:
    """The rows of each set; all are train where no set is held out."""
    if not fractions:
        return GroupSplit({"train": np.arange(len(examples))}, np.arange(0), 0)
    with stage("holding out whole groups"):
        return hold_out(examples, seed, fractions)
