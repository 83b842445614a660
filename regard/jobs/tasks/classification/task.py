"""Classification behind the protocol of a task."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regard.baselines import OpponentPredictions
from regard.baselines.scoring import label_scoring
from regard.config import Config
from regard.data.batch import Collator
from regard.data.store import Corpus, IdRow
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.errors import DataError
from regard.files import Finite
from regard.formats import Pair
from regard.formats.labeled import read_labeled_texts
from regard.jobs.tasks.classification import prepare
from regard.jobs.tasks.classification.evaluation import (
    ClassificationEvaluation,
    evaluate_classifier,
    predict_opponents,
)
from regard.jobs.tasks.classification.files import StoredLabels, read_classification, write_classification
from regard.jobs.tasks.classification.inputs import classifies_pairs
from regard.jobs.tasks.opponents import read_opponents, read_stored_pairs
from regard.jobs.tasks.single_text import SingleTextData, SingleTextTask
from regard.jobs.tasks.task_metric import LOSS, PredictionWords, ReportWords, TaskMetric
from regard.metrics.labels import score_parts
from regard.metrics.labels.calibration import fit_temperature, fit_thresholds
from regard.metrics.labels.statistics import CountedScore
from regard.run import Run
from regard.tasks.classify.classifier import Classifier
from regard.tasks.classify.collator import ClassifyCollator
from regard.tasks.classify.examples import input_of, restore_example, restore_labels, store_example
from regard.tasks.classify.labels import LabelSet
from regard.tasks.classify.loss import ClassificationLoss, make_label_loss
from regard.tasks.loss import LossModule
from regard.tasks.text_forward import TextModel, encode_inputs
from regard.training.planning.single_stack_sizing import CLASSIFY_SIZING, suggest_single_stack
from regard.training.planning.sizing import SizingInputs, SuggestedSetting
from regard.training.validate import NUM_SAMPLES, DevPredictions, DevPredictor, PredictedSample

if TYPE_CHECKING:
    from regard.inspection.text_readers import TextReader
    from regard.jobs.tasks.comparison import TaskComparison
    from regard.jobs.tasks.reporting.example_section import ExampleSection
    from regard.report import Table


METRICS = {
    "accuracy": TaskMetric("accuracy", digits=1, checkpoint_metric="accuracy", substitutes=("f1",)),
    "macro_f1": TaskMetric("macro-F1", digits=1, checkpoint_metric="macro_f1", substitutes=("f1",)),
    "loss": LOSS,
}
"""Where texts may have several labels, F1 stands in for accuracy and macro-F1."""


@dataclass(frozen=True)
class Calibration:
    """calibration.json: what was fitted on dev."""

    temperature: Finite = 1.0
    thresholds: Mapping[str, Finite] = field(default_factory=dict)
    """Of each label, where a text may have several."""


@dataclass(frozen=True)
class DevLabels:
    """Predictions for all dev texts, scored by one of the measures of labels."""

    classifier: Classifier
    dev: Corpus
    measure: str

    def __call__(self) -> DevPredictions:
        examples = [restore_example(pair) for pair in self.dev.pairs()]
        predicted = [one.labels for one in self.classifier.classify([input_of(example) for example in examples])]
        scores = label_scoring([example.labels for example in examples], [predicted]).score(predicted).scores
        measure = self.measure if self.measure in scores else next(iter(scores))
        shown = zip(examples[:NUM_SAMPLES], predicted, strict=False)
        samples = [
            PredictedSample.of(
                " · ".join(filter(None, (one.text, one.text_pair))), ", ".join(labels), ", ".join(one.labels)
            )
            for one, labels in shown
        ]
        return DevPredictions(scores[measure], None, len(examples), samples)


@dataclass(frozen=True)
class ClassifyTask(SingleTextTask):
    """A text, or a pair of texts -> a label, or several, by a model of any architecture."""

    name: str = "classify"
    example: str = "text"
    unit: str = "text"
    target: str = "class"
    main_score: str = "accuracy"
    test_file: str = "test.csv"
    data_settings: tuple[str, ...] = ("classify.text", "classify.text_pair", "classify.label")

    @property
    def inspector(self) -> str:
        return "regard.jobs.look.decisions"

    @property
    def prediction_words(self) -> PredictionWords:
        return PredictionWords("classify", "classification", "text")

    @property
    def report_words(self) -> ReportWords:
        return ReportWords("Classifies texts", "classify texts", "texts")

    @property
    def metrics(self) -> Mapping[str, TaskMetric]:
        return METRICS

    def write_texts(self, run: Run, config: Config) -> None:
        prepare.write_texts(run, config)

    def learn_labels(self, targets: Iterable[str]) -> LabelSet:
        return LabelSet.of(map(restore_labels, targets))

    def read_labels(self, run: Run) -> LabelSet:
        run.verify(run.labels)
        return run.read_json(run.labels, LabelSet)

    def encode(
        self, pairs: Sequence[Pair], tokenizer: TextTokenizer, labels: LabelSet, config: Config
    ) -> Iterator[IdRow]:
        examples = [restore_example(pair) for pair in pairs]
        rows = encode_inputs(tokenizer, [input_of(example) for example in examples], config.data.max_length)
        yield from zip(rows, (labels.encode(example.labels) for example in examples), strict=True)

    def count_outputs(self, tokenizer: TextTokenizer, labels: LabelSet) -> int:
        return len(labels.labels)

    def pooling(self, config: Config) -> str:
        default = "mean" if config.model.architecture == "encoder" else "last"
        return default if config.classify.pooling == "auto" else config.classify.pooling

    def suggest_settings(self, inputs: SizingInputs, config: Config) -> list[SuggestedSetting]:
        return suggest_single_stack(inputs, config, CLASSIFY_SIZING)

    def build_collator(self, config: Config, data: SingleTextData, training: bool) -> Collator:
        return ClassifyCollator(
            data.tokenizer,
            data.labels,
            token_types=config.model.token_types > 1,
            subword_regularization=config.data.subword_regularization if training else 0.0,
            max_length=config.data.max_length,
        )

    def build_loss(self, model: TextModel, config: Config, data: SingleTextData, padding_free: bool) -> LossModule:
        loss = make_label_loss(model.output, data.labels, config.train.label_smoothing, config.classify.class_weights)
        return ClassificationLoss(model, loss, padding_free)

    def baseline_loss(self, config: Config, data: SingleTextData) -> float:
        return float(data.labels.entropy)

    def make_predictor(
        self, model: TextModel, tokenizer: TextTokenizer, labels: LabelSet, config: Config
    ) -> Classifier:
        return Classifier(model, tokenizer, labels, config.data.max_length)

    def finish_predictor(self, predictor: Classifier, run: Run) -> Classifier:
        if not run.has_checksum(run.calibration):
            return predictor
        calibration = run.read_json(run.verify(run.calibration), Calibration)
        return Classifier(
            predictor.model,
            predictor.tokenizer,
            predictor.labels,
            predictor.max_length,
            calibration.temperature,
            calibration.thresholds,
        )

    def build_dev_predictor(self, predictor: Classifier, config: Config, data: SingleTextData) -> DevPredictor:
        measure = "accuracy" if config.train.metric == "loss" else config.train.metric
        return DevLabels(predictor, data.dev, measure)

    def calibrate(self, run: Run, predictor: Classifier, data: SingleTextData) -> None:
        examples = [restore_example(pair) for pair in data.dev.pairs()]
        log_probs = predictor.log_probs([input_of(example) for example in examples]).numpy()
        labels = predictor.labels
        if labels.multi_label:
            gold = [[name in example.labels for name in labels.labels] for example in examples]
            thresholds = fit_thresholds(np.exp(log_probs), gold)
            table: dict[str, object] = {"thresholds": dict(zip(labels.labels, thresholds.tolist(), strict=True))}
        else:
            numbers = [labels.encode(example.labels)[0] for example in examples]
            table = {"temperature": fit_temperature(log_probs, numbers)}
        run.write_json(run.calibration, table)
        run.record_checksums(run.calibration)

    def make_reader(self, run: Run, predictor: Classifier) -> "TextReader":
        from regard.inspection.text_readers import TextPair, WholeText  # with all that inspects

        return (TextPair if classifies_pairs(run) else WholeText)(predictor.tokenizer)

    def list_dev_texts(self, run: Run) -> Iterable[str]:
        """Two texts with a tab between them, where the run classifies pairs."""
        examples = map(restore_example, read_stored_pairs(run, "dev"))
        return (one.text if one.text_pair is None else f"{one.text}\t{one.text_pair}" for one in examples)

    def predict_opponents(
        self, training: Sequence[Pair], dev: Sequence[Pair], pairs: Sequence[Pair]
    ) -> OpponentPredictions:
        return predict_opponents(*([restore_example(pair) for pair in part] for part in (training, dev, pairs)))

    def evaluate(
        self, run: Run, predictor: Classifier, pairs: Sequence[Pair], set_name: str = ""
    ) -> ClassificationEvaluation:
        opponents = read_opponents(run, set_name) if set_name else None
        return evaluate_classifier(predictor, [restore_example(pair) for pair in pairs], opponents)

    def read_examples(self, files: Sequence[str], config: Config) -> Iterator[Pair]:
        return map(store_example, read_labeled_texts(files, prepare.column_names(config)))

    def describe_failure(self, evaluation: ClassificationEvaluation) -> str:
        return evaluation.describe_failure()

    def count_stored(self, run: Run, set_name: str, metric: str) -> CountedScore | None:
        stored = self._read_stored(run, set_name)
        return stored.count(metric) if stored else None

    def show_examples(self, runs: Mapping[str, Run], set_name: str) -> "ExampleSection | None":
        from regard.jobs.tasks.reporting.part_scores import show_part_scores  # draws

        stored = {name: self._read_stored(run, set_name) for name, run in runs.items()}
        parts = {name: score_parts(one.gold, one.predicted) for name, one in stored.items() if one}
        if not parts:
            return None
        several = any(self.read_labels(run).multi_label for run in runs.values())
        return show_part_scores(parts, *(("label", "labels") if several else ("class", "classes")), set_name)

    def compare(
        self, systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
    ) -> "TaskComparison":
        from regard.jobs.tasks.classification.comparison import compare_classifiers  # draws

        return compare_classifiers(systems, files, config, device)

    def _read_stored(self, run: Run, set_name: str) -> StoredLabels | None:
        return read_classification(run, set_name, self.read_labels(run).multi_label)

    def evaluate_new(self, run: Run, predictor: Classifier, pairs: Sequence[Pair]) -> ClassificationEvaluation:
        examples = [restore_example(pair) for pair in pairs]
        for example in examples:
            if len(example.labels) != 1 and not predictor.labels.multi_label:
                raise DataError(
                    f"{example.location}: has {len(example.labels)} labels; expected one, as of the texts that the run "
                    f"was trained on"
                )
        training, dev = (read_stored_pairs(run, name) for name in ("train", "dev"))
        opponents = self.predict_opponents(training, dev, pairs)
        return evaluate_classifier(predictor, examples, opponents)

    def tabulate_mistakes(self, evaluation: ClassificationEvaluation) -> "Table":
        from regard.jobs.tasks.classification.report import tabulate_mistakes  # draws

        return tabulate_mistakes(evaluation)

    def write_scores(
        self, run: Run, name: str, evaluation: ClassificationEvaluation, files: Sequence[str] = ()
    ) -> None:
        write_classification(run, name, evaluation, files)

    def write_report(
        self, run: Run, predictor: Classifier, evaluation: ClassificationEvaluation, set_name: str, epochs: float
    ) -> None:
        from regard.jobs.tasks.classification.report import write_report  # draws

        write_report(run, evaluation, set_name, epochs)


TASK = ClassifyTask()
