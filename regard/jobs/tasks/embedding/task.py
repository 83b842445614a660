"""Embedding behind the protocol of a task."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from regard.config import Config, explicit_settings
from regard.data.batch import Batches
from regard.data.store import Corpus, IdRow
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.errors import ConfigError, DataError
from regard.formats import Pair
from regard.jobs.load import load_encoder, new_embedding_model
from regard.jobs.tasks.embedding import prepare
from regard.jobs.tasks.embedding.evaluation import EmbeddingEvaluation, evaluate_embedder
from regard.jobs.tasks.embedding.files import count_stored_cosines, count_stored_ranks, write_embedding_scores
from regard.jobs.tasks.embedding.opponents import (
    StaticVectors,
    measure_new_opponents,
    measure_opponents,
    read_opponent_values,
    write_opponent_values,
)
from regard.jobs.tasks.embedding.prepare import RETRIEVAL_METRIC, SIMILARITY_METRIC
from regard.jobs.tasks.opponents import read_stored_pairs
from regard.jobs.tasks.single_text import SingleTextData, SingleTextTask
from regard.jobs.tasks.task_metric import LOSS, PredictionWords, ReportWords, TaskMetric
from regard.kernels import keep_rows
from regard.metrics.labels.statistics import CountedScore
from regard.run import Run
from regard.tasks.embed.batch import RelatedBatch, RelatedCollator, RowBatches
from regard.tasks.embed.embedder import Embedder
from regard.tasks.embed.examples import restore_example, store_example
from regard.tasks.embed.loss import EmbeddingLoss
from regard.tasks.embed.objectives import InBatchSoftmax, SimilarityRanking
from regard.tasks.embed.rows import MAX_SIMILARITY, SIMILARITY_STEPS, encode_examples, separator_of
from regard.tasks.loss import LossModule
from regard.tasks.stored_parts import SEPARATOR
from regard.tasks.text_forward import SingleStack
from regard.training.alarms import AlarmWords
from regard.training.planning.single_stack_sizing import VECTOR_SIZING, suggest_single_stack
from regard.training.planning.sizing import SizingInputs, SuggestedSetting
from regard.training.validate import NUM_SAMPLES, DevPredictions, DevPredictor, PredictedSample, Validator

if TYPE_CHECKING:
    from regard.jobs.tasks.comparison import TaskComparison
    from regard.report import Table

METRICS = {
    RETRIEVAL_METRIC: TaskMetric("MRR", digits=1, substitutes=(SIMILARITY_METRIC,)),
    SIMILARITY_METRIC: TaskMetric("Spearman", digits=1, substitutes=(RETRIEVAL_METRIC,)),
    "loss": replace(LOSS, bound_to=("embed.batch_rows", "embed.temperature", "embed.both_directions")),
}
"""Dev has one of the first two, which also selects checkpoints unless `train.metric` is set."""
STORED_COUNTS = {RETRIEVAL_METRIC: count_stored_ranks, SIMILARITY_METRIC: count_stored_cosines}
DEV_SEED = 0
"""Of the order of dev pairs: neighbors in a file may be alike, and would be hard negatives of each other."""


@dataclass(frozen=True)
class DevVectors:
    """The vectors of all dev texts, scored as at the end."""

    embedder: Embedder
    dev: Corpus

    def __call__(self) -> DevPredictions:
        evaluation = evaluate_embedder(self.embedder, [restore_example(pair) for pair in self.dev.pairs()])
        metric = SIMILARITY_METRIC if evaluation.has_similarities else RETRIEVAL_METRIC
        samples = [
            PredictedSample.of(f"{one.example.text} · {one.example.positive}", _describe_value(one.value, metric))
            for one in evaluation.pairs[:NUM_SAMPLES]
        ]
        return DevPredictions(evaluation.scores[metric], None, len(evaluation.pairs), samples)


def _describe_value(value: float, metric: str) -> str:
    """How near the texts of a pair are."""
    return f"cosine {value:.2f}" if metric == SIMILARITY_METRIC else f"rank {value:.0f} among all positives"


@dataclass(frozen=True)
class EmbedTask(SingleTextTask):
    """A text -> a vector that is near to those of texts that mean the same, by an encoder."""

    name: str = "embed"
    example: str = "pair"
    unit: str = "pair"
    target: str = "positive"
    main_score: str = SIMILARITY_METRIC
    test_file: str = "test.tsv"
    data_settings: tuple[str, ...] = ("embed.text", "embed.text_pair", "embed.similarity", "embed.max_similarity")

    @property
    def prediction_words(self) -> PredictionWords:
        return PredictionWords("embed", "embedding", "pair", answers="vectors")

    @property
    def report_words(self) -> ReportWords:
        return ReportWords("Finds related texts", "find related texts", "pairs")

    @property
    def metrics(self) -> Mapping[str, TaskMetric]:
        return METRICS

    @property
    def alarm_words(self) -> AlarmWords:
        return AlarmWords(
            "a model that finds all texts equally similar",
            "ignores its texts: with the text of another pair for each positive",
            "every text is beside its positive",
            "the model",
        )

    def require_files(self, config: Config) -> None:
        super().require_files(config)
        c, explicit = config.train, explicit_settings(config)
        refused = {"train.rdrop": c.rdrop, "train.label_smoothing": c.label_smoothing}
        for name, value in refused.items():
            if value and name in explicit:
                raise ConfigError(f"{name}={value:g}: vectors have no classes that it could be for; leave it out")

    def write_texts(self, run: Run, config: Config) -> None:
        prepare.write_texts(run, config)

    def learn_labels(self, targets: Iterable[str]) -> None:
        return None

    def read_labels(self, run: Run) -> None:
        return None

    def encode(self, pairs: Sequence[Pair], tokenizer: TextTokenizer, labels: Any, config: Config) -> Iterator[IdRow]:
        return encode_examples([restore_example(pair) for pair in pairs], tokenizer, config.data.max_length)

    def count_outputs(self, tokenizer: TextTokenizer, labels: Any) -> int:
        return 1

    def id_limits(self, tokenizer: TextTokenizer, labels: Any) -> tuple[int, int]:
        return separator_of(tokenizer) + 1, round(MAX_SIMILARITY * SIMILARITY_STEPS) + 1

    def store_opponents(self, run: Run, tokenizer: TextTokenizer) -> None:
        write_opponent_values(run)

    def pooling(self, config: Config) -> str:
        return "mean"

    def new_model(self, config: Config, tokenizer: TextTokenizer, labels: Any) -> SingleStack:
        return new_embedding_model(config, tokenizer)

    def max_batch_rows(self, config: Config) -> float:
        return config.embed.batch_rows

    def suggest_settings(self, inputs: SizingInputs, config: Config) -> list[SuggestedSetting]:
        sizing = replace(VECTOR_SIZING, max_rows=config.embed.batch_rows)
        suggested = [
            one for one in suggest_single_stack(inputs, config, sizing) if one.name != "train.output_lr_factor"
        ]
        dev = next(prepare.read_files(config.data.dev or config.data.train, config))
        metric = RETRIEVAL_METRIC if dev.similarity is None else SIMILARITY_METRIC
        own = [
            SuggestedSetting("train.metric", metric, "the loss depends on the rows of a batch"),
            SuggestedSetting("train.label_smoothing", 0.0, "vectors have no classes"),
        ]
        return suggested + [one for one in own if one.name not in explicit_settings(config)]

    def build_collator(self, config: Config, data: SingleTextData, training: bool) -> RelatedCollator:
        return RelatedCollator(data.tokenizer)

    def build_batches(self, config: Config, data: SingleTextData) -> RowBatches:
        return self._cut_batches(data.train, config, data, config.train.seed)

    def _cut_batches(self, corpus: Corpus, config: Config, data: SingleTextData, seed: int) -> RowBatches:
        collator = self.build_collator(config, data, training=True)
        rows, tokens, length = config.embed.batch_rows, config.train.batch_tokens, config.data.max_length
        return RowBatches(corpus, collator, tokens, length, seed, max_rows=rows)

    def _dev_batches(self, config: Config, data: SingleTextData) -> Iterator[RelatedBatch]:
        """The dev pairs in batches of the same size, the same every time."""
        batches: Batches = self._cut_batches(data.dev, config, data, DEV_SEED)
        return (batches.make_batch(rows, 0, number) for number, rows in enumerate(batches.plan_epoch(0)))

    def build_loss(self, model: SingleStack, config: Config, data: SingleTextData, padding_free: bool) -> LossModule:
        return EmbeddingLoss(model, *_make_objectives(config), padding_free)

    def baseline_loss(self, config: Config, data: SingleTextData) -> float:
        """The dev loss of vectors that are all the same: the logarithm of what a text is compared with."""
        pairs, similarities = _make_objectives(config)
        loss, count = 0.0, 0
        for batch in self._dev_batches(config, data):
            objective = pairs if batch.similarities is None else similarities
            loss += float(objective(torch.ones(len(batch.ids), 1), batch, keep_rows).loss)
            count += batch.num_targets
        return loss / count

    def build_validator(
        self, loss_module: LossModule, predictor: Embedder, config: Config, data: SingleTextData
    ) -> Validator:
        predict_dev = self.build_dev_predictor(predictor, config, data)
        return Validator(loss_module, lambda: self._dev_batches(config, data), predict_dev)

    def build_dev_predictor(self, predictor: Embedder, config: Config, data: SingleTextData) -> DevPredictor:
        return DevVectors(predictor, data.dev)

    def describe_failure(self, evaluation: EmbeddingEvaluation) -> str:
        return evaluation.describe_failure()

    def make_predictor(self, model: SingleStack, tokenizer: TextTokenizer, labels: Any, config: Config) -> Embedder:
        return Embedder(model, tokenizer, config.data.max_length)

    def load_predictor(self, folder: Path, device: str) -> Embedder:
        """Of a run of this task, or of an imported encoder."""
        return load_encoder(folder, device)

    def list_dev_texts(self, run: Run) -> Iterable[str]:
        return (restore_example(pair).text for pair in read_stored_pairs(run, "dev"))

    def evaluate(self, run: Run, predictor: Embedder, pairs: Sequence[Pair], set_name: str = "") -> EmbeddingEvaluation:
        examples = [restore_example(pair) for pair in pairs]
        opponents = read_opponent_values(run, set_name) if set_name else {}
        static = measure_opponents([StaticVectors(predictor)], examples) if opponents else {}
        return evaluate_embedder(predictor, examples, {**opponents, **static})

    def read_examples(self, files: Sequence[str], config: Config) -> Iterator[Pair]:
        for example in prepare.read_files(files, config):
            prepare.require_range([example], config.embed.max_similarity or MAX_SIMILARITY)
            yield store_example(example)

    def compare(
        self, systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
    ) -> "TaskComparison":
        from regard.jobs.tasks.embedding.comparison import compare_embeddings  # draws

        return compare_embeddings(systems, files, config, device)

    def count_stored(self, run: Run, set_name: str, metric: str) -> CountedScore | None:
        count = STORED_COUNTS.get(metric)
        return count(run, set_name) if count else None

    def show_examples(self, runs: Mapping[str, Run], set_name: str) -> None:
        """The scores say it all."""
        return

    def evaluate_new(self, run: Run, predictor: Embedder, pairs: Sequence[Pair]) -> EmbeddingEvaluation:
        examples = [restore_example(pair) for pair in pairs]
        if len(examples) < 2:
            raise DataError(
                f"{examples[0].location}: is the only pair; expected several, so that each can be found among others"
            )
        prepare.require_different(examples)
        return evaluate_embedder(predictor, examples, measure_new_opponents(run, predictor, examples))

    def tabulate_mistakes(self, evaluation: EmbeddingEvaluation) -> "Table":
        from regard.jobs.tasks.embedding.report import tabulate_mistakes  # draws

        return tabulate_mistakes(evaluation)

    def write_scores(self, run: Run, name: str, evaluation: EmbeddingEvaluation, files: Sequence[str] = ()) -> None:
        write_embedding_scores(run, name, evaluation, files)

    def write_report(
        self, run: Run, predictor: Embedder, evaluation: EmbeddingEvaluation, set_name: str, epochs: float
    ) -> None:
        from regard.jobs.tasks.embedding.report import write_report  # draws

        write_report(run, evaluation, set_name, epochs)

    def plan_notes(self, config: Config, data: SingleTextData) -> list[str]:
        notes = []
        if config.train.accumulate_batches > 1:
            notes.append(
                f"train.accumulate_batches={config.train.accumulate_batches} adds no negatives: those of a row are the "
                f"other rows of its batch; raise embed.batch_rows instead"
            )
        sizes = [len(rows) for rows in self.build_batches(config, data).plan_epoch(0)]
        mean = sum(sizes) / max(1, len(sizes))
        if mean < min(0.9 * config.embed.batch_rows, 0.9 * len(data.train)):
            notes.append(
                f"batches have {mean:.0f} rows on average, not embed.batch_rows={config.embed.batch_rows}: their texts "
                f"are long; raise train.batch_tokens (now {config.train.batch_tokens:,}) if memory allows"
            )
        if SEPARATOR not in data.train.source[0] and config.model.dropout < 0.05:
            notes.append(f"model.dropout={config.model.dropout:g}: two views of a text differ little; 0.1 is usual")
        return notes


def _make_objectives(config: Config) -> tuple[InBatchSoftmax, SimilarityRanking]:
    c = config.embed
    return InBatchSoftmax(c.temperature, c.both_directions), SimilarityRanking(c.temperature)


TASK = EmbedTask()
