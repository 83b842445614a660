"""What the two tasks that summarize have in common: files, scores, opponents, reports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.baselines import OpponentPredictions
from regard.config import Config
from regard.data.store import Corpus
from regard.formats import Pair
from regard.formats.summaries import SummarizedDocument
from regard.jobs.run_kind import use_command
from regard.jobs.tasks.opponents import read_opponents, read_stored_pairs
from regard.jobs.tasks.summarization import prepare
from regard.jobs.tasks.summarization.evaluation import (
    SummaryEvaluation,
    SummaryPredictor,
    SummaryScoring,
    evaluate_summarizer,
    predict_opponents,
)
from regard.jobs.tasks.summarization.files import count_stored_summaries, write_summary_scores
from regard.jobs.tasks.task_metric import LOSS, TOKENIZATION_SETTINGS, PredictionWords, TaskMetric
from regard.metrics.labels.statistics import CountedScore, TableCounts
from regard.run import Run
from regard.tasks.summarize.documents import restore_document, store_document
from regard.training.planning.sizing import SuggestedSetting
from regard.training.validate import NUM_SAMPLES, DevPredictions, PredictedSample

if TYPE_CHECKING:
    from regard.jobs.tasks.comparison import TaskComparison
    from regard.jobs.tasks.reporting.example_section import ExampleSection
    from regard.report import Table

MAX_LENGTH = 512
MIN_DISTINCT = 4
"""Documents from which on it tells something that their summaries are the same."""
METRICS = {
    "rouge2": TaskMetric("ROUGE-2", digits=1, checkpoint_metric="rouge2"),
    "rouge1": TaskMetric("ROUGE-1", digits=1, checkpoint_metric="rouge1"),
    "rougeL": TaskMetric("ROUGE-L", digits=1, checkpoint_metric="rougeL"),
    "loss": replace(LOSS, bound_to=(*TOKENIZATION_SETTINGS, "data.max_length")),
}
"""Frequent words alone have much of ROUGE-1: the first one is decisive."""


@dataclass(frozen=True)
class DevSummaries:
    """The summaries of dev documents, scored by one of the measures."""

    predictor: SummaryPredictor
    dev: Corpus
    max_documents: int
    measure: str
    languages: tuple[str, str]
    note: str = ""
    """How they were made, for the signature."""

    def __call__(self) -> DevPredictions:
        documents = [restore_document(pair) for pair in self.dev.pairs(self.max_documents)]
        if not documents:
            return DevPredictions()
        summaries = self.predictor.summarize([document.sentences for document in documents])
        scoring = SummaryScoring.of(documents, *self.languages)
        score = scoring.score(scoring.measure(summaries))[self.measure]
        score = replace(score, signature=f"{score.signature}{self.note}")
        distinct_ratio = len(set(summaries)) / len(set(documents)) if len(documents) > MIN_DISTINCT else None
        samples = [
            PredictedSample.of(document.text, summary, next(iter(document.references), ""))
            for document, summary in zip(documents[:NUM_SAMPLES], summaries, strict=False)
        ]
        return DevPredictions(score, distinct_ratio, len(documents), samples)


class SummaryTask:
    """Documents -> summaries, by any model."""

    name: str

    @property
    def file_example(self) -> str:
        return "document"

    @property
    def prediction_words(self) -> PredictionWords:
        return PredictionWords("summarize", "summary", "document", answers="summaries")

    @property
    def metrics(self) -> Mapping[str, TaskMetric]:
        return METRICS

    def read_examples(self, files: Sequence[str], config: Config) -> Iterator[Pair]:
        return map(store_document, prepare.read_files(files, config))

    def require_readable(self, files: Sequence[str], config: Config) -> None:
        next(iter(self.read_examples(files, config)), None)

    def evaluate(
        self, run: Run, predictor: SummaryPredictor, pairs: Sequence[Pair], set_name: str = ""
    ) -> SummaryEvaluation:
        return self._evaluate(run, predictor, pairs, read_opponents(run, set_name) if set_name else None)

    def evaluate_new(self, run: Run, predictor: SummaryPredictor, pairs: Sequence[Pair]) -> SummaryEvaluation:
        prepare.require_texts(pairs)
        training, dev = (read_stored_pairs(run, name) for name in ("train", "dev"))
        return self._evaluate(run, predictor, pairs, self.predict_opponents(training, dev, pairs))

    def _evaluate(
        self, run: Run, predictor: SummaryPredictor, pairs: Sequence[Pair], opponents: OpponentPredictions | None
    ) -> SummaryEvaluation:
        documents = list(map(restore_document, pairs))
        scoring = SummaryScoring.of(documents, *languages_of(run.load_config()))
        return evaluate_summarizer(predictor, list(map(self.complete, documents)), scoring, opponents)

    def complete(self, document: SummarizedDocument) -> SummarizedDocument:
        """A document with all that a task learns from it."""
        return document

    def predict_opponents(
        self, training: Sequence[Pair], dev: Sequence[Pair], pairs: Sequence[Pair]
    ) -> OpponentPredictions:
        """What cheap opponents make of stored documents, whose words are those of the training summaries."""
        known = list(map(restore_document, training))
        words = SummaryScoring.of(known, "", "").words
        return predict_opponents(known, list(map(restore_document, pairs)), words)

    def describe_failure(self, evaluation: SummaryEvaluation) -> str:
        return evaluation.describe_failure()

    def count_stored(self, run: Run, set_name: str, metric: str) -> CountedScore | None:
        return count_stored_summaries(run, set_name, metric)

    def show_examples(self, runs: Mapping[str, Run], set_name: str) -> "ExampleSection | None":
        from regard.jobs.tasks.summarization.report import show_scores  # draws

        counted = {name: count_stored_summaries(run, set_name, "rouge2") for name, run in runs.items()}
        values = {
            name: (one.counts.table[:, 0] / 100).tolist()
            for name, one in counted.items()
            if one is not None and isinstance(one.counts, TableCounts)
        }
        return show_scores(values, set_name) if values else None

    def compare(
        self, systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
    ) -> "TaskComparison":
        from regard.jobs.tasks.summarization.comparison import compare_summarizers  # draws

        return compare_summarizers(systems, files, config, device)

    def tabulate_mistakes(self, evaluation: SummaryEvaluation) -> "Table":
        from regard.jobs.tasks.summarization.report import tabulate_mistakes  # draws

        return tabulate_mistakes(evaluation)

    def write_scores(self, run: Run, name: str, evaluation: SummaryEvaluation, files: Sequence[str] = ()) -> None:
        write_summary_scores(run, name, evaluation, files)

    def write_report(
        self, run: Run, predictor: Any, evaluation: SummaryEvaluation, set_name: str, epochs: float
    ) -> None:
        from regard.jobs.tasks.summarization.report import write_report  # draws

        write_report(run, evaluation, set_name, epochs)

    def next_commands(self, folder: str) -> list[str]:
        return [use_command(self.name, folder), f"regard evaluate {folder} test.jsonl"]

    def describe_data(self, config: Config) -> str:
        return "document → summary"


def languages_of(config: Config) -> tuple[str, str]:
    """Of documents, and of summaries."""
    return config.data.source, config.data.target


def suggest_length(config: Config) -> SuggestedSetting:
    """Documents are longer than sentences; a model may have fewer positions."""
    positions = config.model.encoder.positions or config.model.positions
    limit = MAX_LENGTH if positions.max_positions is None else positions.max_positions - positions.offset
    return SuggestedSetting("data.max_length", min(MAX_LENGTH, limit), "documents are longer than sentences")
