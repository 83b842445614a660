"""Causal language models behind the protocol of a task."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.config import Config
from regard.data.batch import Batches
from regard.data.documents.tokenizer import split_for_training
from regard.data.store import IdRow, Texts
from regard.data.unigram import unigram_loss
from regard.formats import Pair
from regard.jobs.load import load_document_tokenizer, load_language_model
from regard.jobs.tasks.language.evaluation import LanguageEvaluation, describe_context, evaluate_language_model
from regard.jobs.tasks.language.files import count_stored_bits, write_language_scores
from regard.jobs.tasks.language.opponents import fit_opponent_bits, read_opponent_bits, write_opponent_bits
from regard.jobs.tasks.language.samples import ContinuedDev
from regard.jobs.tasks.language.task import LanguageData, LanguageTask
from regard.jobs.tasks.single_text import SingleTextData
from regard.jobs.tasks.task_metric import LOSS, TOKENIZATION_SETTINGS, ReportWords, TaskMetric
from regard.metrics import Score
from regard.metrics.labels.statistics import CountedScore
from regard.model.single_stack import DecoderOnly
from regard.run import Run
from regard.tasks.causal_lm.loss import CausalLMLoss
from regard.tasks.causal_lm.windows import WindowBatches, WindowCollator, validation_windows
from regard.tasks.generate import LanguageModel
from regard.tasks.loss import LossModule
from regard.training.planning.cost import MeanLengths
from regard.training.validate import DevPredictor, PredictedSample, Validation, Validator

if TYPE_CHECKING:
    from regard.inspection.text_readers import TextReader
    from regard.jobs.tasks.comparison import TaskComparison
    from regard.jobs.tasks.reporting.example_section import ExampleSection


METRICS = {
    "bits_per_byte": TaskMetric("bits per byte", higher_is_better=False, digits=3),
    "loss": replace(LOSS, bound_to=TOKENIZATION_SETTINGS),
}


@dataclass(frozen=True)
class LanguageValidator(Validator):
    """Validation by windows, each token once; bits per byte follow from the loss."""

    tokens_per_byte: float
    signature: str

    def validate_with_samples(self, step: int) -> tuple[Validation, Sequence[PredictedSample]]:
        validation, samples = super().validate_with_samples(step)
        bits = validation.loss / math.log(2) * self.tokens_per_byte
        return replace(validation, score=Score("bits per byte", bits, None, None, self.signature)), samples


@dataclass(frozen=True)
class CausalLMTask(LanguageTask):
    """The tokens of a document -> the next one, by a decoder."""

    name: str = "causal-lm"
    example: str = "document"
    unit: str = "token"
    target: str = "token"
    main_score: str = "bits_per_byte"
    test_file: str = "test.txt"
    data_settings: tuple[str, ...] = ("causal_lm.documents",)

    @property
    def report_words(self) -> ReportWords:
        return ReportWords("Predicts text", "predict text", "documents")

    @property
    def metrics(self) -> Mapping[str, TaskMetric]:
        return METRICS

    def separator(self, config: Config) -> str:
        return config.causal_lm.documents

    def target_share(self, config: Config) -> float:
        return 1.0

    def open_tokenizer(self, run: Run) -> Any:
        return load_document_tokenizer(run)

    def split_for_tokenizer(self, texts: Iterable[str]) -> Iterator[str]:
        return split_for_training(texts)

    def store_opponents(self, run: Run, tokenizer: Any) -> None:
        write_opponent_bits(run)

    def encode(self, pairs: Sequence[Pair], tokenizer: Any, labels: Any, config: Config) -> Iterator[IdRow]:
        """The tokens of a document are its targets; it has no other input."""
        yield from (((), ids) for ids in tokenizer.encode([pair.source for pair in pairs]))

    def count_examples(self, data: LanguageData) -> float:
        return self._count_predictions(data) / self.mean_lengths(data).target

    def mean_lengths(self, data: LanguageData) -> MeanLengths:
        """Of a window: a document is as long as it is."""
        length = min(data.max_length, self._count_predictions(data) / len(data.train))
        return MeanLengths(length, length)

    def build_collator(self, config: Config, data: SingleTextData, training: bool) -> WindowCollator:
        return WindowCollator(_padding_id(data))

    def build_batches(self, config: Config, data: SingleTextData) -> Batches:
        return WindowBatches(
            data.train,
            self.build_collator(config, data, training=True),
            config.train.batch_tokens,
            config.data.max_length,
            config.train.seed,
            bos_id=data.tokenizer.bos_id,
            eos_id=data.tokenizer.eos_id,
        )

    def build_loss(self, model: DecoderOnly, config: Config, data: SingleTextData, padding_free: bool) -> LossModule:
        return CausalLMLoss(model, config.train.label_smoothing, padding_free)

    def build_validator(
        self, loss_module: LossModule, predictor: LanguageModel, config: Config, data: SingleTextData
    ) -> Validator:
        tokenizer, dev = data.tokenizer, data.dev
        num_bytes, limits = dev.source.num_bytes, (config.train.batch_tokens, predictor.max_length)
        border_ids = (tokenizer.bos_id, tokenizer.eos_id, _padding_id(data))
        return LanguageValidator(
            loss_module,
            lambda: (batch for _, batch in validation_windows(dev, *limits, *border_ids)),
            self.build_dev_predictor(predictor, config, data),
            tokens_per_byte=(len(dev.target_ids.values) + len(dev)) / num_bytes,
            signature=f"unit:byte|bytes:{num_bytes}|{describe_context(predictor.max_length)}|ci:none,windows",
        )

    def baseline_loss(self, config: Config, data: SingleTextData) -> float:
        return unigram_loss(data.train.target_ids, data.dev.target_ids, data.vocab_size)

    def build_dev_predictor(self, predictor: LanguageModel, config: Config, data: SingleTextData) -> DevPredictor:
        return ContinuedDev(predictor, data.dev)

    def make_predictor(self, model: DecoderOnly, tokenizer: Any, labels: Any, config: Config) -> LanguageModel:
        return LanguageModel(model, tokenizer, config.data.max_length)

    def load_predictor(self, folder: Path, device: str) -> LanguageModel:
        return load_language_model(folder, device)

    def evaluate(
        self, run: Run, predictor: LanguageModel, pairs: Sequence[Pair], set_name: str = ""
    ) -> LanguageEvaluation:
        opponents = read_opponent_bits(run, set_name) if set_name else None
        return evaluate_language_model(predictor, [pair.source for pair in pairs], opponents)

    def make_reader(self, run: Run, predictor: LanguageModel) -> "TextReader":
        from regard.inspection.text_readers import WholeDocument  # with all that inspects

        return WholeDocument(predictor.tokenizer)

    def list_dev_texts(self, run: Run) -> Iterable[str]:
        """Lines: a document may be longer than what can be inspected."""
        return (line for document in Texts(run.store, "dev.source") for line in document.split("\n"))

    def evaluate_new(self, run: Run, predictor: LanguageModel, pairs: Sequence[Pair]) -> LanguageEvaluation:
        texts = [pair.source for pair in pairs]
        opponents = fit_opponent_bits(run, texts) if run.texts_manifest.exists() else None  # none if it was imported
        return evaluate_language_model(predictor, texts, opponents)

    def count_stored(self, run: Run, set_name: str, metric: str) -> CountedScore | None:
        return count_stored_bits(run, set_name) if metric == self.main_score else None

    def show_examples(self, runs: Mapping[str, Run], set_name: str) -> "ExampleSection | None":
        from regard.jobs.tasks.language.report import show_distributions  # draws

        return show_distributions(self, runs, set_name)

    def compare(
        self, systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
    ) -> "TaskComparison":
        from regard.jobs.tasks.language.comparison import compare_language_models  # draws

        return compare_language_models(systems, files, config, device)

    def write_scores(self, run: Run, name: str, evaluation: LanguageEvaluation, files: Sequence[str] = ()) -> None:
        write_language_scores(run, name, evaluation, files)

    def write_report(
        self, run: Run, predictor: LanguageModel, evaluation: LanguageEvaluation, set_name: str, epochs: float
    ) -> None:
        from regard.jobs.tasks.language.report import write_language_report  # draws

        write_language_report(run, predictor, evaluation, set_name, epochs)

    def _count_predictions(self, data: LanguageData) -> int:
        """The tokens of all documents, and their ends."""
        return len(data.train.target_ids.values) + len(data.train)


def _padding_id(data: SingleTextData) -> int:
    """A row of the embedding table: an imported vocabulary has no padding, and what follows a text changes nothing."""
    return max(0, int(data.tokenizer.pad_id))


TASK = CausalLMTask()
