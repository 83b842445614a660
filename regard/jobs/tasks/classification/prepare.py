"""Files of labeled texts -> a store of texts inside the run. Done once; a resumed run finds them there."""

from regard.config import Config
from regard.data.group_split import hold_out_texts
from regard.formats.labeled import ColumnNames, read_labeled_texts
from regard.jobs.doctor import LabeledFiles
from regard.jobs.tasks.labeled_sets import write_labeled_sets
from regard.run import Run
from regard.tasks.classify.examples import store_example


def column_names(config: Config) -> ColumnNames:
    """The columns that the settings name."""
    return ColumnNames(config.classify.text, config.classify.text_pair, config.classify.label)


def write_texts(run: Run, config: Config) -> None:
    """Store the texts of every file in the run, without what the doctor drops; hold out the missing sets."""
    c, columns = config.data, column_names(config)
    labeled = LabeledFiles("classify", {"train": c.train, "dev": c.dev, "test": c.test}, columns)
    write_labeled_sets(
        run, config, labeled, lambda files: read_labeled_texts(files, columns), store_example, hold_out_texts
    )
