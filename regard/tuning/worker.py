"""Worker: claims a trial, trains it as an ordinary run, stores its outcome, and claims the next."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regard.errors import BusyError, DataError, FormatError, RegardError, RunError
from regard.hardware import pick_device
from regard.jobs.train import fit as job
from regard.jobs.train.events import (
    Alarm,
    Note,
    TrainingEvent,
    TrainingInterrupted,
    TrainingProgress,
    ValidationFinished,
)
from regard.run import Run, is_run
from regard.training.validate import Validation
from regard.tuning import storage as storages
from regard.tuning.claims import TrialClaims
from regard.tuning.events import (
    StudyEvent,
    StudyFinished,
    StudyStarted,
    TrialEvent,
    TrialFinished,
    TrialInterrupted,
    TrialStarted,
    WorkerIdle,
)
from regard.tuning.folder import StudyFolder
from regard.tuning.measure import RunSummary, evaluate_trial_run, summarize_log
from regard.tuning.propose import propose_params
from regard.tuning.results import (
    NAME_ATTR,
    NUMBER_ATTR,
    OUTCOME_ATTR,
    PROGRESS_ATTR,
    TrialProgress,
    TrialResult,
    collect_results,
    name_metric,
    trials_by_number,
)
from regard.tuning.space import Params, ParamsKey, params_key
from regard.tuning.study import Study

if TYPE_CHECKING:
    import optuna
    from optuna.storages import RDBStorage

POLL_SECONDS = 2.0
PROGRESS_SECONDS = 3.0  # between two reports of progress to other workers
PRUNER_STEPS = 20  # validations are compared at equal shares of the budget, in this many parts
STORAGE_TIMEOUT_SECONDS = 60.0  # until a storage that does not answer is given up
Stop = Callable[[], bool]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class StudyWorker:
    """A study as one worker sees it: the study, its folder on this machine, its storage and its claims."""

    study: Study
    study_folder: StudyFolder
    storage: "RDBStorage"
    optuna_study: "optuna.Study"
    claims: TrialClaims

    def results(self) -> tuple[TrialResult, ...]:
        return tuple(collect_results(self.study, self.optuna_study, self.claims, self.study_folder))

    def peek(self) -> tuple[TrialResult, ...]:
        """The results, from a thread of its own; no connection stays open."""
        try:
            return self.results()
        finally:
            self.storage.remove_session()

    def close(self) -> None:
        """Close the connections to the storage."""
        self.storage.remove_session()
        self.storage.engine.dispose()


def run_trials(worker: StudyWorker, stop: Stop) -> Iterator[StudyEvent]:
    """Train until every trial has ended, on this worker or on others."""
    try:
        yield from _run_trials(worker, stop)
    except storages.storage_errors() as error:
        url = worker.storage.url
        raise RunError(
            f"storage {storages.redact_password(url)} does not answer "
            f"({storages.redact_message(storages.first_line(error), url)}). "
            f"All checkpoints are kept; once it is back, resume with `regard tune {worker.study_folder.path}`."
        ) from None


def _run_trials(worker: StudyWorker, stop: Stop) -> Iterator[StudyEvent]:
    pick_device(worker.study.base.train.device)  # fails before a trial is claimed that another worker could train
    last_number = worker.study.num_trials()
    worker.claims.add_trials(last_number)
    worker.optuna_study.pruner = build_pruner(worker.study)
    results = worker.results()
    metric, score = name_metric(worker.study, results), name_validation_score(worker.study)
    yield StudyStarted(worker.study.name, metric, score, results, worker.study.ranking_metric.digits)
    while _retry(lambda: worker.claims.has_unfinished(last_number)):
        number = _retry(lambda: worker.claims.claim(last_number))
        if number is not None:
            for event in _run_trial(worker, number, stop):
                yield event
                if isinstance(event, TrialInterrupted):
                    return
            continue
        yield WorkerIdle(sum(result.state == "running" for result in worker.results()))
        if _wait(stop):
            return
    yield StudyFinished(worker.results())


def build_pruner(study: Study) -> Any:
    """Optuna's pruner; its steps are shares of the budget."""
    from optuna import pruners

    if study.pruner == "halving":
        return pruners.SuccessiveHalvingPruner(min_resource=2, reduction_factor=3)
    if study.pruner == "median":
        return pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=PRUNER_STEPS // 5)
    return pruners.NopPruner()


def _wait(stop: Stop) -> bool:
    """Sleep for the polling interval; whether the worker was stopped meanwhile."""
    end = time.monotonic() + POLL_SECONDS
    while time.monotonic() < end:
        if stop():
            return True
        time.sleep(0.1)
    return False


def _run_trial(worker: StudyWorker, number: int, stop: Stop) -> Iterator[StudyEvent]:
    """Run one claimed trial: start or resume it, train every seed, and store the outcome."""
    with worker.claims.keep_alive(number) as claim_lost:
        trial, resumed = _retry(lambda: _start_trial(worker, number))
        if trial is None:  # the outcome is stored, only the claim is still open
            worker.claims.finish(number)
            return
        params = dict(trial.params)
        yield TrialStarted(number, trial.user_attrs[NAME_ATTR], params, resumed)
        runner = TrialRunner(worker, number, params, trial, lambda: stop() or claim_lost.is_set())
        try:
            yield from runner.run()
        except RegardError as error:
            if not runner.is_trial_error(error):
                _try_release(worker, number)
                raise
            runner.state, runner.reason = "failed", str(error)
        except BaseException:
            _try_release(worker, number)
            raise
        claim_held = not claim_lost.is_set() and _retry(lambda: worker.claims.send_heartbeat(number))
        if not claim_held:  # the worker that has it now stores the outcome
            return
        if runner.state == "":  # the worker was stopped
            worker.claims.release(number)
            yield TrialInterrupted(number)
            return
        _retry(runner.store_outcome)
    _retry(lambda: worker.claims.finish(number))
    yield TrialFinished(next(result for result in worker.results() if result.number == number))


def _retry(query: Callable[[], Answer]) -> Answer:
    """Query the storage, with retries until the timeout: a server that restarts is back soon."""
    end = time.monotonic() + STORAGE_TIMEOUT_SECONDS
    while True:
        try:
            return query()
        except storages.storage_errors():
            if time.monotonic() > end:
                raise
            time.sleep(1.0)


def _try_release(worker: StudyWorker, number: int) -> None:
    """Release a trial if the storage answers; the error that led here must not be hidden by another one."""
    with contextlib.suppress(*storages.storage_errors()):
        worker.claims.release(number)


def _start_trial(worker: StudyWorker, number: int) -> "tuple[optuna.Trial | None, bool]":
    """Optuna's trial of this number, created if needed; None if it has ended. Requires the claim."""
    from optuna.trial import Trial, TrialState

    frozen = trials_by_number(worker.optuna_study).get(number)
    resumed = frozen is not None
    if frozen is None:
        name, params = _propose_params(worker, number)
        worker.optuna_study.enqueue_trial(params, user_attrs={NUMBER_ATTR: number, NAME_ATTR: name})
        frozen = trials_by_number(worker.optuna_study)[number]
    if frozen.state.is_finished():
        return None, resumed
    if frozen.state == TrialState.WAITING:
        worker.storage.set_trial_state_values(frozen._trial_id, TrialState.RUNNING)
    trial = Trial(worker.optuna_study, frozen._trial_id)
    distributions = worker.study.search_space().distributions
    for setting in frozen.system_attrs.get("fixed_params", {}):
        trial._suggest(setting, distributions[setting].to_optuna())
    return trial, resumed


def _propose_params(worker: StudyWorker, number: int) -> tuple[str, Params]:
    """Name and combination of a trial; under TPE, the combination is reserved against concurrent workers."""
    past_trials, reserved_keys = worker.optuna_study.get_trials(deepcopy=True), set[ParamsKey]()
    if worker.study.sampler != "tpe":
        return propose_params(worker.study, number, past_trials)
    worker.claims.release_params(number)
    while True:
        name, params = propose_params(worker.study, number, past_trials, reserved_keys)
        if worker.claims.reserve_params(number, params):
            return name, params
        reserved_keys.add(params_key(params))


@dataclass
class TrialRunner:
    """The runs of one trial, one per seed."""

    worker: StudyWorker
    number: int
    params: Params
    trial: "optuna.Trial"
    stop: Stop
    state: str = ""
    """complete, pruned or failed; empty until then."""
    reason: str = ""
    seed_index: int = 0
    should_prune: bool = False
    pruner_step: int = 0
    seed_summaries: tuple[RunSummary, ...] = ()
    progress: TrialProgress = field(default_factory=TrialProgress)
    progress_sent_at: float = 0.0
    """Monotonic time of the last report to other workers."""

    def run(self) -> Iterator[StudyEvent]:
        study = self.worker.study
        for self.seed_index in range(study.seeds):
            folder = self.worker.study_folder.trial_folder(self.number, self.seed_index)
            for event in self._train_seed(folder):
                yield TrialEvent(self.number, self.seed_index, event)
                self._publish_progress(event)
                if isinstance(event, TrainingProgress):
                    self.pruner_step = min(PRUNER_STEPS, 1 + int(PRUNER_STEPS * event.fraction))
                if isinstance(event, ValidationFinished) and self.seed_index == 0:
                    with contextlib.suppress(*storages.storage_errors()):  # the pruner misses one validation
                        self._report_validation(event.result)
                if isinstance(event, TrainingInterrupted):
                    if self.should_prune:
                        self.state, self.seed_summaries = "pruned", (*self.seed_summaries, summarize_log(Run(folder)))
                    return
            if self.should_prune:  # training has ended anyway
                self.should_prune = False
            yield TrialEvent(self.number, self.seed_index, Note("scoring dev"))
            self.seed_summaries = (
                *self.seed_summaries,
                evaluate_trial_run(Run(folder), study.dev_sentences, study.base.train.device),
            )
        self.state = "complete"

    def _train_seed(self, folder: Path) -> Iterator[TrainingEvent]:
        """Train one seed. A worker that has lost its claim may hold the run until its next heartbeat: wait for it."""
        stop = lambda: self.should_prune or self.stop()  # noqa: E731
        for attempt in count():
            try:
                if is_run(folder):
                    yield from job.resume_run(folder, {}, stop)
                else:
                    yield from job.train_run(
                        folder, self.worker.study.build_config(self.params, self.seed_index), False, stop
                    )
                return
            except BusyError:
                if attempt == 0:
                    yield Alarm(f"another process is still training in {folder}; waiting until it ends")
                if _wait(self.stop):
                    yield TrainingInterrupted(Run(folder), 0)
                    return

    def _publish_progress(self, event: TrainingEvent) -> None:
        """Report progress to other workers every few seconds; a storage that does not answer gets the next report."""
        self.progress = self.progress.with_event(event)
        if time.monotonic() - self.progress_sent_at > PROGRESS_SECONDS:
            self.progress_sent_at = time.monotonic()
            with contextlib.suppress(*storages.storage_errors()):
                self.trial.set_user_attr(PROGRESS_ATTR, asdict(self.progress))

    def _report_validation(self, validation: Validation) -> None:
        """Report a validation to the pruner, and ask whether to prune."""
        value = self.worker.study.ranking_metric.of_validation(validation)
        if value is None or self.pruner_step in self.trial.storage.get_trial(self.trial._trial_id).intermediate_values:
            return
        self.trial.report(value, self.pruner_step)
        self.should_prune = self.trial.should_prune()

    def is_trial_error(self, error: RegardError) -> bool:
        """Whether an error is due to the settings of this trial; errors of files and folders would fail all trials."""
        if isinstance(error, FormatError | RunError):
            return False
        if isinstance(error, DataError) and not is_run(
            self.worker.study_folder.trial_folder(self.number, self.seed_index)
        ):
            return any(name.startswith("data.") for name in self.params)  # only data settings change how texts are read
        return True

    def store_outcome(self) -> None:
        """Store the outcome, then end Optuna's trial: after a kill between the two, only the second is repeated."""
        from optuna.trial import TrialState

        outcome = {
            "state": self.state,
            "reason": self.reason,
            "seed_summaries": [summary.as_dict() for summary in self.seed_summaries],
        }
        self.trial.set_user_attr(OUTCOME_ATTR, outcome)
        metric = self.worker.study.find_metric(self.seed_summaries[0].scores if self.seed_summaries else ())
        values = [value for summary in self.seed_summaries if (value := summary.value(metric)) is not None]
        if self.state == "complete" and values:
            self.worker.optuna_study.tell(self.trial, sum(values) / len(values), skip_if_finished=True)
        else:
            state = TrialState.PRUNED if self.state == "pruned" else TrialState.FAIL
            self.worker.optuna_study.tell(self.trial, state=state, skip_if_finished=True)


def name_validation_score(study: Study) -> str:
    """The score of predictions in validations: that of the study, or of its task; empty if there is none."""
    metrics = (study.ranking_metric, study.task.metrics[study.task.main_score])
    return next((metric.validated_name for metric in metrics if metric.validated_as == "score"), "")
