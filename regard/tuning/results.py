"""What has come of every trial, as the storage tells it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.jobs.train.events import TrainingEvent, TrainingProgress, ValidationFinished
from regard.tuning.claims import CLAIMED, FINISHED, TrialClaims, is_dead
from regard.tuning.folder import StudyFolder
from regard.tuning.measure import RunSummary
from regard.tuning.space import Params
from regard.tuning.study import Study

if TYPE_CHECKING:
    import optuna

NUMBER_ATTR, NAME_ATTR, PROGRESS_ATTR, OUTCOME_ATTR = "regard.number", "regard.name", "regard.progress", "regard.outcome"


@dataclass(frozen=True)
class TrialProgress:
    """How far a trial is that is being trained, as whoever looks from elsewhere sees it."""

    step: int = 0
    seconds_left: float | None = None
    loss: float | None = None
    """On dev, at the last look."""
    bleu: float | None = None

    def with_event(self, event: TrainingEvent) -> "TrialProgress":
        """The same once something has happened."""
        if isinstance(event, TrainingProgress):
            return replace(self, step=event.step.number, seconds_left=event.seconds_left)
        if isinstance(event, ValidationFinished):
            return replace(self, loss=event.result.loss, bleu=event.result.bleu.value if event.result.bleu else None)
        return self


@dataclass(frozen=True)
class TrialResult:
    """One trial: what it tried and what came of it."""

    number: int
    name: str
    state: str
    """waiting, running, interrupted, complete, stopped (early, by the pruner) or failed."""
    params: Params
    value: float | None = None
    """The dev metric, a mean where there are several seeds."""
    values: tuple[float, ...] = ()
    """The same for each seed."""
    seed_summaries: tuple[RunSummary, ...] = ()
    """Each seed in numbers."""
    folders: tuple[Path, ...] = ()
    """The run folders that are on this machine."""
    reason: str = ""
    """Why it failed."""
    intermediate_values: Mapping[int, float] = field(default_factory=dict)
    """The metric as training went, by twentieths of the budget."""
    progress: TrialProgress = TrialProgress()
    """How far it is, while it is running."""

    @property
    def first_summary(self) -> RunSummary | None:
        return self.seed_summaries[0] if self.seed_summaries else None

    @property
    def collapse_reason(self) -> str:
        """Why this combination does not work: the reason of the first seed that does not."""
        return next((one.collapse_reason for one in self.seed_summaries if one.collapse_reason), "")

    @property
    def is_ranked(self) -> bool:
        """Whether it may stand among those that work and were trained to their end."""
        return self.state == "complete" and not self.collapse_reason and self.value is not None


def collect_results(
    study: Study, optuna_study: "optuna.Study", claims: TrialClaims, study_folder: StudyFolder
) -> list[TrialResult]:
    """Every trial in order of its number, those included that nobody has begun."""
    frozen_trials = trials_by_number(optuna_study)
    predefined_params = study.predefined_params()
    predefined_trials = list(predefined_params.items()) if predefined_params is not None else []
    out = []
    for row in claims.rows():
        trial = frozen_trials.get(row.number)
        name_and_params = (
            predefined_trials[row.number - 1] if row.number <= len(predefined_trials) else (f"{row.number}", {})
        )
        if trial is not None:
            out.append(
                _build_result(
                    row.number, trial, _unfinished_state(row, started=True), name_and_params[1], study, study_folder
                )
            )
        elif row.number <= study.num_trials():  # else it was planned, and is no longer
            out.append(
                TrialResult(row.number, name_and_params[0], _unfinished_state(row, started=False), name_and_params[1])
            )
    return out


def _unfinished_state(row: Any, started: bool) -> str:
    """How a trial stands whose outcome is not known: one that nobody holds any longer was interrupted."""
    if row.state == FINISHED:
        return "failed"
    if row.state == CLAIMED and not is_dead(row.owner):
        return "running"
    return "interrupted" if started else "waiting"


def trials_by_number(optuna_study: "optuna.Study") -> "dict[int, optuna.trial.FrozenTrial]":
    trials = optuna_study.get_trials(deepcopy=False)
    return {trial.user_attrs[NUMBER_ATTR]: trial for trial in trials if NUMBER_ATTR in trial.user_attrs}


def _build_result(
    number: int, trial: "optuna.trial.FrozenTrial", state: str, params: Params, study: Study, study_folder: StudyFolder
) -> TrialResult:
    outcome: dict[str, Any] = trial.user_attrs.get(OUTCOME_ATTR, {})
    if trial.state.is_finished():
        state = outcome.get("state", "failed")
    summaries = tuple(RunSummary(**one) for one in outcome.get("seed_summaries", ()))
    values = tuple(value for one in summaries if (value := one.value(study.metric)) is not None)
    folders = tuple(
        folder for seed in range(study.seeds) if (folder := study_folder.trial_folder(number, seed)).is_dir()
    )
    return TrialResult(
        number=number,
        name=trial.user_attrs[NAME_ATTR],
        state=state,
        params=dict(trial.system_attrs.get("fixed_params", {})) or dict(trial.params) or params,
        value=sum(values) / len(values) if values else None,
        values=values,
        seed_summaries=summaries,
        folders=folders,
        reason=outcome.get("reason", ""),
        intermediate_values=dict(trial.intermediate_values),
        progress=TrialProgress(**trial.user_attrs.get(PROGRESS_ATTR, {})),
    )


def rank_trials(study: Study, results: Sequence[TrialResult]) -> list[TrialResult]:
    """Those that work and were trained to their end, the best on dev first."""
    working = [result for result in results if result.is_ranked]
    return sorted(working, key=lambda r: (r.value or 0.0) * (-1 if study.maximize else 1))
