"""Files of labeled text -> a store of examples inside the run, for any task with labels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from regard.config import Config
from regard.data import store
from regard.data.split import hold_out
from regard.formats import Pair
from regard.jobs.doctor import LabeledFiles, diagnose_labels
from regard.jobs.tasks.held_out import list_held_out_sets, write_manifest
from regard.progress import track
from regard.run import Run

Example = TypeVar("Example")


def write_labeled_sets(
    run: Run,
    config: Config,
    labeled: LabeledFiles,
    read: Callable[[Sequence[str]], Iterator[Example]],
    store_example: Callable[[Example], Pair],
    assign: Callable[[Sequence[Example], int, Sequence[str]], Iterable[tuple[str, Pair]]],
) -> None:
    """Read every file, drop what the doctor diagnoses, hold out the missing sets, and store the examples in the run.

    `assign` names the set of each training example, by the seed and the sets that are held out.
    """
    if run.texts_manifest.exists():
        return
    c = config.data
    diagnosis = diagnose_labels(labeled, c.keep, c.drop)
    diagnosis.require_trainable()
    run.write_json(run.doctor, diagnosis.as_dict())
    held_out_sets = list_held_out_sets(config)
    clean = list(diagnosis.clean(track(read(c.train), "reading train")))
    counts = store.write_sets(run.store, ("train", *held_out_sets), assign(clean, config.train.seed, held_out_sets))
    for name, files in (("dev", c.dev), ("test", c.test)):
        if files:
            counts[name] = store.write_texts(run.store, name, map(store_example, diagnosis.clean(read(files), name)))
    write_manifest(run, counts, held_out_sets, [])


def hold_out_pairs(
    pairs: Sequence[Pair], seed: int, held_out_sets: Sequence[str], examples: str
) -> Iterable[tuple[str, Pair]]:
    """Stored examples with their sets: inputs that are the same after `normalize_source` are in one set only."""
    if not held_out_sets:
        return (("train", pair) for pair in pairs)
    is_dev, is_test = ("dev" in held_out_sets, "test" in held_out_sets)
    return hold_out((pair.source for pair in pairs), seed, is_dev, is_test, examples=examples).assign(pairs)
