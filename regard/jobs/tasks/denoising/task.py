"""Denoising behind the protocol of a task."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from regard.config import Config
from regard.data import store
from regard.data.batch import Batches
from regard.data.documents.passages import cut_passages
from regard.data.store import Corpus, IdRow, Texts
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN, SentencePieceText
from regard.data.tokenizers.tokenizer import PAD
from regard.errors import DataError
from regard.files import Finite
from regard.formats import Pair
from regard.formats.document_texts import read_documents
from regard.jobs.run_kind import use_command
from regard.jobs.tasks.denoising.evaluation import (
    DenoisingEvaluation,
    evaluate_denoiser,
    score_restored,
    show_masks,
    smooth_counts,
)
from regard.jobs.tasks.denoising.files import count_stored_passages, write_denoising_scores
from regard.jobs.tasks.denoising.languages import MarkedLanguages, name_codes
from regard.jobs.tasks.language.documents import write_documents
from regard.jobs.tasks.language.task import LanguageData, LanguageTask
from regard.jobs.tasks.single_text import SingleTextData
from regard.jobs.tasks.task_metric import LOSS, TOKENIZATION_SETTINGS, PredictionWords, ReportWords, TaskMetric
from regard.metrics.labels.statistics import CountedScore
from regard.model.build import build
from regard.model.transformer import EncoderDecoder
from regard.progress import track
from regard.run import Run
from regard.tasks.denoise.denoiser import Denoiser
from regard.tasks.denoise.noise import (
    DenoisingCollator,
    FixedDenoisingCollator,
    count_targets,
    find_token,
    make_target,
    mark_of,
    sentinel_of,
)
from regard.tasks.denoise.spans import SPAN_SCHEMES
from regard.tasks.loss import LossModule
from regard.tasks.translate.loss import TranslationLoss
from regard.training.planning.cost import MeanLengths
from regard.training.planning.sizing import SizingInputs, SuggestedSetting, suggest_settings
from regard.training.validate import NUM_SAMPLES, DevPredictions, DevPredictor, PredictedSample

if TYPE_CHECKING:
    from regard.jobs.tasks.comparison import TaskComparison
    from regard.jobs.tasks.reporting.example_section import ExampleSection
    from regard.report import Table

AnyCollator = TypeVar("AnyCollator", bound=DenoisingCollator)
MAX_SENTINELS = 100
NOISE_SETTINGS = ("denoise.scheme", "denoise.mask_rate", "denoise.mean_span", "denoise.target", "data.max_length")
TARGETS = (*TOKENIZATION_SETTINGS, *NOISE_SETTINGS)
"""What decides which tokens of dev are targets."""
METRICS = {
    "loss": replace(LOSS, bound_to=TARGETS),
    "restored": TaskMetric("hidden tokens restored", digits=1, bound_to=TARGETS),
}


@dataclass(frozen=True)
class TargetCounts:
    """store/opponents.json: how often each token is a target in training."""

    target_counts: tuple[Finite, ...]


@dataclass(frozen=True)
class DenoisingData(LanguageData):
    """Passages, and how long they are with noise."""

    lengths: MeanLengths


@dataclass(frozen=True)
class RestoredDev:
    """What the decoder writes for the first dev passages."""

    denoiser: Denoiser
    collator: FixedDenoisingCollator
    dev: Corpus
    passages: int

    def __call__(self) -> DevPredictions:
        rows = [self.dev.source_ids[i].tolist() for i in range(min(self.passages, len(self.dev)))]
        texts = [self.collator.corrupt(row) for row in rows]
        if not any(any(text.is_hidden) for text in texts):
            return DevPredictions()
        outputs = self.denoiser.generate([text.source for text in texts])
        num_sources = len({tuple(text.source) for text in texts})
        distinct_ratio = len(set(map(tuple, outputs))) / num_sources if num_sources > 4 else None
        decode, join = self.denoiser.tokenizer.decode, self.denoiser.target.join
        samples = [
            PredictedSample.of(show_masks(self.denoiser, text.source), decode(join(text.source, output)), decode(row))
            for text, output, row in zip(texts[:NUM_SAMPLES], outputs, rows, strict=False)
        ]
        return DevPredictions(score_restored(texts, outputs), distinct_ratio, len(texts), samples)


@dataclass(frozen=True)
class DenoiseTask(LanguageTask):
    """A text of which spans are hidden -> the text, or these spans, by an encoder-decoder."""

    name: str = "denoise"
    example: str = "passage"
    unit: str = "target token"
    target: str = "token"
    main_score: str = "restored"
    test_file: str = "text.fr"
    data_settings: tuple[str, ...] = ("denoise.documents",)

    @property
    def prediction_words(self) -> PredictionWords:
        return PredictionWords("restore", "restoration", "passage", "greedy decoding", "restored texts")

    @property
    def report_words(self) -> ReportWords:
        return ReportWords("Restores texts", "restore texts", "passages")

    @property
    def metrics(self) -> Mapping[str, TaskMetric]:
        return METRICS

    def separator(self, config: Config) -> str:
        return config.denoise.documents

    def target_share(self, config: Config) -> float:
        """Of the spans alone, with a sentinel for each."""
        c = config.denoise
        return 1.0 if c.target == "text" else min(1.0, c.rate * (1 + 1 / c.mean_span))

    def write_texts(self, run: Run, config: Config) -> None:
        """The target of a stored text is the code of its language, if there are several."""
        write_documents(run, config, self.separator(config), MarkedLanguages.of(config).find)

    def control_symbols(self, run: Run, config: Config) -> tuple[str, ...]:
        """The mask, the marks of the languages, and sentinels for twice as many spans as the longest text has."""
        c = config.denoise
        marks = map(mark_of, name_codes(Texts(run.store, "train.target")))
        if c.target == "text":
            return (MASK_TOKEN, *marks)
        num_sentinels = min(MAX_SENTINELS, math.ceil(2 * c.rate * config.data.max_length / c.mean_span) + 1)
        return (MASK_TOKEN, *marks, *map(sentinel_of, range(num_sentinels)))

    def suggest_settings(self, inputs: SizingInputs, config: Config) -> list[SuggestedSetting]:
        return suggest_settings(inputs, config)

    def store_rows(self, run: Run, name: str, tokenizer: SentencePieceText, labels: Any, config: Config) -> None:
        """Documents are stored once more as passages, which the model reads as a whole."""
        documents, languages = (Texts(run.store, f"{name}.{side}") for side in ("source", "target"))
        cut = partial(_cut, tokenizer=tokenizer, config=config)
        pairs = map(Pair, documents, languages)
        passages = (
            passage for pair in track(pairs, f"cutting {name} into passages", len(documents)) for passage in cut(pair)
        )
        store.write_texts(run.store, _passages_of(name), passages)
        super().store_rows(run, _passages_of(name), tokenizer, labels, config)

    def open_rows(self, run: Run, name: str, tokenizer: SentencePieceText, labels: Any) -> Corpus:
        return super().open_rows(run, _passages_of(name), tokenizer, labels)

    def encode(
        self, pairs: Sequence[Pair], tokenizer: SentencePieceText, labels: Any, config: Config
    ) -> Iterator[IdRow]:
        """A passage is its own target; both begin with the mark of their language."""
        for pair, ids in zip(pairs, tokenizer.tokenizer.encode([pair.source for pair in pairs]), strict=True):
            row = [*_find_mark(pair.target, tokenizer), *ids][: config.data.max_length - 1]
            yield row, row

    def store_opponents(self, run: Run, tokenizer: SentencePieceText) -> None:
        train = self.open_rows(run, "train", tokenizer, None)
        texts = _make_collator(FixedDenoisingCollator, tokenizer, run.load_config()).sample(train)
        run.write_json(run.opponents, {"target_counts": count_targets(texts, tokenizer.vocab_size).tolist()})

    def open_data(self, run: Run, config: Config) -> DenoisingData:
        data = super().open_data(run, config)
        texts = _make_collator(FixedDenoisingCollator, data.tokenizer, config).sample(data.train)
        sides = ([len(getattr(text, side)) + 1 for text in texts] for side in ("source", "target"))  # EOS included
        return DenoisingData(**vars(data), lengths=MeanLengths(*(sum(side) / len(side) for side in sides)))

    def mean_lengths(self, data: DenoisingData) -> MeanLengths:
        return data.lengths

    def new_model(self, config: Config, tokenizer: SentencePieceText, labels: Any) -> EncoderDecoder:
        torch.manual_seed(config.train.seed)
        return build(config.model, tokenizer.vocab_size, tokenizer.vocab_size, joint=True, pad=PAD)

    def build_collator(self, config: Config, data: SingleTextData, training: bool) -> DenoisingCollator:
        return _make_collator(DenoisingCollator if training else FixedDenoisingCollator, data.tokenizer, config)

    def build_batches(self, config: Config, data: SingleTextData) -> Batches:
        collator, c = self.build_collator(config, data, training=True), config.train
        return Batches(data.train, collator, c.batch_tokens, config.data.max_length, c.seed)

    def build_loss(self, model: EncoderDecoder, config: Config, data: SingleTextData, padding_free: bool) -> LossModule:
        return TranslationLoss(model, config.train.label_smoothing, padding_free)

    def baseline_loss(self, config: Config, data: SingleTextData) -> float:
        collator = _make_collator(FixedDenoisingCollator, data.tokenizer, config)
        train, dev = (count_targets(collator.sample(side), data.vocab_size) for side in (data.train, data.dev))
        return float(-(dev * smooth_counts(train)).sum() / dev.sum())

    def make_predictor(
        self, model: EncoderDecoder, tokenizer: SentencePieceText, labels: Any, config: Config
    ) -> Denoiser:
        return Denoiser(model, tokenizer, make_target(config.denoise.target, tokenizer), config.data.max_length)

    def build_dev_predictor(self, predictor: Denoiser, config: Config, data: SingleTextData) -> DevPredictor:
        collator = _make_collator(FixedDenoisingCollator, data.tokenizer, config)
        return RestoredDev(predictor, collator, data.dev, config.train.validation_sentences)

    def describe_data(self, config: Config) -> str:
        codes = MarkedLanguages.of(config).codes
        target = "text" if config.denoise.target == "text" else "hidden spans"
        return " ".join(["text with masks →", target, *([f"({', '.join(codes)})"] if codes else [])])

    @property
    def file_example(self) -> str:
        return "document"

    def next_commands(self, folder: str) -> list[str]:
        return [use_command(self.name, folder)]

    def list_dev_texts(self, run: Run) -> Iterable[str]:
        return Texts(run.store, f"{_passages_of('dev')}.source")

    def plan_notes(self, config: Config, data: SingleTextData) -> list[str]:
        c = config.denoise
        share = f"{100 * c.rate:g} % of the {'words' if c.scheme == 'bart' else 'tokens'}"
        noise = f"noise: {share}, in spans of {c.mean_span:g} on average ({c.scheme}); target: {c.target}"
        return [noise, "next: regard train SOURCE TARGET --from this run learns to translate from these weights"]

    def evaluate(self, run: Run, predictor: Denoiser, pairs: Sequence[Pair], set_name: str = "") -> DenoisingEvaluation:
        config, tokenizer = run.load_config(), predictor.tokenizer
        rows = [row for row, _ in self.encode(pairs, tokenizer, None, config)]
        counts = run.read_json(run.opponents, TargetCounts).target_counts if set_name else None
        collator = _make_collator(FixedDenoisingCollator, tokenizer, config)
        return evaluate_denoiser(
            predictor, collator, rows, describe_noise(config, tokenizer), None if counts is None else np.array(counts)
        )

    def read_examples(self, files: Sequence[str], config: Config) -> Iterator[Pair]:
        languages = MarkedLanguages.of(config)
        for document in read_documents(files, self.separator(config), config.data.max_line_bytes):
            yield Pair(document.text, languages.find(document), document.location)

    def evaluate_new(self, run: Run, predictor: Denoiser, pairs: Sequence[Pair]) -> DenoisingEvaluation:
        """The opponent of frequencies was counted on the training set."""
        config = run.load_config()
        passages = [passage for pair in pairs for passage in _cut(pair, predictor.tokenizer, config)]
        return self.evaluate(run, predictor, passages, "new" if run.opponents.exists() else "")

    def count_stored(self, run: Run, set_name: str, metric: str) -> CountedScore | None:
        return count_stored_passages(run, set_name, metric)

    def show_examples(self, runs: Mapping[str, Run], set_name: str) -> "ExampleSection | None":
        from regard.jobs.tasks.language.report import show_distributions  # draws

        return show_distributions(self, runs, set_name)

    def tabulate_mistakes(self, evaluation: DenoisingEvaluation) -> "Table":
        from regard.jobs.tasks.denoising.report import tabulate_passages  # draws

        return tabulate_passages(evaluation)

    def compare(
        self, systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
    ) -> "TaskComparison":
        from regard.jobs.tasks.denoising.comparison import compare_denoisers  # draws

        return compare_denoisers(systems, list(self.read_examples(files, config)), files, device, self.evaluate_new)

    def write_scores(self, run: Run, name: str, evaluation: DenoisingEvaluation, files: Sequence[str] = ()) -> None:
        write_denoising_scores(run, name, evaluation, files)

    def write_report(
        self, run: Run, predictor: Denoiser, evaluation: DenoisingEvaluation, set_name: str, epochs: float
    ) -> None:
        from regard.jobs.tasks.denoising.report import write_denoising_report  # draws

        write_denoising_report(run, evaluation, set_name, epochs)


def describe_noise(config: Config, tokenizer: SentencePieceText) -> str:
    """The noise of dev sets, for signatures: what two scores must share to be compared."""
    c = config.denoise
    noise = f"scheme:{c.scheme}|rate:{c.rate:g}|mean-span:{c.mean_span:g}|target:{c.target}"
    return f"{noise}|spans:by-text|vocabulary:{tokenizer.vocab_size}"


def _cut(pair: Pair, tokenizer: SentencePieceText, config: Config) -> list[Pair]:
    """The passages of a document, in which there is room for the mark of its language."""
    passages = cut_passages(pair.source, tokenizer, config.data.max_length - 1, pair.target)
    return [Pair(passage, pair.target) for passage in passages]


def _find_mark(language: str, tokenizer: SentencePieceText) -> list[int]:
    if not language:
        return []
    mark = find_token(tokenizer, mark_of(language))
    if mark is None:
        raise DataError(
            f"the vocabulary has no mark {mark_of(language)} of the language {language}; leave out --from, so that a "
            f"tokenizer is trained with it, or train on one language"
        )
    return [mark]


def _passages_of(name: str) -> str:
    return f"{name}.passages"


def _make_collator(kind: type[AnyCollator], tokenizer: SentencePieceText, config: Config) -> AnyCollator:
    c = config.denoise
    return kind(tokenizer, SPAN_SCHEMES[c.scheme](c.rate, c.mean_span), make_target(c.target, tokenizer))


TASK = DenoiseTask()
