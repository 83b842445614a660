"""Cheap summaries of documents: their beginning, the sentence that says what is done, the title, frequent words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.formats.summaries import SummarizedDocument
from regard.metrics.summaries import UnicodeWords

FIRST_PERSON = re.compile(r"\b(?:we|this paper)\b", re.IGNORECASE)


class FirstSentence:
    """The first sentence, lead-1."""

    name = "first sentence"

    def summarize(self, document: SummarizedDocument) -> str:
        return document.sentences[0] if document.sentences else ""


class FirstPersonSentence:
    """The first sentence with "we" or "this paper", or else the first one: authors say so what they have done."""

    name = 'first sentence with "we"'

    def summarize(self, document: SummarizedDocument) -> str:
        sentences = (sentence for sentence in document.sentences if FIRST_PERSON.search(sentence))
        return next(sentences, FirstSentence().summarize(document))


class Title:
    """The title of the document."""

    name = "title"

    def summarize(self, document: SummarizedDocument) -> str:
        return document.title


@dataclass(frozen=True)
class FrequentWords:
    """The most frequent words of the training summaries, as many as a summary has: the same for every document."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"the {len(self.words)} most frequent words"

    @classmethod
    def fit(cls, summaries: Iterable[str]) -> "FrequentWords":
        counts: Counter[str] = Counter()
        splitter, num_summaries = UnicodeWords(), 0
        for summary in summaries:
            counts.update(splitter.split(summary))
            num_summaries += 1
        size = max(1, round(counts.total() / max(1, num_summaries)))
        return cls(tuple(word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:size]))

    def summarize(self, document: SummarizedDocument) -> str:
        return " ".join(self.words)


SummaryOpponent = FirstSentence | FirstPersonSentence | Title | FrequentWords


def fit_summary_opponents(summaries: Iterable[str], has_titles: bool, is_english: bool) -> Sequence[SummaryOpponent]:
    """The opponents that suit documents of a kind."""
    opponents: list[SummaryOpponent] = [FirstSentence()]
    if is_english:
        opponents.append(FirstPersonSentence())
    if has_titles:
        opponents.append(Title())
    return [*opponents, FrequentWords.fit(summaries)]
