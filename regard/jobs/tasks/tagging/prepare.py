"""Files of tagged sentences -> a store of sentences inside the run. Done once; a resumed run finds them there."""

from regard.config import Config
from regard.data.group_split import hold_out_sentences
from regard.formats.labeled import ColumnNames, read_tagged_sentences
from regard.jobs.doctor import LabeledFiles
from regard.jobs.tasks.labeled_sets import write_labeled_sets
from regard.run import Run
from regard.tasks.tag.examples import store_sentence


def write_texts(run: Run, config: Config) -> None:
    """Store the sentences of every file in the run, without what the doctor drops; hold out the missing sets."""
    c = config.data
    labeled = LabeledFiles("tag", {"train": c.train, "dev": c.dev, "test": c.test}, ColumnNames())
    write_labeled_sets(run, config, labeled, read_tagged_sentences, store_sentence, hold_out_sentences)
