"""Masked language models behind the protocol of a task."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from regard.config import Config
from regard.data import store
from regard.data.documents.passages import cut_passages
from regard.data.store import Corpus, IdRow, Texts
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.files import Finite
from regard.formats import Pair
from regard.jobs.tasks.language.files import count_stored_masks, write_masked_scores
from regard.jobs.tasks.language.masked_evaluation import (
    MaskedEvaluation,
    count_regular_tokens,
    cut_documents,
    evaluate_masked_language_model,
    smooth_frequencies,
)
from regard.jobs.tasks.language.samples import FilledDev
from regard.jobs.tasks.language.task import LanguageData, LanguageTask
from regard.jobs.tasks.single_text import SingleTextData
from regard.jobs.tasks.task_metric import LOSS, TOKENIZATION_SETTINGS, ReportWords, TaskMetric
from regard.metrics.labels.statistics import CountedScore
from regard.model.single_stack import EncoderOnly
from regard.progress import track
from regard.run import Run
from regard.tasks.loss import LossModule
from regard.tasks.masked_lm.filler import MaskFiller
from regard.tasks.masked_lm.loss import MaskedLMLoss
from regard.tasks.masked_lm.masking import FixedMaskingCollator, MaskingCollator
from regard.training.validate import DevPredictor

if TYPE_CHECKING:
    from regard.inspection.text_readers import TextReader
    from regard.jobs.tasks.comparison import TaskComparison
    from regard.jobs.tasks.reporting.example_section import ExampleSection

AnyCollator = TypeVar("AnyCollator", bound=MaskingCollator)


MASK_SETTINGS = ("masked_lm.mask_rate", "masked_lm.mask_scheme", "masked_lm.whole_words", "data.max_length")
TARGETS = (*TOKENIZATION_SETTINGS, *MASK_SETTINGS)
"""What decides which tokens of dev are masked."""
METRICS = {
    "loss": replace(LOSS, name="loss of masked tokens", bound_to=TARGETS),
    "accuracy": TaskMetric("accuracy", digits=1, validated_as="accuracy", bound_to=TARGETS),
}


@dataclass(frozen=True)
class StoredCounts:
    """store/opponents.json: how often each token occurs in the training text."""

    token_counts: tuple[Finite, ...]


@dataclass(frozen=True)
class MaskedLMTask(LanguageTask):
    """A passage in which tokens are hidden -> these tokens, by an encoder."""

    name: str = "masked-lm"
    example: str = "passage"
    unit: str = "masked token"
    target: str = "token"
    main_score: str = "loss"
    test_file: str = "test.txt"
    data_settings: tuple[str, ...] = ("masked_lm.documents",)

    @property
    def report_words(self) -> ReportWords:
        return ReportWords("Fills masks", "fill masks", "passages")

    @property
    def metrics(self) -> Mapping[str, TaskMetric]:
        return METRICS

    def separator(self, config: Config) -> str:
        return config.masked_lm.documents

    def target_share(self, config: Config) -> float:
        return config.masked_lm.mask_rate

    def store_rows(self, run: Run, name: str, tokenizer: TextTokenizer, labels: Any, config: Config) -> None:
        """Documents are stored once more as passages, which the model reads as a whole."""
        documents, c = Texts(run.store, f"{name}.source"), config.data
        passages = (
            Pair(passage, "")
            for document in track(documents, f"cutting {name} into passages")
            for passage in cut_passages(document, tokenizer, c.max_length, c.source)
        )
        store.write_texts(run.store, _passages_of(name), passages)
        super().store_rows(run, _passages_of(name), tokenizer, labels, config)

    def open_rows(self, run: Run, name: str, tokenizer: TextTokenizer, labels: Any) -> Corpus:
        return super().open_rows(run, _passages_of(name), tokenizer, labels)

    def encode(self, pairs: Sequence[Pair], tokenizer: TextTokenizer, labels: Any, config: Config) -> Iterator[IdRow]:
        """A passage is its own target."""
        rows = tokenizer.encode([pair.source for pair in pairs], config.data.max_length)
        yield from zip(rows, rows, strict=True)

    def store_opponents(self, run: Run, tokenizer: TextTokenizer) -> None:
        ids = self.open_rows(run, "train", tokenizer, None).source_ids
        run.write_json(run.opponents, {"token_counts": count_regular_tokens(ids, tokenizer).tolist()})

    def targets_per_text(self, data: LanguageData) -> float:
        return max(1.0, data.target_share * len(data.train.source_ids.values) / len(data.train))

    def build_collator(self, config: Config, data: SingleTextData, training: bool) -> MaskingCollator:
        return _make_collator(MaskingCollator if training else FixedMaskingCollator, data.tokenizer, config)

    def build_loss(self, model: EncoderOnly, config: Config, data: SingleTextData, padding_free: bool) -> LossModule:
        return MaskedLMLoss(model, config.train.label_smoothing, padding_free)

    def baseline_loss(self, config: Config, data: SingleTextData) -> float:
        train, dev = (count_regular_tokens(side.source_ids, data.tokenizer) for side in (data.train, data.dev))
        return float(-(dev * smooth_frequencies(train)).sum() / dev.sum())

    def build_dev_predictor(self, predictor: MaskFiller, config: Config, data: SingleTextData) -> DevPredictor:
        return FilledDev(predictor, data.dev)

    def make_predictor(self, model: EncoderOnly, tokenizer: TextTokenizer, labels: Any, config: Config) -> MaskFiller:
        return MaskFiller(model, tokenizer, config.data.max_length)

    def make_reader(self, run: Run, predictor: MaskFiller) -> "TextReader":
        from regard.inspection.text_readers import MaskedText  # with all that inspects

        return MaskedText(predictor.tokenizer)

    @property
    def file_example(self) -> str:
        return "document"

    def list_dev_texts(self, run: Run) -> Iterable[str]:
        return Texts(run.store, f"{_passages_of('dev')}.source")

    def evaluate_new(self, run: Run, predictor: MaskFiller, pairs: Sequence[Pair]) -> MaskedEvaluation:
        """Documents are cut into passages, as those that the run was trained on."""
        source = run.load_config().data.source
        texts = [pair.source for pair in pairs]
        return self._evaluate(run, predictor, cut_documents(texts, predictor, source), run.opponents.exists())

    def evaluate(self, run: Run, predictor: MaskFiller, pairs: Sequence[Pair], set_name: str = "") -> MaskedEvaluation:
        return self._evaluate(run, predictor, [pair.source for pair in pairs], bool(set_name))

    def _evaluate(self, run: Run, predictor: MaskFiller, passages: list[str], opponents: bool) -> MaskedEvaluation:
        config = run.load_config()
        c = config.masked_lm
        signature = f"rate:{c.mask_rate:g}|scheme:{c.mask_scheme}|whole-words:{'yes' if c.whole_words else 'no'}"
        counts = run.read_json(run.opponents, StoredCounts).token_counts if opponents else None
        return evaluate_masked_language_model(
            predictor,
            _make_collator(FixedMaskingCollator, predictor.tokenizer, config),
            passages,
            f"{signature}|masks:by-text|vocabulary:{predictor.tokenizer.vocab_size}",
            None if counts is None else np.array(counts),
        )

    def count_stored(self, run: Run, set_name: str, metric: str) -> CountedScore | None:
        return count_stored_masks(run, set_name, metric)

    def show_examples(self, runs: Mapping[str, Run], set_name: str) -> "ExampleSection | None":
        from regard.jobs.tasks.language.report import show_distributions  # draws

        return show_distributions(self, runs, set_name)

    def compare(
        self, systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
    ) -> "TaskComparison":
        from regard.jobs.tasks.language.comparison import compare_masked_language_models  # draws

        return compare_masked_language_models(systems, files, config, device, self.evaluate)

    def write_scores(self, run: Run, name: str, evaluation: MaskedEvaluation, files: Sequence[str] = ()) -> None:
        write_masked_scores(run, name, evaluation, files)

    def write_report(
        self, run: Run, predictor: MaskFiller, evaluation: MaskedEvaluation, set_name: str, epochs: float
    ) -> None:
        from regard.jobs.tasks.language.report import write_masked_report  # draws

        write_masked_report(run, predictor, evaluation, set_name, epochs)


def _passages_of(name: str) -> str:
    return f"{name}.passages"


def _make_collator(kind: type[AnyCollator], tokenizer: TextTokenizer, config: Config) -> AnyCollator:
    c = config.masked_lm
    return kind(tokenizer, c.mask_rate, c.mask_scheme, c.whole_words)


TASK = MaskedLMTask()
