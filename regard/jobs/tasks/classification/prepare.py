"""Files of labeled texts -> a store of texts inside the run. Done once; a resumed run finds them there."""

from collections.abc import Iterator, Sequence

from regard.config import Config
from regard.formats import Pair
from regard.formats.labeled import ColumnNames, LabeledText, read_labeled_texts
from regard.jobs.doctor import LabeledFiles
from regard.jobs.tasks.held_out import hold_out_texts
from regard.jobs.tasks.labeled_sets import write_labeled_sets
from regard.run import Run
from regard.tasks.classify.examples import store_example


def column_names(config: Config) -> ColumnNames:
    """The columns that the settings name."""
    return ColumnNames(config.classify.text, config.classify.text_pair, config.classify.label)


def write_texts(run: Run, config: Config) -> None:
    """Read every file, drop what the doctor diagnoses, hold out the missing sets, and store the texts in the run."""
    c, columns = config.data, column_names(config)
    labeled = LabeledFiles("classify", {"train": c.train, "dev": c.dev, "test": c.test}, columns)
    write_labeled_sets(run, config, labeled, lambda files: read_labeled_texts(files, columns), store_example, _hold_out)


def _hold_out(texts: Sequence[LabeledText], seed: int, held_out_sets: Sequence[str]) -> Iterator[tuple[str, Pair]]:
    return ((name, store_example(text)) for name, text in hold_out_texts(texts, seed, held_out_sets) if name)
