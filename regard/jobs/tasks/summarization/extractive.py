"""Extractive summarization behind the protocol of a task: each sentence of a document is taken, or not."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from regard.config import Config, explicit_settings
from regard.data.batch import Collator
from regard.data.store import IdRow
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.formats import Pair
from regard.formats.summaries import SummarizedDocument
from regard.jobs.tasks.opponents import read_stored_pairs
from regard.jobs.tasks.single_text import SingleTextData, SingleTextTask
from regard.jobs.tasks.summarization import prepare
from regard.jobs.tasks.summarization.summary_task import DevSummaries, SummaryTask, languages_of, suggest_length
from regard.jobs.tasks.task_metric import ReportWords
from regard.metrics.summaries import select_oracle
from regard.run import Run
from regard.tasks.extract.extractor import Extractor, make_targets
from regard.tasks.extract.labels import ExtractStatistics
from regard.tasks.extract.loss import ExtractionLoss
from regard.tasks.loss import LossModule
from regard.tasks.summarize.documents import choose_words, restore_document
from regard.tasks.tag.collator import TagCollator
from regard.tasks.text_forward import SingleStack
from regard.training.planning.single_stack_sizing import LABEL_SIZING, suggest_single_stack
from regard.training.planning.sizing import SizingInputs, SuggestedSetting
from regard.training.validate import DevPredictor

if TYPE_CHECKING:
    pass

METRIC = SuggestedSetting("train.metric", "rouge1", "a sentence may be as good as the one with the label")


@dataclass(frozen=True)
class ExtractTask(SummaryTask, SingleTextTask):
    """A document -> the sentences of it that are its summary, by an encoder."""

    name: str = "extract"
    example: str = "document"
    unit: str = "sentence"
    target: str = "label"
    main_score: str = "rouge2"
    test_file: str = "test.jsonl"
    data_settings: tuple[str, ...] = ("extract.text", "extract.summary", "extract.labels")

    @property
    def report_words(self) -> ReportWords:
        return ReportWords("Extracts summaries", "extract summaries", "documents")

    def write_texts(self, run: Run, config: Config) -> None:
        prepare.write_texts(run, config, self.complete, one_reference=False)

    def complete(self, document: SummarizedDocument) -> SummarizedDocument:
        """The document with labels: its own, or those of the best extract."""
        if document.labels is not None:
            return document
        words = choose_words("", document.references)
        oracle = select_oracle(document.sentences, document.references, words)
        return replace(document, labels=tuple(int(n in oracle) for n in range(len(document.sentences))))

    def learn_labels(self, targets: Iterable[str]) -> ExtractStatistics:
        documents = (restore_document(Pair("", target)) for target in targets)
        return ExtractStatistics.of(document.labels or () for document in documents)

    def read_labels(self, run: Run) -> ExtractStatistics:
        run.verify(run.labels)
        return run.read_json(run.labels, ExtractStatistics)

    def encode(
        self, pairs: Sequence[Pair], tokenizer: TextTokenizer, labels: ExtractStatistics, config: Config
    ) -> Iterator[IdRow]:
        """Sentences that begin beyond the maximum length are no targets."""
        documents = list(map(restore_document, pairs))
        rows = tokenizer.encode_words([document.sentences for document in documents], config.data.max_length)
        for encoded, document in zip(rows, documents, strict=True):
            yield encoded.ids, make_targets(encoded, document.labels or ())

    def count_outputs(self, tokenizer: TextTokenizer, labels: ExtractStatistics) -> int:
        return 2

    def pooling(self, config: Config) -> None:
        return None

    def targets_per_text(self, data: SingleTextData) -> float:
        return int(np.count_nonzero(data.train.target_ids.values)) / len(data.train)

    def suggest_settings(self, inputs: SizingInputs, config: Config) -> list[SuggestedSetting]:
        own = [one for one in (suggest_length(config), METRIC) if one.name not in explicit_settings(config)]
        return [*suggest_single_stack(inputs, config, LABEL_SIZING), *own]

    def build_collator(self, config: Config, data: SingleTextData, training: bool) -> Collator:
        return TagCollator(data.tokenizer)

    def build_loss(self, model: SingleStack, config: Config, data: SingleTextData, padding_free: bool) -> LossModule:
        return ExtractionLoss(model, config.train.label_smoothing, padding_free)

    def baseline_loss(self, config: Config, data: SingleTextData) -> float:
        return float(data.labels.entropy)

    def make_predictor(
        self, model: SingleStack, tokenizer: TextTokenizer, labels: ExtractStatistics, config: Config
    ) -> Extractor:
        return Extractor(model, tokenizer, config.extract.sentences or labels.num_sentences, config.data.max_length)

    def build_dev_predictor(self, predictor: Extractor, config: Config, data: SingleTextData) -> DevPredictor:
        measure = METRIC.value if config.train.metric == "loss" else config.train.metric
        return DevSummaries(predictor, data.dev, len(data.dev), str(measure), languages_of(config))

    def list_dev_texts(self, run: Run) -> Iterator[str]:
        return (restore_document(pair).text for pair in read_stored_pairs(run, "dev"))

    def plan_notes(self, config: Config, data: SingleTextData) -> list[str]:
        num_cut = sum(
            len(ids) >= config.data.max_length for ids in (data.train.source_ids[n] for n in range(len(data.train)))
        )
        count = config.extract.sentences or data.labels.num_sentences
        notes = [f"an extract has {count} sentence{'s' if count > 1 else ''}"]
        if num_cut:
            notes.append(
                f"train: {num_cut:,} documents are longer than data.max_length={config.data.max_length}: what follows "
                f"is not learned from, and predicted in parts"
            )
        return notes


TASK = ExtractTask()
