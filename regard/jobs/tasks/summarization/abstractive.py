"""Abstractive summarization behind the protocol of a task: a translation of documents into summaries."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from regard.config import Config, explicit_settings
from regard.data import store
from regard.data.batch import batches_by_length
from regard.data.store import Corpus, IdRow, Texts, chunks
from regard.data.tokenizers.tokenizer import Tokenizers
from regard.errors import ConfigError
from regard.files import Count
from regard.formats import Pair
from regard.jobs.load import load
from regard.jobs.tasks.opponents import write_opponents
from regard.jobs.tasks.summarization import prepare
from regard.jobs.tasks.summarization.summary_task import DevSummaries, SummaryTask, languages_of, suggest_length
from regard.jobs.tasks.task_metric import ReportWords
from regard.jobs.tasks.translation.data import TranslationData
from regard.jobs.tasks.translation.encoder_decoder import EncoderDecoderTask
from regard.jobs.tasks.translation.prepare import train_tokenizers
from regard.jobs.train.training_data import read_texts_manifest
from regard.model.transformer import EncoderDecoder
from regard.progress import stage
from regard.run import Run, open_run
from regard.tasks.loss import LossModule
from regard.tasks.summarize.documents import pair_with_summary, restore_document
from regard.tasks.summarize.summarizer import Summarizer
from regard.tasks.translate.translator import Translator
from regard.training.alarms import AlarmWords
from regard.training.planning.sizing import SizingInputs, SuggestedSetting, suggest_settings
from regard.training.validate import Validator

CHUNK = 2_000
SCORED_WITH_LOSS = "rouge2"
"""What dev summaries are scored by while `train.metric` is the loss."""


@dataclass(frozen=True)
class SummaryLimits:
    """labels.json: what is learned of summaries from the training set."""

    max_summary_tokens: Count


@dataclass(frozen=True)
class DocumentCutter:
    """Stored documents and summaries -> ids, of which long ones are cut; it counts them."""

    tokenizers: Tokenizers
    max_tokens: int
    """Of a side, its end not counted."""

    def encode(self, folder: Path, name: str, counts: dict[str, int]) -> Iterator[IdRow]:
        """The ids of all documents of a set, and of the first summary of each."""
        sides = [Texts(folder, f"{name}.{side}") for side in store.SIDES]
        with stage(f"encoding {name}", len(sides[0])) as current:
            for sources, targets in zip(*(chunks(texts, CHUNK) for texts in sides), strict=True):
                documents = [restore_document(Pair(*texts)) for texts in zip(sources, targets, strict=True)]
                rows = [
                    self.tokenizers.source.encode([document.text for document in documents]),
                    self.tokenizers.target.encode([document.references[0] for document in documents]),
                ]
                for side, ids in zip(store.SIDES, rows, strict=True):
                    counts[side] += sum(len(row) > self.max_tokens for row in ids)
                yield from ((a[: self.max_tokens], b[: self.max_tokens]) for a, b in zip(*rows, strict=True))
                current.advance(len(documents))


@dataclass(frozen=True)
class SummarizeTask(SummaryTask, EncoderDecoderTask):
    """A document -> a summary that is written word by word, by an encoder-decoder."""

    name: str = "summarize"
    example: str = "document"
    unit: str = "target token"
    target: str = "token"
    main_score: str = "rouge2"
    data_settings: tuple[str, ...] = ("summarize.text", "summarize.summary")

    def inspected_pair(self, pair: Pair) -> Pair:
        return pair_with_summary(pair)

    @property
    def report_words(self) -> ReportWords:
        return ReportWords("Summarizes", "summarize", "documents")

    @property
    def alarm_words(self) -> AlarmWords:
        return AlarmWords(
            "a model that knows only the frequency of each token",
            "ignores its documents: with other documents",
            "every summary belongs to its document",
            "the model",
        )

    def require_files(self, config: Config) -> None:
        if not config.data.train:
            raise ConfigError("nothing to train on: give files of documents with summaries, or set data.train")

    def plan_notes(self, config: Config, data: TranslationData) -> list[str]:
        return []

    def write_texts(self, run: Run, config: Config) -> None:
        prepare.write_texts(run, config, self.complete, one_reference=True)

    def suggest_settings(self, inputs: SizingInputs, config: Config) -> list[SuggestedSetting]:
        length = suggest_length(config)
        own = [] if length.name in explicit_settings(config) else [length]
        return [*own, *suggest_settings(inputs, config)]

    def tokenize(self, run: Run, config: Config) -> None:
        if run.tokens_manifest.exists():
            return
        tokenizers, notes = self._train_tokenizers(run, config)
        cutter = DocumentCutter(tokenizers, config.data.max_length - 1)
        sizes = (tokenizers.source.vocab_size, tokenizers.target.vocab_size)
        for name in read_texts_manifest(run).sets:
            counts = dict.fromkeys(store.SIDES, 0)
            store.write_rows(run.store, name, cutter.encode(run.store, name, counts), sizes)
            notes += _describe_cut(name, counts, config)
        train = store.open_rows(run.store, "train", sizes)
        run.write_json(run.labels, {"max_summary_tokens": _find_longest(train)})
        run.record_checksums(run.labels)
        write_opponents(run, self.predict_opponents)
        run.write_json(run.tokens_manifest, {"notes": notes})

    def _train_tokenizers(self, run: Run, config: Config) -> tuple[Tokenizers, list[str]]:
        sides = [Texts(run.store, f"train.{side}") for side in store.SIDES]

        def read(part: int) -> Iterator[str]:
            for texts in zip(*sides, strict=True):
                document = restore_document(Pair(*texts))
                yield from (document.references if part else document.sentences)

        return train_tokenizers(run, config, partial(read, 0), partial(read, 1), len(sides[0]))

    def build_predictor(self, model: EncoderDecoder, config: Config, data: TranslationData) -> Summarizer:
        return _make_summarizer(Translator(model, data.tokenizers), config, _find_longest(data.train))

    def load_predictor(self, folder: Path, device: str) -> Summarizer:
        translator = load(folder, device, task=self.name)
        run = open_run(folder)
        limits = run.read_json(run.verify(run.labels), SummaryLimits)
        return _make_summarizer(translator, run.load_config(), limits.max_summary_tokens)

    def build_validator(
        self, loss_module: LossModule, predictor: Summarizer, config: Config, data: TranslationData
    ) -> Validator:
        measure = SCORED_WITH_LOSS if config.train.metric == "loss" else config.train.metric
        greedy = replace(predictor, beam=1)
        dev_documents = config.train.validation_sentences
        return Validator(
            loss_module,
            lambda: (batch for _, batch in batches_by_length(data.dev, config.train.batch_tokens)),
            DevSummaries(greedy, data.dev, dev_documents, measure, languages_of(config), ", by greedy decoding"),
        )


def _make_summarizer(translator: Translator, config: Config, max_summary_tokens: int) -> Summarizer:
    c = config.summarize
    return Summarizer(translator, config.data.max_length - 1, max_summary_tokens, c.beam, c.length_penalty)


def _find_longest(train: Corpus) -> int:
    """The tokens of the longest training summary."""
    starts = train.target_ids.starts
    return int((starts[1:] - starts[:-1]).max())


def _describe_cut(name: str, counts: dict[str, int], config: Config) -> list[str]:
    parts = [
        f"{count:,} {noun}" for count, noun in zip(counts.values(), ("documents", "summaries"), strict=True) if count
    ]
    length = config.data.max_length
    return [f"{name}: {' and '.join(parts)} are longer than data.max_length={length}, and cut there"] if parts else []


TASK = SummarizeTask()
