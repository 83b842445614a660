"""Charts of the settings of a study: their importance, and the score of every trial by its settings."""

from collections import Counter
from collections.abc import Sequence

from regard.jobs.tasks.task_metric import TaskMetric
from regard.report import Chart, Sweep, Table, Value, ValueAxis, bar_chart, parallel_coordinates, slice_plot
from regard.tuning.analysis.evidence import StudyAnalysis, find_varying_names
from regard.tuning.analysis.findings import qualify_importances
from regard.tuning.analysis.wording import format_count
from regard.tuning.results import TrialResult
from regard.tuning.space import Range
from regard.tuning.study import format_value, short_name

SCORE = "score"
LAST_VALIDATION = "score of the last validation"


def draw_parameter_charts(analysis: StudyAnalysis) -> list[Chart]:
    """Importance, parallel coordinates and slices; empty where fewer than two trials are ranked."""
    names = find_varying_names(analysis.study, analysis.ranking)
    if len(analysis.ranking) < 2 or not names:
        return []
    charts = [_draw_importances(analysis)] if analysis.importances else []
    sweep = build_sweep(analysis, names)
    parallel = parallel_coordinates(
        sweep, title="Parallel coordinates of all trials", higher_is_better=analysis.study.maximize
    )
    return [
        *charts,
        parallel.with_name("parallel"),
        slice_plot(sweep, title="Effect of each setting").with_name("slices"),
    ]


def build_sweep(analysis: StudyAnalysis, names: Sequence[str]) -> Sweep:
    """The trials with these settings; those that were stopped early or have collapsed are not ranked."""
    distributions = analysis.study.search_space().distributions
    unranked = [result for result in analysis.results if not result.is_ranked and result.params and _ended(result)]
    metric = analysis.study.ranking_metric
    return Sweep(
        ranked=Table.from_rows(_row(result, names, result.value) for result in analysis.ranking),
        settings=[short_name(name) for name in names],
        score=SCORE,
        score_title=f"dev {analysis.metric}",
        best=0,
        scales={
            short_name(name): "log" if distribution.log else "linear"
            for name in names
            if isinstance(distribution := distributions[name], Range)
        },
        unranked=Table.from_rows(_row(r, names, last_score(r, metric)) for r in unranked),
        warnings=describe_warnings(analysis, "no score" if metric.stand_in else LAST_VALIDATION),
    )


def describe_warnings(analysis: StudyAnalysis, stopped_score: str) -> list[str]:
    """What a picture of the scores must not be read without; `stopped_score` says where stopped trials are in it."""
    stopped = [result for result in analysis.results if result.state == "pruned"]
    diagnoses = Counter(result.diagnosis for result in analysis.results if result.diagnosis)
    warnings = []
    if stopped:
        warnings.append(f"{format_count(len(stopped), 'trial')} stopped early: {stopped_score}")
    warnings += [f"{format_count(count, 'trial')} {diagnosis}" for diagnosis, count in diagnoses.items()]
    tests = analysis.claims.trials.values()
    if not tests:
        warnings.append("differences from the best were not tested")
    elif not any(test.significant for test in tests):
        warnings.append("no trial differs significantly from the best")
    if analysis.study.seeds == 1:
        warnings.append("one seed each")
    return warnings


def last_score(result: TrialResult, metric: TaskMetric) -> float | None:
    """The score of a trial that is not ranked: of a stopped one at its last validation, where that has the metric."""
    if result.state != "pruned":
        return result.value
    if metric.stand_in or not result.intermediate_values:
        return None
    return max(result.intermediate_values.items())[1]


def format_cell(value: object) -> Value:
    """The value of a setting, for a table."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str | int | float) or value is None else format_value(value)


def _draw_importances(analysis: StudyAnalysis) -> Chart:
    rows: list[dict[str, Value]] = [
        {"setting": short_name(name), "share": round(100 * share)}
        for name, share in sorted(analysis.importances.items(), key=lambda item: -item[1])
    ]
    chart = bar_chart(
        Table.from_rows(rows),
        "setting",
        "share",
        title="Importance of settings (fANOVA)",
        x_title="",
        y_title=ValueAxis(f"% of the variance of dev {analysis.metric}", (0.0, 100.0)),
    )
    return chart.with_note(qualify_importances(analysis)).with_name("importance")


def _ended(result: TrialResult) -> bool:
    return result.state == "pruned" or bool(result.collapse_reason)


def _row(result: TrialResult, names: Sequence[str], score: float | None) -> dict[str, Value]:
    return {short_name(name): format_cell(result.params.get(name)) for name in names} | {SCORE: score}
