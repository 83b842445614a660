"""Tagging behind the protocol of a task."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regard.baselines import OpponentPredictions
from regard.config import Config
from regard.data.batch import Collator
from regard.data.store import Corpus, IdRow
from regard.data.tag_schemes import detect_scheme
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.formats import Pair
from regard.formats.labeled import read_tagged_sentences
from regard.jobs.tasks.opponents import read_opponents, read_stored_pairs
from regard.jobs.tasks.single_text import SingleTextData, SingleTextTask
from regard.jobs.tasks.tagging import prepare
from regard.jobs.tasks.tagging.evaluation import (
    TaggingEvaluation,
    evaluate_tagger,
    predict_opponents,
    score_tags,
    score_types,
    unify_tags,
)
from regard.jobs.tasks.tagging.files import read_tagging, write_tagging
from regard.jobs.tasks.task_metric import LOSS, PredictionWords, ReportWords, TaskMetric
from regard.metrics.labels.statistics import CountedScore
from regard.run import Run
from regard.tasks.loss import LossModule
from regard.tasks.tag.collator import TagCollator
from regard.tasks.tag.examples import restore_sentence, restore_tags, store_sentence
from regard.tasks.tag.loss import TaggingLoss
from regard.tasks.tag.tagger import Tagger
from regard.tasks.tag.tags import TagSet
from regard.tasks.text_forward import TextModel
from regard.training.planning.single_stack_sizing import TAG_SIZING, suggest_single_stack
from regard.training.planning.sizing import SizingInputs, SuggestedSetting
from regard.training.validate import NUM_SAMPLES, DevPredictions, DevPredictor, PredictedSample

if TYPE_CHECKING:
    from regard.inspection.text_readers import TextReader
    from regard.jobs.tasks.comparison import TaskComparison
    from regard.jobs.tasks.reporting.example_section import ExampleSection
    from regard.report import Table


METRICS = {
    "f1": TaskMetric("F1", digits=1, checkpoint_metric="f1", substitutes=("accuracy",)),
    "loss": replace(LOSS, bound_to=("data.max_length",)),  # words beyond the maximum length have no loss
}
"""Where tags mark no spans, the accuracy over words stands in for F1."""


@dataclass(frozen=True)
class DevTags:
    """Predictions for all dev sentences, scored by F1, or by accuracy where tags are plain."""

    tagger: Tagger
    dev: Corpus

    def __call__(self) -> DevPredictions:
        sentences = [restore_sentence(pair) for pair in self.dev.pairs()]
        gold = [sentence.tags for sentence in sentences]
        predicted = [tuple(tags) for tags in self.tagger.tag([sentence.words for sentence in sentences])]
        scores = score_tags(unify_tags(gold, detect_scheme(gold)), predicted)
        shown = zip(sentences[:NUM_SAMPLES], predicted, strict=False)
        samples = [
            PredictedSample.of(" ".join(one.words), _join_tags(one.words, tags), _join_tags(one.words, one.tags))
            for one, tags in shown
        ]
        return DevPredictions(next(iter(scores.values())), None, len(sentences), samples)


def _join_tags(words: Sequence[str], tags: Sequence[str]) -> str:
    """The words that have a tag, with it: Paris/B-LOC."""
    return " ".join(f"{word}/{tag}" for word, tag in zip(words, tags, strict=False) if tag != "O") or "no tag"


@dataclass(frozen=True)
class TagTask(SingleTextTask):
    """The words of a sentence -> a tag for each, by a model of any architecture."""

    name: str = "tag"
    example: str = "sentence"
    unit: str = "word"
    target: str = "tag"
    main_score: str = "f1"
    test_file: str = "test.conll"
    data_settings: tuple[str, ...] = ()

    @property
    def prediction_words(self) -> PredictionWords:
        return PredictionWords("tag", "tagging", "sentence")

    @property
    def report_words(self) -> ReportWords:
        return ReportWords("Tags words", "tag words", "sentences")

    @property
    def metrics(self) -> Mapping[str, TaskMetric]:
        return METRICS

    def write_texts(self, run: Run, config: Config) -> None:
        prepare.write_texts(run, config)

    def learn_labels(self, targets: Iterable[str]) -> TagSet:
        return TagSet.of(map(restore_tags, targets))

    def read_labels(self, run: Run) -> TagSet:
        run.verify(run.labels)
        return run.read_json(run.labels, TagSet)

    def encode(
        self, pairs: Sequence[Pair], tokenizer: TextTokenizer, labels: TagSet, config: Config
    ) -> Iterator[IdRow]:
        """Words beyond the maximum length are no targets."""
        sentences = [restore_sentence(pair) for pair in pairs]
        rows = tokenizer.encode_words([sentence.words for sentence in sentences], config.data.max_length)
        for encoded, sentence in zip(rows, sentences, strict=True):
            yield encoded.ids, labels.make_targets(encoded, sentence.tags)

    def count_outputs(self, tokenizer: TextTokenizer, labels: TagSet) -> int:
        return len(labels.tags)

    def pooling(self, config: Config) -> None:
        return None

    def targets_per_text(self, data: SingleTextData) -> float:
        return int(np.count_nonzero(data.train.target_ids.values)) / len(data.train)

    def suggest_settings(self, inputs: SizingInputs, config: Config) -> list[SuggestedSetting]:
        return suggest_single_stack(inputs, config, TAG_SIZING)

    def build_collator(self, config: Config, data: SingleTextData, training: bool) -> Collator:
        return TagCollator(data.tokenizer)

    def build_loss(self, model: TextModel, config: Config, data: SingleTextData, padding_free: bool) -> LossModule:
        return TaggingLoss(model, config.train.label_smoothing, padding_free)

    def baseline_loss(self, config: Config, data: SingleTextData) -> float:
        return float(data.labels.entropy)

    def make_predictor(self, model: TextModel, tokenizer: TextTokenizer, labels: TagSet, config: Config) -> Tagger:
        return Tagger(model, tokenizer, labels, config.data.max_length)

    def build_dev_predictor(self, predictor: Tagger, config: Config, data: SingleTextData) -> DevPredictor:
        return DevTags(predictor, data.dev)

    def make_reader(self, run: Run, predictor: Tagger) -> "TextReader":
        from regard.inspection.text_readers import SeparateWords  # with all that inspects

        return SeparateWords(predictor.tokenizer)

    def list_dev_texts(self, run: Run) -> Iterable[str]:
        return (" ".join(restore_sentence(pair).words) for pair in read_stored_pairs(run, "dev"))

    def predict_opponents(
        self, training: Sequence[Pair], dev: Sequence[Pair], pairs: Sequence[Pair]
    ) -> OpponentPredictions:
        return predict_opponents(*([restore_sentence(pair) for pair in part] for part in (training, dev, pairs)))

    def evaluate(self, run: Run, predictor: Tagger, pairs: Sequence[Pair], set_name: str = "") -> TaggingEvaluation:
        opponents = read_opponents(run, set_name) if set_name else None
        return evaluate_tagger(predictor, [restore_sentence(pair) for pair in pairs], opponents)

    def read_examples(self, files: Sequence[str], config: Config) -> Iterator[Pair]:
        return map(store_sentence, read_tagged_sentences(files))

    def describe_failure(self, evaluation: TaggingEvaluation) -> str:
        return evaluation.describe_failure()

    def count_stored(self, run: Run, set_name: str, metric: str) -> CountedScore | None:
        stored = read_tagging(run, set_name)
        return stored.count(metric) if stored else None

    def show_examples(self, runs: Mapping[str, Run], set_name: str) -> "ExampleSection | None":
        from regard.jobs.tasks.reporting.part_scores import show_part_scores  # draws

        stored = {name: one for name, run in runs.items() if (one := read_tagging(run, set_name))}
        scores = {name: score_types(one.gold, one.predicted, detect_scheme(one.gold)) for name, one in stored.items()}
        return show_part_scores(scores, "type", "types", set_name) if scores else None

    def compare(
        self, systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
    ) -> "TaskComparison":
        from regard.jobs.tasks.tagging.comparison import compare_taggers  # draws

        return compare_taggers(systems, files, device)

    def evaluate_new(self, run: Run, predictor: Tagger, pairs: Sequence[Pair]) -> TaggingEvaluation:
        training, dev = (read_stored_pairs(run, name) for name in ("train", "dev"))
        opponents = self.predict_opponents(training, dev, pairs)
        return evaluate_tagger(predictor, [restore_sentence(pair) for pair in pairs], opponents)

    def tabulate_mistakes(self, evaluation: TaggingEvaluation) -> "Table":
        from regard.jobs.tasks.tagging.report import tabulate_errors  # draws

        return tabulate_errors(evaluation)

    def write_scores(self, run: Run, name: str, evaluation: TaggingEvaluation, files: Sequence[str] = ()) -> None:
        write_tagging(run, name, evaluation, files)

    def write_report(
        self, run: Run, predictor: Tagger, evaluation: TaggingEvaluation, set_name: str, epochs: float
    ) -> None:
        from regard.jobs.tasks.tagging.report import write_report  # draws

        write_report(run, evaluation, set_name, epochs)


TASK = TagTask()
