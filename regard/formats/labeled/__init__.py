"""Files <-> labeled text: texts with labels to classify, and sentences of tagged words."""

from regard.formats.labeled.examples import ColumnNames, LabeledText, TaggedSentence
from regard.formats.labeled.predictions import read_predictions
from regard.formats.labeled.reader import read_labeled_texts, read_tagged_sentences
from regard.formats.labeled.writer import write_labeled_texts, write_tagged_sentences

__all__ = [
    "ColumnNames",
    "LabeledText",
    "TaggedSentence",
    "read_labeled_texts",
    "read_predictions",
    "read_tagged_sentences",
    "write_labeled_texts",
    "write_tagged_sentences",
]
