"""A worker: takes a trial, trains it as an ordinary run, says what came of it, and takes the next."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regard.errors import BusyError, DataError, FormatError, RegardError, RunError
from regard.jobs.load import pick_device
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
from regard.tuning.claims import Claims
from regard.tuning.events import Began, Done, Ended, Happening, Idle, Planned, Stopped, Went
from regard.tuning.folder import StudyFolder
from regard.tuning.measure import Measured, glance, measure
from regard.tuning.propose import Key, propose
from regard.tuning.results import NAME, NOW, NUMBER, OUTCOME, Glimpse, Result, results, trials_by_number
from regard.tuning.space import Point, key
from regard.tuning.study import Study, distribution

if TYPE_CHECKING:
    import optuna
    from optuna.storages import RDBStorage

POLL_SECONDS = 2.0
TELL_SECONDS = 3.0  # between two words to the other workers about how far a trial is
PARTS = 20  # looks at a trial are compared at equal shares of its budget, counted in so many parts
PATIENT_SECONDS = 60.0  # that a storage may be silent
Stop = Callable[[], bool]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Bench:
    """Where a worker works: the study, its folder here, its storage, and the table of who has what."""

    study: Study
    place: StudyFolder
    storage: "RDBStorage"
    found: "optuna.Study"
    claims: Claims

    def results(self) -> tuple[Result, ...]:
        return tuple(results(self.study, self.found, self.claims, self.place))

    def peek(self) -> tuple[Result, ...]:
        """The same from a thread of its own, which leaves no connection behind."""
        try:
            return self.results()
        finally:
            self.storage.remove_session()

    def close(self) -> None:
        """Let go of the storage."""
        self.storage.remove_session()
        self.storage.engine.dispose()


def work(bench: Bench, stop: Stop) -> Iterator[Happening]:
    """Train until every trial is done, by us or by others."""
    try:
        yield from _work(bench, stop)
    except storages.errors() as error:
        reason = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
        raise RunError(
            f"storage {storages.without_password(bench.storage.url)} is gone ({reason}). What was trained is kept; "
            f"once it is back, go on with `regard tune {bench.place.folder}`."
        ) from error


def _work(bench: Bench, stop: Stop) -> Iterator[Happening]:
    pick_device(bench.study.base.train.device)  # or every trial would fail that another worker could train
    last = bench.study.count()
    bench.claims.plan(last)
    bench.found.pruner = pruner(bench.study)
    yield Planned(bench.study.name, bench.study.metric, bench.results())
    while _patiently(lambda: bench.claims.open(last)):
        number = _patiently(lambda: bench.claims.take(last))
        if number is not None:
            for happening in _trial(bench, number, stop):
                yield happening
                if isinstance(happening, Stopped):
                    return
            continue
        yield Idle(sum(result.state == "running" for result in bench.results()))
        if _pause(stop):
            return
    yield Done(bench.results())


def pruner(study: Study) -> Any:
    """What stops weak trials, as Optuna has it; looks are counted in parts of the budget."""
    from optuna import pruners

    if study.pruner == "halving":
        return pruners.SuccessiveHalvingPruner(min_resource=2, reduction_factor=3)
    if study.pruner == "median":
        return pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=PARTS // 5)
    return pruners.NopPruner()


def _pause(stop: Stop) -> bool:
    """Wait a moment for others; whether somebody has stopped us."""
    end = time.monotonic() + POLL_SECONDS
    while time.monotonic() < end:
        if stop():
            return True
        time.sleep(0.1)
    return False


def _trial(bench: Bench, number: int, stop: Stop) -> Iterator[Happening]:
    """One trial that is ours: begun or taken up, trained once for every seed, and told."""
    with bench.claims.held(number) as lost:
        trial, again = _patiently(lambda: _begin(bench, number))
        if trial is None:  # it was told, and only the last word is missing
            bench.claims.finish(number)
            return
        point = dict(trial.params)
        yield Began(number, trial.user_attrs[NAME], point, again)
        training = Training(bench, number, point, trial, lambda: stop() or lost.is_set())
        try:
            yield from training.train()
        except RegardError as error:
            if not training.to_blame(error):
                _release(bench, number)
                raise
            training.state, training.reason = "failed", str(error)
        except BaseException:
            _release(bench, number)
            raise
        ours = not lost.is_set() and _patiently(lambda: bench.claims.beat(number))
        if not ours:  # whoever has it now tells what came of it
            return
        if training.state == "":  # somebody stopped us
            bench.claims.release(number)
            yield Stopped(number)
            return
        _patiently(training.tell)
    _patiently(lambda: bench.claims.finish(number))
    yield Ended(next(result for result in bench.results() if result.number == number))


def _patiently(ask: Callable[[], Answer]) -> Answer:
    """What a storage answers, asked again for a while if it does not: a server that is started anew is back soon."""
    end = time.monotonic() + PATIENT_SECONDS
    while True:
        try:
            return ask()
        except storages.errors():
            if time.monotonic() > end:
                raise
            time.sleep(1.0)


def _release(bench: Bench, number: int) -> None:
    """Leave a trial to others, if the storage still answers: what went wrong before is what is to be told."""
    with contextlib.suppress(*storages.errors()):
        bench.claims.release(number)


def _begin(bench: Bench, number: int) -> "tuple[optuna.Trial | None, bool]":
    """Optuna's trial of this number, made if nobody has made it: only who holds the claim comes here."""
    from optuna.trial import Trial, TrialState

    frozen = trials_by_number(bench.found).get(number)
    again = frozen is not None
    if frozen is None:
        name, point = _proposed(bench, number)
        bench.found.enqueue_trial(point, user_attrs={NUMBER: number, NAME: name})
        frozen = trials_by_number(bench.found)[number]
    if frozen.state.is_finished():
        return None, again
    if frozen.state == TrialState.WAITING:
        bench.storage.set_trial_state_values(frozen._trial_id, TrialState.RUNNING)
    trial = Trial(bench.found, frozen._trial_id)
    choices = bench.study.choices()
    for setting in frozen.system_attrs.get("fixed_params", {}):
        trial._suggest(setting, distribution(choices[setting]))
    return trial, again


def _proposed(bench: Bench, number: int) -> tuple[str, Point]:
    """What the trial is to try; under TPE, what no other worker has come upon in the same moment."""
    past, others = bench.found.get_trials(deepcopy=True), set[Key]()
    if bench.study.sampler != "tpe":
        return propose(bench.study, number, past)
    bench.claims.forget(number)
    while True:
        name, point = propose(bench.study, number, past, others)
        if bench.claims.reserve(number, repr(key(point))):
            return name, point
        others.add(key(point))


@dataclass
class Training:
    """The runs of one trial, one for each seed."""

    bench: Bench
    number: int
    point: Point
    trial: "optuna.Trial"
    stop: Stop
    state: str = ""
    """complete, stopped or failed; empty while it is none of them."""
    reason: str = ""
    seed: int = 0
    weak: bool = False
    part: int = 0
    measured: tuple[Measured, ...] = ()
    glimpse: Glimpse = field(default_factory=Glimpse)
    told: float = 0.0
    """When others were last told how far it is."""

    def train(self) -> Iterator[Happening]:
        study = self.bench.study
        for self.seed in range(study.seeds):
            folder = self.bench.place.trial(self.number, self.seed)
            for event in self._fit(folder):
                yield Went(self.number, self.seed, event)
                self._show(event)
                if isinstance(event, TrainingProgress):
                    self.part = min(PARTS, 1 + int(PARTS * event.fraction))
                if isinstance(event, ValidationFinished) and self.seed == 0:
                    with contextlib.suppress(*storages.errors()):  # one look less, if the storage does not answer
                        self._look(event.result)
                if isinstance(event, TrainingInterrupted):
                    if self.weak:
                        self.state, self.measured = "stopped", (*self.measured, glance(Run(folder)))
                    return
            if self.weak:  # its last look came too late to stop anything
                self.weak = False
            yield Went(self.number, self.seed, Note("scoring dev"))
            self.measured = (*self.measured, measure(Run(folder), study.dev_sentences, study.base.train.device))
        self.state = "complete"

    def _fit(self, folder: Path) -> Iterator[TrainingEvent]:
        """Train, once nobody else does: a worker that we took for dead may still hold the run until it learns of us."""
        stop = lambda: self.weak or self.stop()  # noqa: E731
        for attempt in count():
            try:
                if is_run(folder):
                    yield from job.resume_run(folder, [], stop)
                else:
                    yield from job.train_run(folder, self.bench.study.config(self.point, self.seed), False, stop)
                return
            except BusyError:
                if attempt == 0:
                    yield Alarm(f"another process still trains in {folder}; waiting until it ends")
                if _pause(self.stop):
                    yield TrainingInterrupted(Run(folder), 0)
                    return

    def _show(self, event: TrainingEvent) -> None:
        """Let other workers see how far it is, every few seconds; a storage that does not answer is told later."""
        self.glimpse = self.glimpse.after(event)
        if time.monotonic() - self.told > TELL_SECONDS:
            self.told = time.monotonic()
            with contextlib.suppress(*storages.errors()):
                self.trial.set_user_attr(NOW, asdict(self.glimpse))

    def _look(self, check: Validation) -> None:
        """Tell the pruner how dev looks, and ask whether that is too weak."""
        value = seen(check, self.bench.study.metric)
        if value is None or self.part in self.trial.storage.get_trial(self.trial._trial_id).intermediate_values:
            return
        self.trial.report(value, self.part)
        self.weak = self.trial.should_prune()

    def to_blame(self, error: RegardError) -> bool:
        """Whether an error is due to the settings of this trial; files and folders would fail all others as well."""
        if isinstance(error, FormatError | RunError):
            return False
        if isinstance(error, DataError) and not is_run(self.bench.place.trial(self.number, self.seed)):
            return any(name.startswith("data.") for name in self.point)  # nothing else decides how texts are read
        return True

    def tell(self) -> None:
        """Put the outcome beside the trial, then end it: a kill between the two repeats only the last word."""
        from optuna.trial import TrialState

        outcome = {"state": self.state, "reason": self.reason, "measured": [one.as_dict() for one in self.measured]}
        self.trial.set_user_attr(OUTCOME, outcome)
        metric = self.bench.study.metric
        values = [value for one in self.measured if (value := one.value(metric)) is not None]
        if self.state == "complete" and values:
            self.bench.found.tell(self.trial, sum(values) / len(values), skip_if_finished=True)
        else:
            state = TrialState.PRUNED if self.state == "stopped" else TrialState.FAIL
            self.bench.found.tell(self.trial, state=state, skip_if_finished=True)


def seen(check: Validation, metric: str) -> float | None:
    """The metric as a look at dev has it; chrF is not computed there, and BLEU stands in for it."""
    if metric in ("loss", "accuracy"):
        return check.loss if metric == "loss" else 100 * check.accuracy
    return check.bleu.value if check.bleu else None
