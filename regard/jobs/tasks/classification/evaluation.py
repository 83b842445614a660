"""The scores of a classifier on labeled texts, beside those of cheap opponents."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.baselines import LABEL_OPPONENTS, OpponentPredictions, OpponentResult, compare_labels, predict_by_opponents
from regard.baselines.scoring import label_scoring
from regard.formats.labeled import LabeledText
from regard.metrics import Score
from regard.metrics.labels import Confusion, PartScores, score_parts
from regard.metrics.labels.calibration import (
    ReliabilityBin,
    expected_calibration_error,
    reliability_curve,
    scale_logits,
)
from regard.tasks.classify.classifier import Classification, Classifier
from regard.tasks.classify.examples import input_of


@dataclass(frozen=True)
class ClassifiedText:
    """A text, its labels, and what was predicted."""

    example: LabeledText
    prediction: Classification

    @property
    def is_correct(self) -> bool:
        return set(self.prediction.labels) == set(self.example.labels)


@dataclass(frozen=True)
class ClassificationEvaluation:
    """The scores of a classifier on a set of texts."""

    scores: dict[str, Score]
    loss: float | None
    """Nats per text, without the temperature: on dev, where it is fitted, it would flatter one model more than another.

    None where a text has a label that the classifier does not know.
    """
    texts: tuple[ClassifiedText, ...]
    confusion: Confusion | None
    """Where every text has one label."""
    reliability: tuple[ReliabilityBin, ...]
    opponents: tuple[OpponentResult, ...] = ()

    def score_labels(self) -> tuple[PartScores, ...]:
        """Precision, recall and F1 of every label."""
        return score_parts([one.example.labels for one in self.texts], [one.prediction.labels for one in self.texts])

    def describe_failure(self) -> str:
        """Why the classifier does not work: it is no better than the most frequent label; empty if it does."""
        majority = next((one for one in self.opponents if one.scores), None)
        names = [name for name in ("accuracy", "macro_f1", "f1") if name in self.scores]
        if majority is None or any(self.scores[name].is_better_than(majority.scores[name]) for name in names):
            return ""
        score, chance = self.scores[names[0]], majority.scores[names[0]]
        return (
            f"its {score.name} of {score.value:.1f} is no better than the {chance.value:.1f} of the most frequent label"
        )


def evaluate_classifier(
    classifier: Classifier, examples: Sequence[LabeledText], opponents: OpponentPredictions | None = None
) -> ClassificationEvaluation:
    """Classify texts, and score the predictions; with opponents, also theirs, and paired tests."""
    log_probs = classifier.log_probs([input_of(example) for example in examples])
    predictions = [classifier.decide(row) for row in log_probs.exp().tolist()]
    gold, predicted = [example.labels for example in examples], [one.labels for one in predictions]
    scored = label_scoring(gold, [predicted]).score(predicted)
    texts = tuple(map(ClassifiedText, examples, predictions))
    confidences = [one.probability for one in predictions]
    correct = [text.is_correct for text in texts]
    scores = {**scored.scores, "ece": expected_calibration_error(confidences, correct)}
    return ClassificationEvaluation(
        scores,
        _mean_loss(log_probs.numpy(), gold, classifier),
        texts,
        scored.confusion,
        reliability_curve(confidences, correct),
        tuple(compare_labels(gold, predicted, opponents)) if opponents else (),
    )


def predict_opponents(
    training: Sequence[LabeledText], dev: Sequence[LabeledText], examples: Sequence[LabeledText]
) -> OpponentPredictions:
    """What cheap opponents predict that were fitted on training texts, and chosen on dev."""
    return predict_by_opponents(LABEL_OPPONENTS, training, dev, examples)


def _mean_loss(log_probs: np.ndarray, gold: Sequence[Sequence[str]], classifier: Classifier) -> float | None:
    labels = classifier.labels
    if any(label not in labels.labels for names in gold for label in names):
        return None
    if labels.multi_label:
        chosen = np.asarray([[name in names for name in labels.labels] for names in gold])
        no = np.log1p(-np.exp(np.minimum(log_probs, -1e-7)))
        return float(-np.where(chosen, log_probs, no).sum(axis=1).mean())
    unscaled = scale_logits(log_probs, 1 / classifier.temperature)
    return float(-unscaled[np.arange(len(gold)), [labels.labels.index(names[0]) for names in gold]].mean())
