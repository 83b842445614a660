"""Studies: train over many settings or with several architectures, and see what matters."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.api.arguments import AnyPath, Files, list_files, optional_path, to_paths
from regard.api.terminal import interruptible
from regard.api.training import merge_values, name_columns
from regard.errors import ConfigError, RunError
from regard.report import Paragraph, Table, TableView, Value, render_fragment
from regard.tuning.analysis.evidence import analyze_study
from regard.tuning.analysis.findings import describe_study
from regard.tuning.architectures.comparison import ArchitectureComparison, compare_results
from regard.tuning.architectures.page import write_architectures_page
from regard.tuning.architectures.plan import open_comparison
from regard.tuning.architectures.verdict import describe_architectures
from regard.tuning.events import StudyEvent, StudyFinished
from regard.tuning.open_study import StudyOptions, join_study, open_or_create_study
from regard.tuning.pages.report import open_report
from regard.tuning.pages.study import write_study_page
from regard.tuning.results import TrialResult, rank_trials
from regard.tuning.space import Distribution, parse_distribution
from regard.tuning.study import format_params
from regard.tuning.worker import StudyWorker, run_trials


@dataclass(frozen=True, repr=False)
class StudyResult:
    """A study whose trials have ended."""

    folder: Path
    metric: str
    """The dev metric that ranks the trials."""
    trials: tuple[TrialResult, ...]
    """Every trial in order of its number."""
    ranking: tuple[TrialResult, ...]
    """The complete trials whose models work, best on dev first."""
    findings: tuple[str, ...]
    """What the study shows, in sentences that are each computed."""
    report: Path
    """The page of the study."""

    @property
    def best(self) -> TrialResult | None:
        """The best trial on dev; None if none has worked."""
        return self.ranking[0] if self.ranking else None

    def as_table(self) -> Table:
        """One row for each trial."""
        rows: list[dict[str, Value]] = [
            {
                "trial": trial.number,
                "name": trial.name,
                "settings": format_params(trial.params),
                "state": trial.state,
                self.metric: trial.value,
            }
            for trial in self.trials
        ]
        return Table.from_rows(rows)

    def __repr__(self) -> str:
        best = f", best: {self.best.label}" if self.best else ""
        return f"<StudyResult {self.folder}: {len(self.trials)} trials{best}>"

    def __str__(self) -> str:
        return "\n\n".join(self.findings)

    def _repr_html_(self) -> str:
        return render_fragment([Paragraph(str(self)), TableView(self.as_table())])


def tune(
    *files: Files,
    task: str | None = None,
    over: Mapping[str, Any] | None = None,
    dev: Files | None = None,
    test: Files | None = None,
    source: str | None = None,
    target: str | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    settings: Mapping[str, Any] | None = None,
    each: Mapping[str, float] | None = None,
    trials: int | None = None,
    seeds: int | None = None,
    study: Mapping[str, Any] | None = None,
    out: AnyPath | None = None,
    progress: bool = False,
) -> StudyResult:
    """Train over many settings and find out which ones matter.

        study = regard.tune(
            "pairs.tsv", over={"model.layers": [2, 4], "model.dropout": "0.1..0.4"}, each={"minutes": 6}, trials=16
        )
        study.best.params, study.findings

    `files` are training files, with `over`; or a study .toml; or a study folder, which is resumed. `over` has the
    values of each setting: a list, or a range such as "0.1..0.4", "log 1e-4..1e-2" and "2..8 by 2". `each` is the
    length of a trial in minutes, steps, epochs or tokens. `task`, `text`, `text_pair` and `label` are those of `train`.
    `study` takes further fields of a study file: sampler, pruner, metric, only, storage. Trials are runs in the folder
    `out`; a study that was interrupted is resumed.
    """
    data = {"data.dev": list_files(dev) or None, "data.test": list_files(test) or None}
    options: dict[str, object] = {"task": task, **data, "data.source": source, "data.target": target}
    values = merge_values(options | name_columns(task, text, text_pair, label), settings)
    fields = merge_values({"trials": trials, "seeds": seeds}, study)
    distributions = {name: _to_distribution(name, value) for name, value in (over or {}).items()}
    study_options = StudyOptions(to_paths(files), distributions, values, dict(each or {}), fields)
    worker = open_study(study_options, optional_path(out))
    with interruptible() as should_stop:
        finished = show_or_exhaust(worker, should_stop, progress)
    if not finished or should_stop.requested:
        raise should_stop.exception(
            f"the study is saved; resume it with regard.tune({str(worker.study_folder.path)!r})"
        )
    return summarize_study(worker)


def compare_architectures(
    *files: Files,
    task: str | None = None,
    each: Mapping[str, float] | None = None,
    seeds: int | None = None,
    dev: Files | None = None,
    test: Files | None = None,
    source: str | None = None,
    target: str | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    settings: Mapping[str, Any] | None = None,
    out: AnyPath | None = None,
    progress: bool = False,
) -> ArchitectureComparison:
    """Train an encoder, a decoder and an encoder-decoder for one job, and find out which is ahead.

        result = regard.compare_architectures("reviews.csv", task="classify", each={"minutes": 8})
        result.findings, result.as_table()

    All have equally many weights outside the token embeddings, the same tokenizer, data and settings, and the same
    length: `each` is that of one run in minutes (8), steps, epochs or tokens. Every architecture is trained with
    several `seeds` (3), and scored on the test set, which is held out of the training files unless there are `dev`
    and `test`. `files` are training files, or the folder of a comparison, which is resumed. Runs are in the folder
    `out`, as those of a study; finished ones are not repeated.
    """
    data = {"data.dev": list_files(dev) or None, "data.test": list_files(test) or None}
    options: dict[str, object] = {"task": task, **data, "data.source": source, "data.target": target}
    values = merge_values(options | name_columns(task, text, text_pair, label), settings)
    worker = open_comparison(to_paths(files), values, dict(each or {}), seeds, optional_path(out))
    with interruptible() as should_stop:
        finished = show_or_exhaust(worker, should_stop, progress)
    if not finished or should_stop.requested:
        raise should_stop.exception(
            f"the comparison is saved; resume it with regard.compare_architectures({str(worker.study_folder.path)!r})"
        )
    return summarize_architectures(worker)


def summarize_architectures(worker: StudyWorker) -> ArchitectureComparison:
    """Write the page of a comparison of architectures, and return what it shows."""
    comparison = compare_results(worker.study_folder.path, worker.study, worker.results())
    comparison = replace(comparison, findings=tuple(describe_architectures(comparison)))
    write_architectures_page(comparison)
    return comparison


def open_study(
    options: StudyOptions, out: Path | None, storage: str | None = None, name: str | None = None
) -> StudyWorker:
    """A worker of a new study, of one that is resumed, or of the one in a storage."""
    if storage is None:
        return open_or_create_study(options, out)
    if any(vars(options).values()):
        raise ConfigError("--worker joins a study unchanged: leave out files and settings")
    return join_study(storage, name, out)


def show_or_exhaust(worker: StudyWorker, should_stop: Callable[[], bool], progress: bool) -> bool:
    """Train every trial; whether all have ended."""
    events = run_trials(worker, should_stop)
    if progress:
        from regard.display.study import show_study

        return show_study(events, worker.study_folder, worker.peek)
    return isinstance(_last(events), StudyFinished)


def summarize_study(worker: StudyWorker) -> StudyResult:
    """Write the page of a study, and return what it shows."""
    results = worker.results()
    report = write_study_page(worker)
    if all(result.state == "failed" for result in results):
        reasons = "; ".join(dict.fromkeys(result.reason for result in results if result.reason))
        raise RunError(f"{worker.study_folder.path}: every trial has failed; correct the study. The reasons: {reasons}")
    analysis, _ = analyze_study(worker.study, results)
    return StudyResult(
        folder=worker.study_folder.path,
        metric=worker.study.metric_key,
        trials=results,
        ranking=tuple(rank_trials(worker.study, results)),
        findings=tuple(describe_study(analysis)),
        report=report,
    )


def write_report(
    folder: AnyPath, *, all_tests: bool = False, pads_counted: bool = False, storage: str | None = None
) -> Path:
    """Write the page of a study or of a finished run again, and return its path.

    Of a run that is not finished, or whose data is no longer there, the page stays as it is. Of a study, `all_tests`
    shows the test scores of every trial, `pads_counted` accuracy and loss as if padding counted.
    """
    return open_report(Path(folder), all_tests, pads_counted, storage)


def _to_distribution(name: str, value: Any) -> Distribution:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return parse_distribution(name, list(value))
    return parse_distribution(name, value)


def _last(events: Iterator[StudyEvent]) -> StudyEvent | None:
    remaining = deque(events, maxlen=1)
    return remaining[0] if remaining else None
