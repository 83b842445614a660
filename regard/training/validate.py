"""Validation on the dev set: loss and accuracy, the score of predictions, and two signs of collapse."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch

from regard.files import Count
from regard.metrics import Score
from regard.model.modules import device_of, evaluation_mode
from regard.progress import track
from regard.tasks.loss import LossModule

SHUFFLED_BATCHES = 4
NUM_SAMPLES, MAX_SAMPLE = 5, 300
"""Examples whose predictions are shown while a model is trained, and characters of each of their texts."""


@dataclass(frozen=True)
class Validation:
    """The results of a validation."""

    step: Count
    loss: float  # nats per target
    accuracy: float  # fraction of targets
    score: Score | None
    """The task's score of predictions for dev; None where none are made."""
    seconds: float
    shuffled_input_loss: float | None = None  # the loss where each example has the input of another
    distinct_ratio: float | None = None  # distinct predictions per distinct input
    seconds_per_prediction: float = 0.0

    def cost(self, metric: str) -> float:
        """The value to minimize."""
        if metric == "loss":
            return self.loss
        assert self.score is not None  # the config requires validation sentences where the score is the metric
        return -self.score.value


@dataclass(frozen=True)
class PredictedSample:
    """A dev example and what was predicted for it, as texts that people read."""

    input: str
    prediction: str
    reference: str = ""

    @classmethod
    def of(cls, input: str, prediction: str, reference: str = "") -> "PredictedSample":
        """The texts, cut where they are long."""
        texts = (input, prediction, reference)
        return cls(*(text if len(text) <= MAX_SAMPLE else f"{text[: MAX_SAMPLE - 1]}…" for text in texts))


class DevPredictions(NamedTuple):
    """What predictions for the dev set tell."""

    score: Score | None = None
    distinct_ratio: float | None = None
    """Distinct predictions per distinct input; None where that says nothing."""
    num_predictions: int = 0
    samples: Sequence[PredictedSample] = ()
    """Of the first examples, always the same ones."""


class DevPredictor(Protocol):
    """Predicts for the dev set with the weights as they are, and scores the predictions."""

    def __call__(self) -> DevPredictions: ...


@dataclass(frozen=True)
class Validator:
    """Validates on a dev set in the same way every time."""

    loss_module: LossModule
    dev_batches: Callable[[], Iterable[Any]]
    """The batches of the dev set, the same at every call."""
    predict_dev: DevPredictor

    def validate(self, step: int) -> Validation:
        return self.validate_with_samples(step)[0]

    def validate_with_samples(self, step: int) -> tuple[Validation, Sequence[PredictedSample]]:
        """The results, and the predictions for the first examples."""
        start = time.perf_counter()
        batches = list(self.dev_batches())
        loss, accuracy = self._evaluate_batches(batches)
        prediction_start = time.perf_counter()
        predictions = self.predict_dev()
        prediction_seconds, num_predictions = time.perf_counter() - prediction_start, predictions.num_predictions
        shuffled_input_loss = self._shuffled_input_loss(batches, loss)
        validation = Validation(
            step,
            loss,
            accuracy,
            predictions.score,
            time.perf_counter() - start,
            shuffled_input_loss,
            predictions.distinct_ratio,
            prediction_seconds / num_predictions if num_predictions else 0.0,
        )
        return validation, predictions.samples

    def _evaluate_batches(self, batches: Iterable[Any]) -> tuple[float, float]:
        """Loss and accuracy; with teacher forcing where a target follows others."""
        loss, correct, targets = 0.0, 0.0, 0
        with evaluation_mode(self.loss_module), torch.inference_mode():
            for batch in track(batches, "validating"):
                totals = self.loss_module(batch.to(device_of(self.loss_module)))
                loss += float(totals.loss)
                correct += float(totals.correct)
                targets += batch.num_targets
        return loss / targets, correct / targets

    def _shuffled_input_loss(self, batches: list[Any], loss: float) -> float | None:
        """An estimate of the loss with shuffled inputs: the loss plus the increase on a few batches."""
        candidates = [(batch, shuffled) for batch in batches if (shuffled := batch.shuffle_inputs()) is not None]
        sample = candidates[:: max(1, len(candidates) // SHUFFLED_BATCHES)][:SHUFFLED_BATCHES]
        if not sample:
            return None
        return (
            loss
            + self._evaluate_batches([shuffled for _, shuffled in sample])[0]
            - self._evaluate_batches([batch for batch, _ in sample])[0]
        )
