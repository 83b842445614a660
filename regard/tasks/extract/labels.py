"""Which share of sentences an extract takes, as the training documents have it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.errors import DataError
from regard.files import Count
from regard.tasks.label_statistics import frequency_entropy


@dataclass(frozen=True)
class ExtractStatistics:
    """The labels of the sentences of the training documents. JSON by `asdict`."""

    num_left: Count
    """Sentences that no extract takes."""
    num_taken: Count
    num_sentences: Count
    """Sentences of an extract: the mean of the training documents, rounded."""

    @classmethod
    def of(cls, labels_of_documents: Iterable[Sequence[int]]) -> "ExtractStatistics":
        """The statistics of training documents."""
        counts: Counter[int] = Counter()
        num_extracts = 0
        for labels in labels_of_documents:
            counts.update(labels)
            num_extracts += any(labels)
        if not counts[1]:
            raise DataError(
                "no sentence of the training documents has a word in common with its summary: nothing can be "
                "extracted; train --task summarize, which writes summaries"
            )
        if not counts[0]:
            raise DataError(
                "every training document is wholly extracted: nothing is left to choose from; expected documents of "
                "several sentences, and summaries that are shorter"
            )
        return cls(counts[0], counts[1], max(1, round(counts[1] / num_extracts)))

    @property
    def entropy(self) -> float:
        """The loss per sentence, in nats, of always predicting the share of sentences that are taken."""
        return frequency_entropy((self.num_left, self.num_taken))
