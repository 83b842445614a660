"""What has come of every trial, as the storage tells it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.jobs.train.events import TrainingEvent, TrainingProgress, ValidationFinished
from regard.tuning.claims import DONE, TAKEN, Claims, is_gone
from regard.tuning.folder import StudyFolder
from regard.tuning.measure import Measured
from regard.tuning.space import Point
from regard.tuning.study import Study

if TYPE_CHECKING:
    import optuna

NUMBER, NAME, NOW, OUTCOME = "regard.number", "regard.name", "regard.now", "regard.outcome"


@dataclass(frozen=True)
class Glimpse:
    """How far a trial is that is being trained, as whoever looks from elsewhere sees it."""

    step: int = 0
    seconds_left: float | None = None
    loss: float | None = None
    """On dev, at the last look."""
    bleu: float | None = None

    def after(self, event: TrainingEvent) -> "Glimpse":
        """The same once something has happened."""
        if isinstance(event, TrainingProgress):
            return replace(self, step=event.step.number, seconds_left=event.seconds_left)
        if isinstance(event, ValidationFinished):
            return replace(self, loss=event.result.loss, bleu=event.result.bleu.value if event.result.bleu else None)
        return self


@dataclass(frozen=True)
class Result:
    """One trial: what it tried and what came of it."""

    number: int
    name: str
    state: str
    """waiting, running, interrupted, complete, stopped (early, by the pruner) or failed."""
    point: Point
    value: float | None = None
    """The dev metric, a mean where there are several seeds."""
    values: tuple[float, ...] = ()
    """The same for each seed."""
    measured: tuple[Measured, ...] = ()
    """Each seed in numbers."""
    folders: tuple[Path, ...] = ()
    """The run folders that are on this machine."""
    reason: str = ""
    """Why it failed."""
    reports: Mapping[int, float] = field(default_factory=dict)
    """The metric as training went, by twentieths of the budget."""
    now: Glimpse = Glimpse()
    """How far it is, while it is running."""

    @property
    def first(self) -> Measured | None:
        return self.measured[0] if self.measured else None

    @property
    def collapsed(self) -> str:
        """Why this combination does not work: the reason of the first seed that does not."""
        return next((one.collapsed for one in self.measured if one.collapsed), "")

    @property
    def ranked(self) -> bool:
        """Whether it may stand among those that work and were trained to their end."""
        return self.state == "complete" and not self.collapsed and self.value is not None


def results(study: Study, found: "optuna.Study", claims: Claims, place: StudyFolder) -> list[Result]:
    """Every trial in order of its number, those included that nobody has begun."""
    frozen = trials_by_number(found)
    points = study.fixed_points()
    names = list(points.items()) if points is not None else []
    out = []
    for row in claims.rows():
        trial = frozen.get(row.number)
        known = names[row.number - 1] if row.number <= len(names) else (f"{row.number}", {})
        if trial is not None:
            out.append(_result(row.number, trial, _state(row, begun=True), known[1], study, place))
        elif row.number <= study.count():  # else it was planned, and is no longer
            out.append(Result(row.number, known[0], _state(row, begun=False), known[1]))
    return out


def _state(row: Any, begun: bool) -> str:
    """How a trial stands whose outcome is not known: one that nobody holds any longer was interrupted."""
    if row.state == DONE:
        return "failed"
    if row.state == TAKEN and not is_gone(row.owner):
        return "running"
    return "interrupted" if begun else "waiting"


def trials_by_number(found: "optuna.Study") -> "dict[int, optuna.trial.FrozenTrial]":
    trials = found.get_trials(deepcopy=False)
    return {trial.user_attrs[NUMBER]: trial for trial in trials if NUMBER in trial.user_attrs}


def _result(
    number: int, trial: "optuna.trial.FrozenTrial", state: str, point: Point, study: Study, place: StudyFolder
) -> Result:
    outcome: dict[str, Any] = trial.user_attrs.get(OUTCOME, {})
    if trial.state.is_finished():
        state = outcome.get("state", "failed")
    measured = tuple(Measured(**one) for one in outcome.get("measured", ()))
    values = tuple(value for one in measured if (value := one.value(study.metric)) is not None)
    folders = tuple(folder for seed in range(study.seeds) if (folder := place.trial(number, seed)).is_dir())
    return Result(
        number=number,
        name=trial.user_attrs[NAME],
        state=state,
        point=dict(trial.system_attrs.get("fixed_params", {})) or dict(trial.params) or point,
        value=sum(values) / len(values) if values else None,
        values=values,
        measured=measured,
        folders=folders,
        reason=outcome.get("reason", ""),
        reports=dict(trial.intermediate_values),
        now=Glimpse(**trial.user_attrs.get(NOW, {})),
    )


def ranking(study: Study, found: Sequence[Result]) -> list[Result]:
    """Those that work and were trained to their end, the best on dev first."""
    working = [result for result in found if result.ranked]
    return sorted(working, key=lambda r: (r.value or 0.0) * (-1 if study.up else 1))
