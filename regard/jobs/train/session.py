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
from regard.jobs.train.events import Alarm, Checked, Event, Finished, Interrupted, Note, Progress, Started
from regard.jobs.train.head_history import HeadWatch
from regard.jobs.train.prepare import Data
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

Stop = Callable[[], bool]
BEAM_TIMES = 3.0  # what a translation by beam search takes, in translations by greedy search
REPORT_SECONDS = 5.0


class Session:
    """One sitting of training: from the latest checkpoint to the end, or until somebody stops it."""

    def __init__(self, run: Run, config: Config, data: Data, ranks: SingleProcess, begun: float):
        c, device = config.train, ranks.device
        self.run, self.config, self.data, self.ranks = run, config, data, ranks
        precision = precisions.resolve_precision(c.precision, device)
        model = new_model(config, data.tokenizers).to(ranks.full_model_device, precision.weight_dtype)
        if run.initial_weights.exists():
            weights.load_into(model, weights.read(run.verify(run.initial_weights)), str(run.initial_weights))
        trained = ranks.shard_model(model)
        packed = precisions.uses_padding_free(c.padding_free, precision, ranks.sharded)
        guide = self._guide() if c.guided_alignment else None
        learner = _learner(trained, c, packed, guide)
        self.ema = ema.build(trained, c.ema)
        optimizers = optim.build(c, trained)
        self.checkpoints = Checkpoints(run, model, optimizers, self.ema, c.save_every, c.average_checkpoints)
        if ranks.sharded:
            from regard.training.distributed.fsdp import FSDPCheckpoints  # which is slow to import, and rarely wanted

            self.checkpoints = FSDPCheckpoints(**vars(self.checkpoints), sharded_model=trained)
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
        self.last_step = last_step(c, self.batches, ranks.world_size)
        self.budget = Budget(self.last_step, c.minutes, self.state.elapsed + time.perf_counter() - begun)
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
        judge = learner if trained is model else _learner(model, c, packed, guide)
        self.checker = Validator(judge, translator, data.dev, c.validation_sentences, c.batch_tokens)
        self.model, self.packed, self.precision = model, packed, precision
        self.log = Log(run.log, self.state.log_bytes) if ranks.is_main_process else NullLog()
        self.heads = HeadWatch(
            run, model, data, c.head_stats_every if ranks.is_main_process and not ranks.sharded else 0
        )
        self.heads.forget_after(self.state.step)
        unigram = unigram_loss(data.train.target_ids, data.dev.target_ids, data.tokenizers.target.vocab_size)
        self.watch = TrainingMonitor(unigram, c.warmup)
        self.expected = estimate_corpus(
            config, data.train, data.tokenizers.target.vocab_size, measure_matmul_flops(), ranks.world_size
        )
        self.pace = ThroughputMonitor(self.expected.tokens_per_second)
        self._recent = _Mean()
        self._speed = 0.0  # steps a second, smoothed
        self._saved = self.state.step  # the last step that is on disk
        self._checked = 0  # the last step that dev was looked at

    def _guide(self) -> GuidedAlignment:
        m = self.config.model
        lexicon = ibm_model1.fit_corpus(self.data.train, self.data.tokenizers.source.vocab_size)
        return GuidedAlignment(lexicon, self.config.train.guided_alignment, guided_layer(m.decoder_layers or m.layers))

    def notes(self) -> Iterator[Note]:
        if left_out := self.batches.count_too_long():
            longest = self.config.data.max_length
            yield Note(f"train: left out {left_out:,} pairs with a side of more than {longest} pieces")

    def train(self, stop: Stop) -> Iterator[Event]:
        """Train to the end. All processes walk through the same updates; the first alone looks, saves and decides."""
        first = self.ranks.is_main_process
        if first:
            self._point_at_best()
            yield Started(self.state.step, self.last_step, count_parameters(self.model))
        begun = bool(self.state.step)  # there is one update at least, whatever the clock says
        if not self.ranks.broadcast(begun and self._over(self.state)):
            for step in self.loop.steps(self.state.step, self.state.data_position):
                self.state = replace(self.state, step=step.number, place=step.data_position)
                if self._due(step.number):
                    self.checkpoints.gather_shards()
                if first:
                    yield from self._look_after(step)
                if self.ranks.broadcast(self._over(self.state)):
                    break
                if self.ranks.broadcast(stop()):
                    self.checkpoints.gather_shards()
                    if first:
                        self._save()
                        yield Interrupted(self.run, step.number)
                    return
        self.checkpoints.gather_shards()
        if first:
            yield from self._why()
            yield from self._finish()
        self.ranks.barrier()

    def _due(self, number: int) -> bool:
        """Whether something is checked or saved after this update."""
        c = self.config.train
        return number % c.validate_every == 0 or number % c.save_every == 0

    def _look_after(self, step: Step) -> Iterator[Event]:
        """Log an update, tell of it, and check and save where it is time to."""
        self.log.write_step(step)
        self.heads.look(step.number)
        self._recent.add(step.loss)
        yield self._progress(step)
        if slow := self.pace.update(step.tokens, step.seconds):
            yield Alarm(slow)
        yield from self._check_and_save(step.number)

    def _check_and_save(self, number: int) -> Iterator[Event]:
        c = self.config.train
        checked = number % c.validate_every == 0
        improved = False
        if checked:
            check = self._check(number)
            self.state = self.state.after_validation(number, check.cost(c.metric))
            improved = self.state.best_step == number
            yield Checked(check, improved)
            yield from map(Alarm, self.watch.update(check, self._recent.mean()))
        if improved or number % c.save_every == 0:
            self._save()
            self._point_at_best()

    def _finish(self) -> Iterator[Event]:
        """Average the last checkpoints, keep what is best on dev, score it, and write the report."""
        last = self.state.step
        self._save()
        yield from self._last_check(last)
        yield from self._average(last)
        self.log.flush()
        set_name = "test" if self.data.test is not None else "dev"
        corpus = self.data.test or self.data.dev
        translator = load(self.run.folder, str(next(self.model.parameters()).device))
        files = [str(Path(file).resolve()) for file in getattr(self.config.data, set_name)]
        evaluation = score_run(self.run, translator, corpus.pairs(), set_name, files=files)
        write_report(self.run, self.config, translator, evaluation, set_name)
        self.run.write_json(self.run.latest, {"step": last, "finished": True})
        yield Finished(self.run, last, set_name, evaluation)

    def _last_check(self, last: int) -> Iterator[Event]:
        """A look at dev where training ended between two; it is not saved, so that training on is not changed by it."""
        if last == self._checked:
            return
        check = self._check(last)
        cost = check.cost(self.config.train.metric)
        best = self.state.best_cost is None or cost < self.state.best_cost
        if best:
            self._point_at(f"weights/{self.run.weights(last).name}", check)
            self.state = replace(self.state, best_cost=cost)
        yield Checked(check, best)

    def _average(self, last: int) -> Iterator[Event]:
        files = self.checkpoints.paths_to_average(last)
        if len(files) < 2:
            return
        mean = weights.average_weights(files)
        with runs.atomic_write(self.run.average_weights) as path:
            weights.write(mean, path)
        self.run.record_checksums(self.run.average_weights)
        own = {name: tensor.clone() for name, tensor in weights.tensors_of(self.model).items()}
        weights.load_into(self.model, mean, str(self.run.average_weights))
        check = self.checker.validate(last)
        weights.load_into(self.model, own, "the weights")
        cost = check.cost(self.config.train.metric)
        better = self.state.best_cost is None or cost < self.state.best_cost
        if better:
            self._point_at(self.run.average_weights.name, check)
        verdict = "better than any one of them" if better else "no better than the best of them, which is kept"
        yield Note(f"the average of the last {len(files)} checkpoints is {verdict}: dev loss {check.loss:.3f}")

    def _check(self, number: int) -> Validation:
        with self.ema.averaged_weights():
            check = self.checker.validate(number)
        self.log.write_validation(check)
        self._checked = number
        self.budget.reserved_seconds = self._ending(check)
        return check

    def _ending(self, check: Validation) -> float:
        """Seconds that the end of training will take: two more looks at dev, and the scores of the finished model."""
        scored = len(self.data.test or self.data.dev)
        return 2 * check.seconds + BEAM_TIMES * check.seconds_per_translation * scored + REPORT_SECONDS

    def _save(self) -> None:
        """Write a checkpoint, once for each step: a second one would be half the first while it is written."""
        if self.state.step == self._saved:
            return
        self._saved = self.state.step
        self.state = replace(self.state, elapsed=self.budget.elapsed, log_bytes=self.log.size_bytes)
        self.checkpoints.save(self.state)

    def _point_at_best(self) -> None:
        """best.json follows from the saved state, so it can be written again after any kill."""
        step = self.state.best_step
        if step is not None:
            value = {
                "weights": f"weights/{self.run.weights(step).name}",
                "step": step,
                "cost": self.state.best_cost,
            }
            self.run.write_json(self.run.best, value | {"metric": self.config.train.metric})

    def _point_at(self, file: str, check: Validation) -> None:
        metric = self.config.train.metric
        value = {"weights": file, "step": check.step, "cost": check.cost(metric), "metric": metric}
        self.run.write_json(self.run.best, value)

    def _why(self) -> Iterator[Note]:
        if self.config.train.minutes and self.state.step <= 1:
            yield Note("preparing took all of the minutes, so next to nothing was learnt; give more with --minutes")
        if self._exhausted(self.state):
            checks = self.config.train.patience
            yield Note(f"stopped early: dev got no better in {checks} checks (train.patience={checks}; 0 never stops)")

    def _exhausted(self, state: TrainingState) -> bool:
        patience = self.config.train.patience
        return bool(patience) and state.validations_without_improvement >= patience

    def _over(self, state: TrainingState) -> bool:
        return self._exhausted(state) or self.budget.progress(state.step) >= 1

    def _progress(self, step: Step) -> Progress:
        speed = 1 / step.seconds
        self._speed = 0.95 * self._speed + 0.05 * speed if self._speed else speed
        return Progress(
            step, self.budget.progress(step.number), self.budget.remaining_seconds(step.number, self._speed)
        )


def last_step(c: TrainConfig, batches: Batches, processes: int) -> int | None:
    """Where training ends, by whichever of steps, epochs and tokens comes first; None where the clock decides."""
    ends = [c.last_step] if c.last_step else []
    if c.epochs or c.tokens:
        corpus = batches.corpus
        pieces = len(corpus.target_ids.values) + len(corpus)  # with their end marks
        an_epoch = batches.count_batches() / (c.accumulate_batches * processes)
        epochs = [epochs for epochs in (c.epochs, c.tokens and c.tokens / pieces) if epochs]
        ends.append(max(1, round(min(epochs) * an_epoch)))
    return min(ends, default=None)


def _learner(model: EncoderDecoder, c: TrainConfig, packed: bool, guide: GuidedAlignment | None) -> LossModule:
    if c.rdrop:
        return RDrop(model, c.label_smoothing, c.rdrop, packed, guide)
    return LossModule(model, c.label_smoothing, packed, guide)


class _Mean:
    """The mean of what was added since it was last asked for."""

    def __init__(self) -> None:
        self._values: list[float] = []

    def add(self, value: float) -> None:
        self._values.append(value)

    def mean(self) -> float:
        values, self._values = self._values, []
        return sum(values) / max(1, len(values))
