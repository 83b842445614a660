"""studies/x/report.html: a study on one offline page."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from regard import config as settings
from regard.jobs.evaluate import read_set_scores
from regard.jobs.tasks.reporting.example_section import ExampleSection
from regard.metrics import Score
from regard.metrics.score import digits_of, format_with_margin
from regard.progress import stage, track
from regard.report import (
    Chart,
    DefinitionList,
    Figure,
    PagePart,
    Paragraph,
    Section,
    Table,
    TableView,
    Value,
    render_page,
    write_page,
)
from regard.tuning.analysis.cost import collect_costs, draw_cost_charts
from regard.tuning.analysis.curves import LogCurves, read_log_curves
from regard.tuning.analysis.decision import compare_with_best, decide
from regard.tuning.analysis.evidence import StudyAnalysis, analyze_study
from regard.tuning.analysis.findings import describe_study
from regard.tuning.analysis.recommend import explain_no_ranking
from regard.tuning.analysis.wording import capitalize
from regard.tuning.measure import RunSummary
from regard.tuning.pages.curve_charts import draw_loss_panels, draw_switched_curves, list_units, switch_curves
from regard.tuning.pages.links import link_report
from regard.tuning.pages.parameter_charts import describe_warnings, draw_parameter_charts, format_cell
from regard.tuning.results import TrialResult
from regard.tuning.study import Study, format_params, short_name
from regard.tuning.worker import StudyWorker

MAX_NAMED_CURVES = 6  # curves with a color and a label
MAX_EXAMPLE_TRIALS = 6  # trials whose single examples are shown


def write_study_page(worker: StudyWorker, all_tests: bool = False, pads_counted: bool = False) -> Path:
    """Write the page of a study and its charts; returns the path of the page."""
    with stage("analyzing trials"):
        analysis, log_curves = analyze_study(worker.study, worker.results())
        study_page = StudyPage(worker, analysis, log_curves, all_tests, pads_counted)
    for chart in track(study_page.charts(), "drawing charts"):
        chart.save(worker.study_folder.charts)
    with stage("writing the page"):
        write_page(worker.study_folder.report, study_page.html())
    return worker.study_folder.report


class StudyPage:
    """The sections of the page, all computed from one analysis."""

    def __init__(
        self,
        worker: StudyWorker,
        analysis: StudyAnalysis,
        log_curves: dict[int, LogCurves],
        all_tests: bool,
        pads_counted: bool,
    ):
        self.worker, self.study, self.analysis, self.log_curves = worker, worker.study, analysis, log_curves
        self.all_tests, self.pads_counted = all_tests, pads_counted
        self.ranking = analysis.ranking
        self.task, self.metric = self.study.task, analysis.metric
        self._curve_charts, self._loss_panels = self._draw_curves()
        self._parameter_charts = draw_parameter_charts(analysis)
        self._cost_charts = self._draw_costs()
        self._examples = self._show_examples()

    def charts(self) -> list[Chart]:
        examples = self._examples.charts if self._examples else ()
        curves = [chart for drawn in self._curve_charts.values() for chart in drawn]
        return [*curves, *self._loss_panels, *self._parameter_charts, *self._cost_charts, *examples]

    def html(self) -> str:
        limits = ", ".join(f"{value:g} {name}" for name, value in self.study.each.limits().items())
        subtitle = (
            f"{len(self.analysis.results)} trials by {self.study.sampler}, {limits or 'default budget'} each, "
            f"selected by {self.metric} on dev"
        )
        sections = [
            Section("Summary", [Paragraph(text) for text in describe_study(self.analysis)]),
            Section("Trials", self._build_tables()),
            *([Section("Accuracy and loss with padding", self._build_pads_counted())] if self.pads_counted else []),
            Section("Best trial", self._build_best_trial()),
            Section(
                "Curves",
                [*switch_curves(self._curve_charts, self.task), *_build_figures(self._loss_panels)]
                or [Paragraph("No training log.")],
            ),
            Section("Settings", _build_figures(self._parameter_charts) or [Paragraph(_TOO_FEW_TRIALS)]),
            Section("Cost and quality", _build_figures(self._cost_charts) or [Paragraph(_TOO_FEW_TRIALS)]),
            *([self._examples.build()] if self._examples else []),
            Section("Each trial", self._build_trial_facts()),
            Section("Shared settings", [DefinitionList(self._shared_settings())]),
        ]
        return render_page(f"Study: {self.study.name}", subtitle, sections, headline=decide(self.analysis))

    def _build_tables(self) -> list[PagePart]:
        """The ranked trials, best first; below them the others, with the reason."""
        parts: list[PagePart] = []
        if self.ranking:
            caption = f"Sorted by {self.metric} on dev. Test scores are shown for the best trial only."
            if self.all_tests:
                caption = f"Sorted by {self.metric} on dev. Test scores are shown on request; select by dev only."
            direction = "Higher" if self.study.maximize else "Lower"
            caption += f" {direction} {self.metric} is better, and so is a lower loss."
            caption += " A trial leads to its report. ± is half the width of the 95% confidence interval."
            caption += _seed_note(self.study.seeds)
            score_rows = [self._score_row(rank, result) for rank, result in enumerate(self.ranking, start=1)]
            links = {"trial": [link_report(one.first_run, self.worker.study_folder.path) for one in self.ranking]}
            parts.append(TableView(Table.from_rows(score_rows), caption, interactive=True, links=links))
            costs = Table.from_rows(map(self._cost_row, self.ranking))
            parts.append(TableView(costs, "Cost.", interactive=True, links=links))
            if self._score_keys()[1]:
                parts.append(TableView(Table.from_rows(map(self._other_row, self.ranking)), "Other scores on dev."))
        unranked_results = [result for result in self.analysis.results if not result.is_ranked]
        if unranked_results:
            rows: list[dict[str, Value]] = [
                {
                    "trial": r.label,
                    "settings": format_params(r.params),
                    "state": r.verdict,
                    "reason": r.collapse_reason or r.reason or _pruned_reason(r, self.study),
                }
                for r in unranked_results
            ]
            links = {"trial": [link_report(one.first_run, self.worker.study_folder.path) for one in unranked_results]}
            parts.append(TableView(Table.from_rows(rows), "Not ranked.", interactive=True, links=links))
        return parts

    def _score_row(self, rank: int, result: TrialResult) -> dict[str, Value]:
        summary = result.first_summary
        assert summary is not None
        row: dict[str, Value] = {"rank": rank, "trial": result.label}
        row |= {short_name(name): format_cell(value) for name, value in self._params_row(result).items()}
        row["in words"] = compare_with_best(self.analysis, result)
        if len(result.values) > 1:
            row[f"mean {self.metric}"] = result.value
            row["seeds"] = " ".join(f"{value:.{self.analysis.digits}f}" for value in result.values)
        first, _ = self._score_keys()
        row |= {self._name_score(key): self._format_score(summary, key) for key in first}
        if "loss" not in first:
            row["dev loss"] = summary.loss
        if "accuracy" in summary.scores and "accuracy" not in first:
            row["accuracy %"] = summary.value("accuracy")
        if self.all_tests:
            row |= {f"test {self._name_score(key)}": self._format_test_score(result, key) for key in first}
        return row

    def _cost_row(self, result: TrialResult) -> dict[str, Value]:
        summary = result.first_summary
        assert summary is not None
        row: dict[str, Value] = {
            "trial": result.label,
            "parameters": summary.parameters,
            "steps": summary.steps,
            "epochs": round(summary.epochs, 2),
            "minutes": round(summary.minutes, 1),
            f"{self.task.unit.split()[-1]}s/s": round(summary.tokens_per_second),
        }
        if self.task.prediction_words.verb:
            seconds = summary.decoding_seconds
            row[f"ms per {self.task.prediction_words.input}"] = None if seconds is None else round(1000 * seconds, 1)
        return row

    def _other_row(self, result: TrialResult) -> dict[str, Value]:
        summary = result.first_summary
        assert summary is not None
        row: dict[str, Value] = {"trial": result.label}
        return row | {self._name_score(key): self._format_score(summary, key) for key in self._score_keys()[1]}

    def _score_keys(self) -> tuple[list[str], list[str]]:
        """The scores of the first table, that which ranks before the main one of the task, and those of the second."""
        scores = self.ranking[0].first_summary.scores if self.ranking and self.ranking[0].first_summary else {}
        wanted = dict.fromkeys((self.study.find_metric(scores), self.task.main_score))
        first = [key for key in wanted if key in scores]
        return first, [key for key in scores if key not in (*first, "accuracy")]

    def _name_score(self, key: str) -> str:
        """The name of a score: as it was stored or, of an older study, as the task has it."""
        summary = self.ranking[0].first_summary
        metric = self.task.metrics.get(key)
        return (summary.name_score(key) if summary else "") or (metric.name if metric else key.upper())

    def _format_score(self, summary: RunSummary, key: str) -> Value:
        score = summary.scores.get(key)
        return format_with_margin(score, self._digits(key)) if score is not None else None

    def _format_test_score(self, result: TrialResult, key: str) -> Value:
        score = _read_test_scores(result).get(key)
        return score.format_margin(self._digits(key)) if score else None

    def _digits(self, key: str) -> int:
        metrics = self.task.metrics
        if key in metrics:
            return metrics[key].digits
        return max(digits_of(self._name_score(key)), min(2, metrics[self.task.main_score].digits))

    def _params_row(self, result: TrialResult) -> dict[str, Value]:
        """Every setting of the search space, in the same order for all rows."""
        return {name: format_cell(result.params.get(name)) for name in self.study.search_space().distributions}

    def _build_best_trial(self) -> list[PagePart]:
        if not self.ranking:
            return [Paragraph(f"{capitalize(explain_no_ranking(self.analysis))}.")]
        best = self.ranking[0]
        parts: list[PagePart] = [Paragraph(f"{best.label}: {format_params(best.params)}")]
        parts += [Paragraph(f"Use it with: {self.task.next_commands(str(f))[0]}") for f in best.folders[:1]]
        scores = _read_test_scores(best)
        if not scores and (self.study.base.data.test or not best.folders):
            return [*parts, Paragraph("Its test scores are not on this machine.")]
        if not scores:
            return [*parts, Paragraph("There is no test set.")]
        rows: list[dict[str, Value]] = [
            {"metric": s.name, "score": s.value, "low": s.low, "high": s.high, "signature": s.signature}
            for s in scores.values()
        ]
        caption = "On test, which is not used to select." + (" First seed only." if self.study.seeds > 1 else "")
        grid = TableView(Table.from_rows(rows), caption, {"low": "95% CI low", "high": "95% CI high"})
        return [*parts, grid]

    def _build_pads_counted(self) -> list[PagePart]:
        """Every trial that was scored, including collapsed ones, which gain most from padding."""
        rows: list[dict[str, Value]] = []
        for result in self.analysis.results:
            summary = result.first_summary
            if summary is not None and summary.pads_counted is not None:
                padded_scores = summary.pads_counted
                row: dict[str, Value] = {
                    "trial": result.label,
                    "works": result.diagnosis or "yes",
                }
                row |= {"accuracy %": summary.value("accuracy"), "padded %": padded_scores["accuracy"]}
                row |= {"dev loss": summary.loss, "padded loss": padded_scores["loss"]}
                rows.append(
                    row | {"positions": padded_scores["positions"], "pad_percent": padded_scores["pad_percent"]}
                )
        headings = {"padded %": "pads counted", "padded loss": "pads counted", "pad_percent": "pads %"}
        grid = TableView(Table.from_rows(rows), "On dev; positions per sentence.", headings)
        return [Paragraph(_PADS_NOTE), grid] if rows else [Paragraph("No trial has these scores.")]

    def _draw_curves(self) -> tuple[dict[str, list[Chart]], list[Chart]]:
        """Loss, accuracy and score of all trials on common axes by every unit; the losses of each, side by side."""
        ordered = [*self.ranking, *(result for result in self.analysis.results if not result.is_ranked)]
        log_curves = {_curve_name(r): self.log_curves[r.number] for r in ordered if r.number in self.log_curves}
        curves = {name: one for name, one in log_curves.items() if one.steps or one.validations}
        if not curves:
            return {}, []
        highlighted = list(curves) if len(curves) <= MAX_NAMED_CURVES + 2 else list(curves)[:MAX_NAMED_CURVES]
        unit = self.analysis.unit
        panels = draw_loss_panels(curves, unit, "Loss of every trial, best first", self.task)
        by_unit = {unit: curves} | {one: self._read_curves(ordered, one) for one in list_units(unit)[1:]}
        return draw_switched_curves(by_unit, highlighted, self.task), [panels.with_name("every-trial")]

    def _read_curves(self, results: Sequence[TrialResult], unit: str) -> dict[str, LogCurves]:
        """The curves of the trials by another unit than that of the study."""
        read = {_curve_name(one): read_log_curves(one.first_run, unit) for one in results if one.first_run}
        return {name: curves for name, curves in read.items() if curves and (curves.steps or curves.validations)}

    def _draw_costs(self) -> list[Chart]:
        rows: list[dict[str, Value]] = [
            {"name": r.label, "score": r.value, **collect_costs(r.first_summary)}
            for r in self.ranking
            if r.first_summary is not None
        ]
        words = self.task.prediction_words
        charts = draw_cost_charts(rows, "score", f"dev {self.metric}", self.study.maximize, words)
        return [chart.with_note("; ".join(describe_warnings(self.analysis, "not drawn"))) for chart in charts]

    def _show_examples(self) -> ExampleSection | None:
        """What single dev examples show of the best trials."""
        runs = {result.label: run for result in self.ranking[:MAX_EXAMPLE_TRIALS] if (run := result.first_run)}
        return self.task.show_examples(runs, "dev")

    def _build_trial_facts(self) -> list[PagePart]:
        """Settings and cost of each trial, if there are few; otherwise the tables above have them."""
        if len(self.analysis.results) > 2 * MAX_NAMED_CURVES:
            return [Paragraph(f"The tables above have the settings of all {len(self.analysis.results)} trials.")]
        parts: list[PagePart] = []
        for result in self.analysis.results:
            facts: dict[str, Value] = {name: format_cell(value) for name, value in result.params.items()}
            if result.first_summary is not None:
                facts |= {"parameters": result.first_summary.parameters, "steps": result.first_summary.steps}
                facts |= {
                    "minutes": round(result.first_summary.minutes, 1),
                    "epochs": round(result.first_summary.epochs, 2),
                }
            state = f" ({result.verdict})" if not result.is_ranked else ""
            parts += [Paragraph(f"{result.label}{state}"), DefinitionList(facts)]
        return parts

    def _shared_settings(self) -> dict[str, Value]:
        base_table = self.study.trial_base_config().model_dump(mode="json", exclude_none=True, exclude_unset=True)
        return {name: format_cell(value) for name, value in settings.flatten(base_table).items()}


_TOO_FEW_TRIALS = "At least two different ranked trials are needed."
_PADS_NOTE = (
    "Accuracy and loss with padding included: every reference is padded to the longest one of dev, and a pad counts as "
    "a token that is predicted correctly without loss. These numbers depend more on sentence lengths than on the "
    "model. They are not used for training or selection."
)


def _build_figures(charts: Iterable[Chart]) -> list[PagePart]:
    return [Figure(chart) for chart in charts]


def _curve_name(result: TrialResult) -> str:
    """The name of a trial at its curve, which ends early if it was stopped."""
    return f"{result.label}, stopped" if result.state == "pruned" else result.label


def _seed_note(seeds: int) -> str:
    return " All scores but the mean are those of the first seed." if seeds > 1 else ""


def _pruned_reason(result: TrialResult, study: Study) -> str:
    if result.state != "pruned" or not result.intermediate_values:
        return ""
    pruner_step, value = max(result.intermediate_values.items())
    name = study.ranking_metric.validated_name
    return f"{name} {value:.3f} after {100 * pruner_step // 20}% of its budget was worse than that of other trials"


def _read_test_scores(result: TrialResult) -> dict[str, Score]:
    run = result.first_run
    return read_set_scores(run, "test").scores if run is not None and run.scores("test").exists() else {}
