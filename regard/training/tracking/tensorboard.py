"""Training curves for TensorBoard: `tensorboard --logdir runs` shows them."""

from collections.abc import Iterator

from tensorboard.compat.proto.summary_pb2 import Summary

from regard.config import TrainConfig
from regard.evaluation import Evaluation
from regard.run import Run
from regard.training.checkpoint import TrainingState
from regard.training.loop import Step
from regard.training.optim import Optimizers
from regard.training.tracking.event_file import EventFile, histogram_value, scalar_value, text_value
from regard.training.tracking.histograms import HistogramRecorder, NullHistogramRecorder
from regard.training.tracking.tracker import NullTracker
from regard.training.validate import Validation


class TensorBoardTracker(NullTracker):
    """Writes what the log has, and histograms where they are wanted, into event files."""

    def __init__(self, event_file: EventFile, histograms: NullHistogramRecorder):
        self._event_file, self._histograms = event_file, histograms

    @property
    def size_bytes(self) -> int:
        return self._event_file.size_bytes

    def write_step(self, step: Step) -> None:
        histograms = self._histograms.pop_histograms(step.number)
        values = [histogram_value(tag, histogram) for tag, histogram in histograms.items()]
        self._event_file.write(step.number, [*_step_values(step), *values])

    def write_validation(self, validation: Validation) -> None:
        self._event_file.write(validation.step, _validation_values(validation))

    def write_evaluation(self, step: int, set_name: str, evaluation: Evaluation) -> None:
        self._event_file.write(step, _evaluation_values(set_name, evaluation))

    def close(self) -> None:
        self._event_file.close()


def open_tracker(run: Run, c: TrainConfig, optimizers: Optimizers, state: TrainingState) -> TensorBoardTracker:
    """The tracker of a session that starts from a checkpoint."""
    histograms = NullHistogramRecorder()
    if c.track_histograms:
        histograms = HistogramRecorder(optimizers, c.track_histograms, state.step)
    return TensorBoardTracker(EventFile(run.tensorboard, state.step), histograms)


def _step_values(step: Step) -> Iterator[Summary.Value]:
    yield scalar_value("train/loss", step.loss)
    yield scalar_value("train/accuracy", step.accuracy)
    yield scalar_value("train/learning_rate", step.learning_rate)
    if step.muon_learning_rate is not None:
        yield scalar_value("train/muon_learning_rate", step.muon_learning_rate)
    yield scalar_value("train/grad_norm", step.grad_norm)
    yield scalar_value("train/tokens_per_second", step.tokens / step.seconds)


def _validation_values(validation: Validation) -> Iterator[Summary.Value]:
    yield scalar_value("dev/loss", validation.loss)
    yield scalar_value("dev/accuracy", validation.accuracy)
    if validation.score is not None:
        tag = f"dev/{validation.score.name.lower().replace(' ', '_')}"
        yield scalar_value(tag, validation.score.value)
        yield text_value(f"{tag}_signature", validation.score.signature)


def _evaluation_values(set_name: str, evaluation: Evaluation) -> Iterator[Summary.Value]:
    """The scores of the finished model, and a text with their intervals and signatures.

    Their tags differ from those of validations, which decode greedily.
    """
    for key, score in evaluation.scores.items():
        yield scalar_value(f"{set_name}/final_{key}", score.value)
    if evaluation.loss is not None:
        yield scalar_value(f"{set_name}/final_loss", evaluation.loss)
    yield text_value(f"{set_name}/final_scores", "\n".join(f"- {score}" for score in evaluation.scores.values()))
