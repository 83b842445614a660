"""Files of labeled texts -> a store of texts inside the run. Done once; a resumed run finds them there."""

from regard.config import Config
from regard.data import store
from regard.formats.labeled import ColumnNames, read_labeled_texts
from regard.jobs.doctor import LabeledFiles, diagnose_labels
from regard.jobs.tasks.held_out import hold_out_texts, list_held_out_sets, write_manifest
from regard.progress import track
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
    held_out_sets = list_held_out_sets(config)
    clean = list(diagnosis.clean(track(read_labeled_texts(c.train, labeled.columns), "reading train")))
    assigned = hold_out_texts(clean, config.train.seed, held_out_sets)
    counts = store.write_sets(
        run.store, ("train", *held_out_sets), ((name, store_example(text)) for name, text in assigned if name)
    )
    for name, files in (("dev", c.dev), ("test", c.test)):
        if files:
            texts = diagnosis.clean(read_labeled_texts(files, labeled.columns), name)
            counts[name] = store.write_texts(run.store, name, map(store_example, texts))
    write_manifest(run, counts, held_out_sets, [])
