"""One sitting of training: an update after the other, with looks at dev, checkpoints, and scores at the end."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from regard import run as runs
from regard.config import Config, TrainConfig
from regard.data import ibm_model1
from regard.data.batch import Batches
from regard.data.unigram import unigram_loss
from regard.hardware import measure_matmul_flops
from regard.jobs.evaluate import score_run
from regard.jobs.load import load, new_model
from regard.jobs.report import write_report
from regard.jobs.train.estimate import estimate_corpus
from regard.jobs.train.events import (
    Alarm,
    Note,
    TrainingEvent,
    TrainingFinished,
    TrainingInterrupted,
    TrainingProgress,
    TrainingStarted,
    ValidationFinished,
)
from regard.jobs.train.head_history import HeadHistory
from regard.jobs.train.prepare import TrainingData
from regard.model import weights
from regard.model.transformer import EncoderDecoder, count_parameters
from regard.run import Run
from regard.tasks.translate import Translator
from regard.training import ema, optim
from regard.training import precision as precisions
from regard.training.alarms import ThroughputMonitor, TrainingMonitor
from regard.training.checkpoint import Checkpoints, TrainingState
from regard.training.distributed.ddp import SingleProcess
from regard.training.guided_alignment import GuidedAlignment, guided_layer
from regard.training.log import Log, NullLog
from regard.training.loop import Step, TrainingLoop
from regard.training.loss import LossModule, RDrop
from regard.training.planning.budget import Budget
from regard.training.schedule import SCHEDULES
from regard.training.validate import Validation, Validator

StopCallback = Callable[[], bool]
BEAM_COST_FACTOR = 3.0  # what a translation by beam search takes, in translations by greedy search
REPORT_SECONDS = 5.0


class TrainingSession:
    """One sitting of training: from the latest checkpoint to the end, or until somebody stops it."""

    def __init__(self, run: Run, config: Config, data: TrainingData, ranks: SingleProcess, start_time: float):
        c, device = config.train, ranks.device
        self.run, self.config, self.data, self.ranks = run, config, data, ranks
        precision = precisions.resolve_precision(c.precision, device)
        model = new_model(config, data.tokenizers).to(ranks.full_model_device, precision.weight_dtype)
        if run.initial_weights.exists():
            weights.load_into(model, weights.read(run.verify(run.initial_weights)), str(run.initial_weights))
        distributed_model = ranks.shard_model(model)
        padding_free = precisions.uses_padding_free(c.padding_free, precision, ranks.sharded)
        guided_alignment = self._build_guided_alignment() if c.guided_alignment else None
        learner = _build_learner(distributed_model, c, padding_free, guided_alignment)
        self.ema = ema.build(distributed_model, c.ema)
        optimizers = optim.build(c, distributed_model)
        self.checkpoints = Checkpoints(run, model, optimizers, self.ema, c.save_every, c.average_checkpoints)
        if ranks.sharded:
            from regard.training.distributed.fsdp import FSDPCheckpoints  # which is slow to import, and rarely wanted

            self.checkpoints = FSDPCheckpoints(**vars(self.checkpoints), sharded_model=distributed_model)
        self.state = self.checkpoints.load()
        self.batches = Batches(
            data.train,
            data.tokenizers,
            max_tokens=c.batch_tokens,
            max_length=config.data.max_length,
            seed=c.seed,
            subword_regularization=config.data.subword_regularization,
            concat_augment=config.data.concat_augment,
        )
        self.last_step = compute_last_step(c, self.batches, ranks.world_size)
        self.budget = Budget(self.last_step, c.minutes, self.state.elapsed + time.perf_counter() - start_time)
        self.loop = TrainingLoop(
            loss_module=learner,
            batches=self.batches,
            optimizers=optimizers,
            schedule=SCHEDULES[c.schedule](c.warmup),
            budget=self.budget,
            ema=self.ema,
            processes=ranks,
            accumulate_batches=c.accumulate_batches,
            clip_grad_norm=c.clip_grad_norm,
            seed=c.seed,
            precision=precision.context,
        )
        translator = Translator(model, data.tokenizers)
        validation_learner = (
            learner if distributed_model is model else _build_learner(model, c, padding_free, guided_alignment)
        )
        self.validator = Validator(validation_learner, translator, data.dev, c.validation_sentences, c.batch_tokens)
        self.model, self.padding_free, self.precision = model, padding_free, precision
        self.log = Log(run.log, self.state.log_bytes) if ranks.is_main_process else NullLog()
        self.head_history = HeadHistory(
            run, model, data, c.head_stats_every if ranks.is_main_process and not ranks.sharded else 0
        )
        self.head_history.truncate_after(self.state.step)
        unigram = unigram_loss(data.train.target_ids, data.dev.target_ids, data.tokenizers.target.vocab_size)
        self.alarms = TrainingMonitor(unigram, c.warmup)
        self.estimate = estimate_corpus(
            config, data.train, data.tokenizers.target.vocab_size, measure_matmul_flops(), ranks.world_size
        )
        self.pace = ThroughputMonitor(self.estimate.tokens_per_second)
        self._recent_loss = _RunningMean()
        self._steps_per_second = 0.0  # steps a second, smoothed
        self._last_saved_step = self.state.step  # the last step that is on disk
        self._last_validated_step = 0  # the last step that dev was looked at

    def _build_guided_alignment(self) -> GuidedAlignment:
        m = self.config.model
        lexicon = ibm_model1.fit_corpus(self.data.train, self.data.tokenizers.source.vocab_size)
        return GuidedAlignment(lexicon, self.config.train.guided_alignment, guided_layer(m.decoder_layers or m.layers))

    def notes(self) -> Iterator[Note]:
        if num_skipped := self.batches.count_too_long():
            max_length = self.config.data.max_length
            yield Note(f"train: left out {num_skipped:,} pairs with a side of more than {max_length} pieces")

    def train(self, should_stop: StopCallback) -> Iterator[TrainingEvent]:
        """Train to the end. All processes walk through the same updates; the first alone looks, saves and decides."""
        is_main_process = self.ranks.is_main_process
        if is_main_process:
            self._write_best_step()
            yield TrainingStarted(self.state.step, self.last_step, count_parameters(self.model))
        has_steps = bool(self.state.step)  # there is one update at least, whatever the clock says
        if not self.ranks.broadcast(has_steps and self._is_over(self.state)):
            for step in self.loop.steps(self.state.step, self.state.data_position):
                self.state = replace(self.state, step=step.number, data_position=step.data_position)
                if self._needs_collect(step.number):
                    self.checkpoints.gather_shards()
                if is_main_process:
                    yield from self._after_step(step)
                if self.ranks.broadcast(self._is_over(self.state)):
                    break
                if self.ranks.broadcast(should_stop()):
                    self.checkpoints.gather_shards()
                    if is_main_process:
                        self._save()
                        yield TrainingInterrupted(self.run, step.number)
                    return
        self.checkpoints.gather_shards()
        if is_main_process:
            yield from self._explain_end()
            yield from self._finish()
        self.ranks.barrier()

    def _needs_collect(self, step: int) -> bool:
        """Whether something is checked or saved after this update."""
        c = self.config.train
        return step % c.validate_every == 0 or step % c.save_every == 0

    def _after_step(self, step: Step) -> Iterator[TrainingEvent]:
        """Log an update, tell of it, and check and save where it is time to."""
        self.log.write_step(step)
        self.head_history.record_step(step.number)
        self._recent_loss.add(step.loss)
        yield self._measure_progress(step)
        if slow_warning := self.pace.update(step.tokens, step.seconds):
            yield Alarm(slow_warning)
        yield from self._validate_and_save(step.number)

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
        """Average the last checkpoints, keep what is best on dev, score it, and write the report."""
        last = self.state.step
        self._save()
        yield from self._validate_last_step(last)
        yield from self._average_checkpoints(last)
        self.log.flush()
        set_name = "test" if self.data.test is not None else "dev"
        corpus = self.data.test or self.data.dev
        translator = load(self.run.folder, str(next(self.model.parameters()).device))
        files = [str(Path(file).resolve()) for file in getattr(self.config.data, set_name)]
        evaluation = score_run(self.run, translator, corpus.pairs(), set_name, files=files)
        write_report(self.run, self.config, translator, evaluation, set_name)
        self.run.write_json(self.run.latest, {"step": last, "finished": True})
        yield TrainingFinished(self.run, last, set_name, evaluation)

    def _validate_last_step(self, last: int) -> Iterator[TrainingEvent]:
        """A look at dev where training ended between two; it is not saved, so that training on is not changed by it."""
        if last == self._last_validated_step:
            return
        validation = self._validate(last)
        cost = validation.cost(self.config.train.metric)
        is_best = self.state.best_cost is None or cost < self.state.best_cost
        if is_best:
            self._write_best(f"weights/{self.run.weights(last).name}", validation)
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
        cost = validation.cost(self.config.train.metric)
        better = self.state.best_cost is None or cost < self.state.best_cost
        if better:
            self._write_best(self.run.average_weights.name, validation)
        verdict = "better than any one of them" if better else "no better than the best of them, which is kept"
        yield Note(f"the average of the last {len(files)} checkpoints is {verdict}: dev loss {validation.loss:.3f}")

    def _validate(self, step: int) -> Validation:
        with self.ema.averaged_weights():
            validation = self.validator.validate(step)
        self.log.write_validation(validation)
        self._last_validated_step = step
        self.budget.reserved_seconds = self._estimate_final_seconds(validation)
        return validation

    def _estimate_final_seconds(self, validation: Validation) -> float:
        """Seconds that the end of training will take: two more looks at dev, and the scores of the finished model."""
        num_scored = len(self.data.test or self.data.dev)
        return (
            2 * validation.seconds + BEAM_COST_FACTOR * validation.seconds_per_translation * num_scored + REPORT_SECONDS
        )

    def _save(self) -> None:
        """Write a checkpoint, once for each step: a second one would be half the first while it is written."""
        if self.state.step == self._last_saved_step:
            return
        self._last_saved_step = self.state.step
        self.state = replace(self.state, elapsed=self.budget.elapsed, log_bytes=self.log.size_bytes)
        self.checkpoints.save(self.state)

    def _write_best_step(self) -> None:
        """best.json follows from the saved state, so it can be written again after any kill."""
        step = self.state.best_step
        if step is not None:
            value = {
                "weights": f"weights/{self.run.weights(step).name}",
                "step": step,
                "cost": self.state.best_cost,
            }
            self.run.write_json(self.run.best, value | {"metric": self.config.train.metric})

    def _write_best(self, file: str, validation: Validation) -> None:
        metric = self.config.train.metric
        value = {"weights": file, "step": validation.step, "cost": validation.cost(metric), "metric": metric}
        self.run.write_json(self.run.best, value)

    def _explain_end(self) -> Iterator[Note]:
        if self.config.train.minutes and self.state.step <= 1:
            yield Note("preparing took all of the minutes, so next to nothing was learnt; give more with --minutes")
        if self._patience_exhausted(self.state):
            patience = self.config.train.patience
            yield Note(
                f"stopped early: dev got no better in {patience} checks (train.patience={patience}; 0 never stops)"
            )

    def _patience_exhausted(self, state: TrainingState) -> bool:
        patience = self.config.train.patience
        return bool(patience) and state.validations_without_improvement >= patience

    def _is_over(self, state: TrainingState) -> bool:
        return self._patience_exhausted(state) or self.budget.progress(state.step) >= 1

    def _measure_progress(self, step: Step) -> TrainingProgress:
        steps_per_second = 1 / step.seconds
        self._steps_per_second = (
            0.95 * self._steps_per_second + 0.05 * steps_per_second if self._steps_per_second else steps_per_second
        )
        return TrainingProgress(
            step, self.budget.progress(step.number), self.budget.remaining_seconds(step.number, self._steps_per_second)
        )


def compute_last_step(c: TrainConfig, batches: Batches, world_size: int) -> int | None:
    """Where training ends, by whichever of steps, epochs and tokens comes first; None where the clock decides."""
    candidates = [c.last_step] if c.last_step else []
    if c.epochs or c.tokens:
        corpus = batches.corpus
        tokens_per_epoch = len(corpus.target_ids.values) + len(corpus)  # with their end marks
        steps_per_epoch = batches.count_batches() / (c.accumulate_batches * world_size)
        epochs = [epochs for epochs in (c.epochs, c.tokens and c.tokens / tokens_per_epoch) if epochs]
        candidates.append(max(1, round(min(epochs) * steps_per_epoch)))
    return min(candidates, default=None)


def _build_learner(
    model: EncoderDecoder, c: TrainConfig, padding_free: bool, guided_alignment: GuidedAlignment | None
) -> LossModule:
    if c.rdrop:
        return RDrop(model, c.label_smoothing, c.rdrop, padding_free, guided_alignment)
    return LossModule(model, c.label_smoothing, padding_free, guided_alignment)


class _RunningMean:
    """The mean of what was added since it was last asked for."""

    def __init__(self) -> None:
        self._values: list[float] = []

    def add(self, value: float) -> None:
        self._values.append(value)

    def pop_mean(self) -> float:
        values, self._values = self._values, []
        return sum(values) / max(1, len(values))
