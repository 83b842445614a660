"""The scores of summaries, beside those of cheap ones and of the best extract."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from regard.baselines import OpponentPredictions, OpponentResult, compare_sums
from regard.baselines.summaries import fit_summary_opponents
from regard.data.sentences import SentenceRules, rules_for
from regard.formats.summaries import SummarizedDocument
from regard.metrics import Score
from regard.metrics.summaries import (
    NAMES,
    EnglishWords,
    RougeValues,
    WordSplitter,
    describe_rouge,
    mean_values,
    measure_summaries,
    select_oracle,
)
from regard.progress import stage, track
from regard.tasks.summarize.documents import choose_words, divide_text

RULE = "best-rouge1"
"""Of several references, the one with the best ROUGE-1 counts."""


class SummaryPredictor(Protocol):
    """Documents, as their sentences -> their summaries."""

    @property
    def model(self) -> Any: ...

    def summarize(self, documents: Sequence[Sequence[str]]) -> list[str]: ...

    def mean_loss(self, documents: Sequence[SummarizedDocument]) -> float | None: ...


@dataclass(frozen=True)
class ScoredSummary:
    """A document, its summary, and ROUGE from 0 to 1."""

    document: SummarizedDocument
    summary: str
    values: RougeValues

    @property
    def reference(self) -> str:
        """All references."""
        return " | ".join(self.document.references)


@dataclass(frozen=True)
class SummaryEvaluation:
    """The scores of a summarizer on a set of documents."""

    scores: dict[str, Score]
    loss: float | None
    summaries: tuple[ScoredSummary, ...]
    oracle: Mapping[str, Score]
    """The scores of the best extracts: what choosing sentences could reach at most, about."""
    opponents: tuple[OpponentResult, ...] = ()

    def describe_failure(self) -> str:
        """Why the summarizer does not work; empty if it does."""
        if len(self.summaries) > 1 and len({one.summary for one in self.summaries}) == 1:
            return "its summaries are all the same"
        return ""


@dataclass(frozen=True)
class SummaryScoring:
    """How the summaries of a set are scored."""

    references: Sequence[Sequence[str]]
    words: WordSplitter
    rules: SentenceRules

    @classmethod
    def of(cls, documents: Sequence[SummarizedDocument], source: str, target: str) -> "SummaryScoring":
        """For documents of a language, and summaries of another or the same."""
        references = [document.references for document in documents]
        words = choose_words(target or source, (text for texts in references for text in texts))
        return cls(references, words, rules_for(target or source))

    def measure(self, summaries: Sequence[str]) -> list[RougeValues]:
        """ROUGE of each summary. For ROUGE-Lsum, all are divided into sentences."""
        references = [[self._divide(text) for text in texts] for texts in self.references]
        return measure_summaries([self._divide(text) for text in summaries], references, self.words, RULE)

    def score(self, rows: Sequence[RougeValues]) -> dict[str, Score]:
        """The means over documents."""
        return mean_values(rows, describe_rouge(self.references, self.words, RULE))

    def compare(
        self, rows: Sequence[RougeValues], opponents: Mapping[str, Sequence[RougeValues]]
    ) -> list[OpponentResult]:
        """The scores of opponents, with paired tests of their differences from the first rows."""
        tests = {
            name: compare_sums(
                [1.0] * len(rows),
                [100 * row[name] for row in rows],
                {opponent: [100 * row[name] for row in others] for opponent, others in opponents.items()},
            )
            for name in (track(NAMES, "testing significance") if opponents else ())
        }
        return [
            OpponentResult(opponent, self.score(others), {name: results[opponent] for name, results in tests.items()})
            for opponent, others in opponents.items()
        ]

    def _divide(self, text: str) -> str:
        return "\n".join(divide_text(text, self.rules))


def evaluate_summarizer(
    predictor: SummaryPredictor,
    documents: Sequence[SummarizedDocument],
    scoring: SummaryScoring,
    opponents: OpponentPredictions | None = None,
) -> SummaryEvaluation:
    """Summarize documents, and score the summaries; with opponents, also theirs, and paired tests."""
    summaries = predictor.summarize([document.sentences for document in documents])
    rows = scoring.measure(summaries)
    answers = opponents.answers if opponents else {}
    opponent_rows = {name: scoring.measure([text for (text,) in answers[name]]) for name in answers}
    return SummaryEvaluation(
        scoring.score(rows),
        predictor.mean_loss(documents),
        tuple(map(ScoredSummary, documents, summaries, rows)),
        scoring.score(scoring.measure(extract_best(documents, scoring.words))),
        tuple(scoring.compare(rows, opponent_rows)),
    )


def extract_best(documents: Iterable[SummarizedDocument], words: WordSplitter) -> list[str]:
    """The best extract of each document, by its references."""
    return [
        " ".join(document.sentences[n] for n in select_oracle(document.sentences, document.references, words))
        for document in track(documents, "extracting the best sentences")
    ]


def predict_opponents(
    training: Sequence[SummarizedDocument], documents: Sequence[SummarizedDocument], words: WordSplitter
) -> OpponentPredictions:
    """The summaries of cheap opponents."""
    with stage("fitting baselines"):
        references = [text for document in training for text in document.references]
        has_titles = any(document.title for document in training)
        opponents = fit_summary_opponents(references, has_titles, isinstance(words, EnglishWords))
        return OpponentPredictions(
            {one.name: [(one.summarize(document),) for document in documents] for one in opponents}
        )
