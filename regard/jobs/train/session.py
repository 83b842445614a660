"""One session of training: steps with validations and checkpoints, and the scores at the end."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch import nn

from regard import run as runs
from regard.config import Config
from regard.files import resolve
from regard.jobs.live.previews import NullPreviews
from regard.jobs.tasks.task import Task, TrainingData
from regard.jobs.train.events import (
    Alarm,
    Note,
    TrainingEnd,
    TrainingEvent,
    TrainingFinished,
    TrainingInterrupted,
    TrainingProgress,
    TrainingStarted,
    ValidationFinished,
)
from regard.jobs.train.head_history import NullHeadRecorder
from regard.jobs.train.rehearsal import ScoringRehearsal
from regard.model import weights
from regard.model.modules import count_parameters
from regard.run import BestWeights, LatestCheckpoint, Run
from regard.training.alarms import ThroughputMonitor, TrainingMonitor
from regard.training.checkpoint import CheckpointManager, TrainingState
from regard.training.distributed.ddp import SingleProcess
from regard.training.log import Log
from regard.training.loop import Step, TrainingLoop, require_finite
from regard.training.tracking.tracker import NullTracker
from regard.training.validate import Validation, Validator

StopCallback = Callable[[], bool]
LONG_SCORING_SHARE = 0.25  # of all minutes, from which on the user is warned


class _RunningMean:
    """The mean of the values that were added since the last mean was taken."""

    def __init__(self) -> None:
        self._values: list[float] = []

    def add(self, value: float) -> None:
        self._values.append(value)

    def pop_mean(self) -> float:
        values, self._values = self._values, []
        return sum(values) / max(1, len(values))


@dataclass
class TrainingSession:
    """One session of training: from the latest checkpoint to the end, or until it is stopped.

    Its parts are built by `regard.jobs.train.assemble`.
    """

    run: Run
    task: Task
    config: Config
    data: TrainingData
    processes: SingleProcess
    model: nn.Module
    """The full model, which is validated and saved."""
    loop: TrainingLoop
    checkpoints: CheckpointManager
    validator: Validator
    log: Log
    tracker: NullTracker
    head_recorder: NullHeadRecorder
    previews: NullPreviews
    alarms: TrainingMonitor
    throughput: ThroughputMonitor
    rehearsal: ScoringRehearsal
    state: TrainingState
    _recent_loss: _RunningMean = field(default_factory=_RunningMean, init=False)
    _steps_per_second: float = field(default=0.0, init=False)  # smoothed
    _last_saved_step: int = field(default=0, init=False)
    _last_validated_step: int = field(default=0, init=False)
    _last_validation: Validation | None = field(default=None, init=False)
    _earlier_loss: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._last_saved_step = self.state.step

    def train(self, should_stop: StopCallback) -> Iterator[TrainingEvent]:
        """Train to the end. All processes take the same steps; the main process alone validates, saves and decides."""
        is_main_process = self.processes.is_main_process
        if is_main_process:
            self._write_best_step()
            yield TrainingStarted(self.state.step, self.loop.budget.steps, count_parameters(self.model), self.task.unit)
        self._keep_stable_checkpoint()
        has_steps = bool(self.state.step)  # a new run takes at least one step, whatever the time
        if not self.processes.broadcast(has_steps and self._is_over(self.state)):
            for step in self.loop.steps(self.state.step, self.state.data_position):
                self.state = replace(self.state, step=step.number, data_position=step.data_position)
                if self._needs_full_model(step.number):
                    self.checkpoints.gather_shards()
                if is_main_process:
                    yield from self._after_step(step)
                self._keep_stable_checkpoint()
                if self.processes.broadcast(self._is_over(self.state)):
                    break
                if self.processes.broadcast(should_stop()):
                    self.checkpoints.gather_shards()
                    if is_main_process:
                        self._save()
                        yield TrainingInterrupted(self.run, step.number)
                    return
        self.checkpoints.gather_shards()
        if is_main_process:
            yield from self._explain_end()
            yield from self._finish()
        self.processes.barrier()

    def _needs_full_model(self, step: int) -> bool:
        """Whether the model is validated or saved after this step."""
        c = self.config.train
        return step % c.validate_every == 0 or step % c.save_every == 0

    def _keep_stable_checkpoint(self) -> None:
        """Keep the last checkpoint before the learning rate decays: a run that is extended resumes from it."""
        step, decay_start = self.state.step, self.config.train.decay_start
        if not step or self.state.stable_step is not None or math.isinf(decay_start):
            return
        if not self.processes.broadcast(self.loop.budget.progress(step) >= decay_start):
            return
        self.checkpoints.gather_shards()
        if self.processes.is_main_process:
            self._save()
        self.state = replace(self.state, stable_step=step)

    def _after_step(self, step: Step) -> Iterator[TrainingEvent]:
        """Log a step, report progress, and validate and save when it is time to."""
        self.log.write_step(step)
        self.tracker.write_step(step)
        self.head_recorder.record_step(step.number)
        self._recent_loss.add(step.loss)
        yield self._measure_progress(step)
        if slow_warning := self.throughput.update(step.tokens, step.seconds):
            yield Alarm(slow_warning)
        yield from self._validate_and_save(step.number)
        yield from self._reserve_final_seconds(step.number)

    def _validate_and_save(self, step: int) -> Iterator[TrainingEvent]:
        c = self.config.train
        validates = step % c.validate_every == 0
        improved = False
        if validates:
            validation = self._validate(step)
            self.state = self.state.after_validation(step, validation.cost(c.metric))
            improved = self.state.best_step == step
            yield ValidationFinished(validation, improved)
            yield from map(Alarm, self.alarms.update(validation, self._recent_loss.pop_mean()))
        if improved or step % c.save_every == 0:
            self._save()
            self._write_best_step()

    def _finish(self) -> Iterator[TrainingEvent]:
        """Average the last checkpoints, select the best weights on dev, score them, and write the report."""
        last = self.state.step
        self._save()
        yield from self._validate_last_step(last)
        yield from self._average_checkpoints(last)
        self.log.flush()
        set_name = "test" if self.data.test is not None else "dev"
        corpus = self.data.test or self.data.dev
        device = str(next(self.model.parameters()).device)
        self.task.calibrate(self.run, self.task.load_predictor(self.run.folder, device), self.data)
        predictor = self.task.load_predictor(self.run.folder, device)
        files = [str(resolve(file)) for file in getattr(self.config.data, set_name)]
        evaluation = self.task.evaluate(self.run, predictor, corpus.pairs(), set_name)
        self.task.write_scores(self.run, set_name, evaluation, files)
        self.tracker.write_evaluation(last, set_name, evaluation)
        epochs = self.loop.batches.count_epochs(self.state.data_position)
        self.task.write_report(self.run, predictor, evaluation, set_name, epochs)
        yield from map(Note, self.task.close(self.run, self.config, self.data))
        self.run.write_latest(LatestCheckpoint(last, finished=True))
        yield TrainingFinished(
            run=self.run,
            step=last,
            set_name=set_name,
            evaluation=evaluation,
            end=self._end(),
            epochs=epochs,
            seconds=self.loop.budget.elapsed,
            validation=self._last_validation,
            earlier_loss=self._earlier_loss,
            unigram_loss=self.alarms.unigram_loss,
        )

    def _end(self) -> TrainingEnd:
        """Why training has ended."""
        if self._patience_exhausted(self.state):
            return "patience"
        steps = self.loop.budget.steps
        return "steps" if steps and self.state.step >= steps else "time"

    def _validate_last_step(self, last: int) -> Iterator[TrainingEvent]:
        """Validate the last step unless that was done; the state is not saved, so resuming is not changed by it."""
        if last == self._last_validated_step:
            return
        validation = self._validate(last)
        cost = validation.cost(self.config.train.metric)
        is_best = self.state.best_cost is None or cost < self.state.best_cost
        if is_best:
            self._write_best(self.run.weights(last), last, cost)
            self.state = replace(self.state, best_cost=cost)
        yield ValidationFinished(validation, is_best)

    def _average_checkpoints(self, last: int) -> Iterator[TrainingEvent]:
        files = self.checkpoints.paths_to_average(last)
        if len(files) < 2:
            return
        mean = weights.average_weights(files)
        with runs.atomic_write(self.run.average_weights) as path:
            weights.write(mean, path)
        self.run.record_checksums(self.run.average_weights)
        original_weights = {name: tensor.clone() for name, tensor in weights.tensors_of(self.model).items()}
        weights.load_into(self.model, mean, str(self.run.average_weights))
        validation = self.validator.validate(last)
        weights.load_into(self.model, original_weights, "the weights")
        cost, best = validation.cost(self.config.train.metric), self.run.read_best()
        is_better = best.cost is None or cost < best.cost
        if is_better:
            self._write_best(self.run.average_weights, last, cost)
        yield Note(_compare_average(len(files), cost, best, is_better))

    def _validate(self, step: int) -> Validation:
        with self.loop.ema.averaged_weights():
            validation, samples = self.validator.validate_with_samples(step)
            self.previews.record(step, samples)
        require_finite(step, validation.loss)  # after a step whose own loss was still finite
        self.log.write_validation(validation)
        self.tracker.write_validation(validation)
        if self._last_validation:
            self._earlier_loss = min(self._earlier_loss or math.inf, self._last_validation.loss)
        self._last_validated_step, self._last_validation = step, validation
        return validation

    def _reserve_final_seconds(self, step: int) -> Iterator[TrainingEvent]:
        """Reserve the time that the end of training will take: two more validations, scoring, the report."""
        first = self.rehearsal.final_seconds is None
        if not self.rehearsal.rehearse_if_due(self.loop.budget.progress(step)):
            return
        self._set_reserve()
        if self.loop.budget.progress(step) >= 1 and self.rehearsal.repeat():
            self._set_reserve()
        scoring_seconds = self.rehearsal.final_seconds
        assert scoring_seconds is not None and self.rehearsal.minutes is not None
        if first and scoring_seconds > LONG_SCORING_SHARE * 60 * self.rehearsal.minutes:
            yield Note(
                f"scoring {len(self.rehearsal.pairs):,} {self.task.example}s at the end takes about "
                f"{scoring_seconds / 60:.1f} of the {self.rehearsal.minutes:g} minutes; more --minutes or "
                f"a smaller test set leave more for training"
            )

    def _set_reserve(self) -> None:
        scoring_seconds = self.rehearsal.final_seconds
        assert scoring_seconds is not None
        validation_seconds = self._last_validation.seconds if self._last_validation else scoring_seconds / 4
        closing_seconds = self.task.closing_seconds(self.config, self.data)
        self.loop.budget.reserved_seconds = scoring_seconds + 2 * validation_seconds + closing_seconds

    def _save(self) -> None:
        """Write a checkpoint, once per step: writing it again could damage it if the process is killed."""
        if self.state.step == self._last_saved_step:
            return
        self._last_saved_step = self.state.step
        self.state = replace(
            self.state,
            elapsed=self.loop.budget.elapsed,
            log_bytes=self.log.size_bytes,
            tracked_bytes=self.tracker.size_bytes,
        )
        self.checkpoints.save(self.state)

    def _write_best_step(self) -> None:
        """best.json follows from the saved state, so that it can be written again after a kill."""
        step = self.state.best_step
        if step is not None:
            self._write_best(self.run.weights(step), step, self.state.best_cost)

    def _write_best(self, path: Path, step: int, cost: float | None) -> None:
        file = path.relative_to(self.run.folder).as_posix()
        self.run.discard(self.run.calibration)  # which was fitted to other weights
        self.run.write_best(BestWeights(file, step, cost, self.config.train.metric))

    def _explain_end(self) -> Iterator[Note]:
        if self.config.train.minutes and self.state.step <= 1:
            yield Note(
                "preparing the data took all of the time, so the model is hardly trained; give more with --minutes"
            )
        if self._patience_exhausted(self.state):
            patience = self.config.train.patience
            yield Note(
                f"stopped early: no improvement on dev in {patience} validations "
                f"(train.patience={patience}; 0 disables early stopping)"
            )

    def _patience_exhausted(self, state: TrainingState) -> bool:
        patience = self.config.train.patience
        return bool(patience) and state.validations_without_improvement >= patience

    def _is_over(self, state: TrainingState) -> bool:
        return self._patience_exhausted(state) or self.loop.budget.progress(state.step) >= 1

    def _measure_progress(self, step: Step) -> TrainingProgress:
        steps_per_second = 1 / step.seconds
        self._steps_per_second = (
            0.95 * self._steps_per_second + 0.05 * steps_per_second if self._steps_per_second else steps_per_second
        )
        return TrainingProgress(
            step,
            self.loop.budget.progress(step.number),
            self.loop.budget.remaining_seconds(step.number, self._steps_per_second),
        )


def _compare_average(count: int, cost: float, best: BestWeights, is_better: bool) -> str:
    """A sentence on the average of checkpoints and the best single one; it ends with the value of what is kept."""
    name, sign = ("loss", 1) if best.metric == "loss" else (best.metric.upper(), -1)
    average = f"dev {name} {sign * cost:.3f}"
    single = "" if best.cost is None else f"dev {name} {sign * best.cost:.3f}"
    subject, step = f"the average of the last {count} checkpoints is", f"that of step {best.step:,}"
    if is_better:
        return f"{subject} better than {step} ({single}), and is kept: {average}"
    return f"{subject} no better ({average}) than {step}, which is kept: {single}"
