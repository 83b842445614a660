"""Results of all trials, read from the storage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.jobs.train.events import TrainingEvent, TrainingProgress, ValidationFinished
from regard.run import Run
from regard.tuning.claims import CLAIMED, FINISHED, TrialClaims, is_dead
from regard.tuning.folder import StudyFolder
from regard.tuning.measure import RunSummary
from regard.tuning.space import Params
from regard.tuning.study import Study

if TYPE_CHECKING:
    import optuna

NUMBER_ATTR, NAME_ATTR = "regard.number", "regard.name"
PROGRESS_ATTR, OUTCOME_ATTR = "regard.progress", "regard.outcome"
FINISHED_STATES = ("complete", "pruned", "failed")


@dataclass(frozen=True)
class TrialProgress:
    """Progress of a running trial, as other workers see it."""

    step: int = 0
    seconds_left: float | None = None
    loss: float | None = None
    """Dev loss at the last validation."""
    score: float | None = None
    """The score of its predictions, where it had any."""

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> "TrialProgress":
        """The progress that another worker has stored, which may be of another version."""
        return cls(**{one.name: table[one.name] for one in fields(cls) if one.name in table})

    def with_event(self, event: TrainingEvent) -> "TrialProgress":
        """The progress after an event."""
        if isinstance(event, TrainingProgress):
            return replace(self, step=event.step.number, seconds_left=event.seconds_left)
        if isinstance(event, ValidationFinished):
            score = event.result.score
            return replace(self, loss=event.result.loss, score=score.value if score else None)
        return self


@dataclass(frozen=True)
class TrialResult:
    """One trial: its combination and its outcome."""

    number: int
    name: str
    state: str
    """waiting, running, interrupted, complete, pruned or failed."""
    params: Params
    value: float | None = None
    """The dev metric, averaged over seeds."""
    values: tuple[float, ...] = ()
    """The dev metric of each seed."""
    seed_summaries: tuple[RunSummary, ...] = ()
    folders: tuple[Path, ...] = ()
    """The run folders that exist on this machine."""
    reason: str = ""
    """Why it failed."""
    intermediate_values: Mapping[int, float] = field(default_factory=dict)
    """The metric during training, by twentieths of the budget."""
    progress: TrialProgress = TrialProgress()
    metric_name: str = ""
    """What the value is called where another metric stands in for that of the study; otherwise empty."""

    @property
    def label(self) -> str:
        """The name for text and charts: `set 1`, or `trial 7` if the trial has a number only."""
        return self.name if not self.name.isdigit() else f"trial {self.name}"

    @property
    def first_run(self) -> Run | None:
        """The first of its runs on this machine."""
        return Run(self.folders[0]) if self.folders else None

    @property
    def first_summary(self) -> RunSummary | None:
        return self.seed_summaries[0] if self.seed_summaries else None

    @property
    def collapse_reason(self) -> str:
        """Why the model does not work: the reason of the first seed that has one; empty if it works."""
        return next((one.collapse_reason for one in self.seed_summaries if one.collapse_reason), "")

    @property
    def diagnosis(self) -> str:
        """What is wrong with it, of the same seed: collapsed, or not trained long enough."""
        return next((one.diagnosis for one in self.seed_summaries if one.diagnosis), "")

    @property
    def verdict(self) -> str:
        """The diagnosis of a model that does not work, otherwise the state."""
        return self.diagnosis or self.state

    @property
    def is_ranked(self) -> bool:
        """Whether it is complete and its model works."""
        return self.state == "complete" and not self.collapse_reason and self.value is not None


def collect_results(
    study: Study, optuna_study: "optuna.Study", claims: TrialClaims, study_folder: StudyFolder
) -> list[TrialResult]:
    """Every trial in order of its number, including those that have not started."""
    frozen_trials = trials_by_number(optuna_study)
    predefined_trials = list((study.predefined_params() or {}).items())
    out = []
    for row in claims.rows():
        trial = frozen_trials.get(row.number)
        name, params = (
            predefined_trials[row.number - 1] if row.number <= len(predefined_trials) else (f"{row.number}", {})
        )
        state = _unfinished_state(row, started=trial is not None)
        if trial is not None:
            out.append(_build_result(TrialResult(row.number, name, state, params), trial, study, study_folder))
        elif row.number <= study.num_trials():  # otherwise the study has become smaller
            out.append(TrialResult(row.number, name, state, params))
    return out


def _unfinished_state(row: Any, started: bool) -> str:
    """The state of a trial without an outcome; one that has started and has no live owner was interrupted."""
    if row.state == FINISHED:
        return "failed"
    if row.state == CLAIMED and not is_dead(row.owner):
        return "running"
    return "interrupted" if started else "waiting"


def trials_by_number(optuna_study: "optuna.Study") -> "dict[int, optuna.trial.FrozenTrial]":
    trials = optuna_study.get_trials(deepcopy=False)
    return {trial.user_attrs[NUMBER_ATTR]: trial for trial in trials if NUMBER_ATTR in trial.user_attrs}


def _build_result(
    result: TrialResult, trial: "optuna.trial.FrozenTrial", study: Study, study_folder: StudyFolder
) -> TrialResult:
    """The result with everything that Optuna has stored of the trial."""
    outcome: dict[str, Any] = trial.user_attrs.get(OUTCOME_ATTR, {})
    summaries = tuple(RunSummary(**one) for one in outcome.get("seed_summaries", ()))
    metric = study.find_metric(summaries[0].scores if summaries else ())
    values = tuple(value for one in summaries if (value := one.value(metric)) is not None)
    folders = (study_folder.trial_folder(result.number, seed_index) for seed_index in range(study.seeds))
    return replace(
        result,
        name=trial.user_attrs[NAME_ATTR],
        state=outcome.get("state", "failed") if trial.state.is_finished() else result.state,
        params=dict(trial.system_attrs.get("fixed_params", {})) or dict(trial.params) or result.params,
        value=sum(values) / len(values) if values else None,
        values=values,
        metric_name=summaries[0].name_score(metric) if summaries and metric != study.metric_key else "",
        seed_summaries=summaries,
        folders=tuple(folder for folder in folders if folder.is_dir()),
        reason=outcome.get("reason", ""),
        intermediate_values=dict(trial.intermediate_values),
        progress=TrialProgress.read(trial.user_attrs.get(PROGRESS_ATTR, {})),
    )


def name_metric(study: Study, results: Sequence[TrialResult]) -> str:
    """What the metric of a study is called; the trials say so where another one stands in for it."""
    return next((result.metric_name for result in results if result.metric_name), study.ranking_metric.name)


def rank_trials(study: Study, results: Sequence[TrialResult]) -> list[TrialResult]:
    """The complete trials whose models work, best on dev first."""
    working = [result for result in results if result.is_ranked]
    return sorted(working, key=lambda r: (r.value or 0.0) * (-1 if study.maximize else 1))
