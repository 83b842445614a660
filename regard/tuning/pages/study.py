"""studies/x/report.html: a study on one offline page."""

from collections.abc import Iterable
from pathlib import Path

from regard import config as settings
from regard.jobs.evaluate import read_set_scores
from regard.metrics import Score
from regard.metrics.score import format_with_margin
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
from regard.tuning.analysis.curves import LogCurves
from regard.tuning.analysis.evidence import (
    StudyAnalysis,
    analyze_study,
    choose_dev_tokenization,
    read_dev_sentences,
)
from regard.tuning.analysis.findings import describe_study
from regard.tuning.analysis.recommend import explain_no_ranking
from regard.tuning.analysis.wording import capitalize
from regard.tuning.pages.curve_charts import draw_curve_charts, draw_loss_panels
from regard.tuning.pages.parameter_charts import describe_warnings, draw_parameter_charts, format_cell
from regard.tuning.pages.sentence_charts import LENGTH_BUCKETS, draw_sentence_charts
from regard.tuning.results import TrialResult
from regard.tuning.study import METRIC_NAMES, format_params, short_name
from regard.tuning.worker import StudyWorker

MAX_NAMED_CURVES = 6  # curves with a color and a label
MAX_SENTENCE_TRIALS = 6  # trials in the charts of sentence scores


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
        self.metric = METRIC_NAMES[self.study.metric]
        self._curve_charts = self._draw_curves()
        self._parameter_charts = draw_parameter_charts(analysis)
        self._cost_charts = self._draw_costs()
        self._sentence_charts = self._draw_sentences()

    def charts(self) -> list[Chart]:
        return [*self._curve_charts, *self._parameter_charts, *self._cost_charts, *self._sentence_charts]

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
            Section("Curves", _build_figures(self._curve_charts) or [Paragraph("No training log.")]),
            Section("Settings", _build_figures(self._parameter_charts) or [Paragraph(_TOO_FEW_TRIALS)]),
            Section("Cost and quality", _build_figures(self._cost_charts) or [Paragraph(_TOO_FEW_TRIALS)]),
            Section("Sentences", [*_build_figures(self._sentence_charts), Paragraph(_SENTENCES_NOTE)]),
            Section("Each trial", self._build_trial_facts()),
            Section("Shared settings", [DefinitionList(self._shared_settings())]),
        ]
        return render_page(f"Study: {self.study.name}", subtitle, sections)

    def _build_tables(self) -> list[PagePart]:
        """The ranked trials, best first; below them the others, with the reason."""
        parts: list[PagePart] = []
        if self.ranking:
            caption = f"Sorted by {self.metric} on dev. Test scores are shown for the best trial only."
            if self.all_tests:
                caption = f"Sorted by {self.metric} on dev. Test scores are shown on request; select by dev only."
            caption += f" ± is half the width of the 95% confidence interval.{_seed_note(self.study.seeds)}"
            score_rows = [self._score_row(rank, result) for rank, result in enumerate(self.ranking, start=1)]
            parts.append(TableView(Table.from_rows(score_rows), caption))
            cost_rows = map(self._cost_row, self.ranking)
            parts.append(TableView(Table.from_rows(cost_rows), "Cost, and other scores on dev."))
        unranked_results = [result for result in self.analysis.results if not result.is_ranked]
        if unranked_results:
            rows: list[dict[str, Value]] = [
                {
                    "trial": r.label,
                    "settings": format_params(r.params),
                    "state": r.verdict,
                    "reason": r.collapse_reason or r.reason or _pruned_reason(r, self.study.metric),
                }
                for r in unranked_results
            ]
            parts.append(TableView(Table.from_rows(rows), "Not ranked."))
        return parts

    def _score_row(self, rank: int, result: TrialResult) -> dict[str, Value]:
        summary = result.first_summary
        assert summary is not None
        row: dict[str, Value] = {"rank": rank, "trial": result.label}
        row |= {short_name(name): format_cell(value) for name, value in self._params_row(result).items()}
        if len(result.values) > 1:
            row[f"mean {self.metric}"] = result.value
            row["seeds"] = " ".join(f"{value:.2f}" for value in result.values)
        row |= {
            "BLEU": _format_interval(summary.scores.get("bleu")),
            "dev loss": summary.loss,
            "accuracy %": summary.value("accuracy"),
        }
        if self.all_tests:
            test_bleu = _read_test_scores(result).get("bleu")
            row["test BLEU"] = _format_interval(test_bleu.as_dict() if test_bleu else None)
        return row

    def _cost_row(self, result: TrialResult) -> dict[str, Value]:
        summary = result.first_summary
        assert summary is not None
        row: dict[str, Value] = {
            "trial": result.label,
            "parameters": summary.parameters,
            "steps": summary.steps,
        }
        row |= {
            "epochs": round(summary.epochs, 2),
            "minutes": round(summary.minutes, 1),
            "tokens/s": round(summary.tokens_per_second),
        }
        row["ms per sentence"] = None if summary.decoding_seconds is None else round(1000 * summary.decoding_seconds, 1)
        return row | {
            "chrF2": _format_interval(summary.scores.get("chrf")),
            "TER": _format_interval(summary.scores.get("ter")),
        }

    def _params_row(self, result: TrialResult) -> dict[str, Value]:
        """Every setting of the search space, in the same order for all rows."""
        return {name: format_cell(result.params.get(name)) for name in self.study.search_space().distributions}

    def _build_best_trial(self) -> list[PagePart]:
        if not self.ranking:
            return [Paragraph(f"{capitalize(explain_no_ranking(self.analysis))}.")]
        best = self.ranking[0]
        parts: list[PagePart] = [Paragraph(f"{best.label}: {format_params(best.params)}")]
        parts += [Paragraph(f"Translate with: regard translate {folder}") for folder in best.folders[:1]]
        scores = _read_test_scores(best)
        if not scores and (self.study.base.data.test or not best.folders):
            return [*parts, Paragraph("Its test scores are not on this machine.")]
        if not scores:
            return [*parts, Paragraph("There is no test set.")]
        rows: list[dict[str, Value]] = [
            {"metric": name, "score": s.value, "low": s.low, "high": s.high, "signature": s.signature}
            for name, s in scores.items()
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

    def _draw_curves(self) -> list[Chart]:
        """Loss, accuracy and BLEU of all trials on common axes, then the losses of each trial side by side."""
        ordered = [*self.ranking, *(result for result in self.analysis.results if not result.is_ranked)]
        log_curves = {_curve_name(r): self.log_curves[r.number] for r in ordered if r.number in self.log_curves}
        curves = {name: one for name, one in log_curves.items() if one.steps or one.validations}
        if not curves:
            return []
        highlighted = list(curves) if len(curves) <= MAX_NAMED_CURVES + 2 else list(curves)[:MAX_NAMED_CURVES]
        panels = draw_loss_panels(curves, self.analysis.unit, "Loss of every trial, best first")
        return [*draw_curve_charts(curves, self.analysis.unit, highlighted), panels.with_name("every-trial")]

    def _draw_costs(self) -> list[Chart]:
        rows: list[dict[str, Value]] = [
            {"name": r.label, "score": r.value, **collect_costs(r.first_summary)}
            for r in self.ranking
            if r.first_summary is not None
        ]
        charts = draw_cost_charts(rows, "score", f"dev {self.metric}", self.study.maximize)
        return [chart.with_note("; ".join(describe_warnings(self.analysis, "not drawn"))) for chart in charts]

    def _draw_sentences(self) -> list[Chart]:
        """Sentence BLEU of the best trials, and BLEU by source length."""
        sentences = {r.label: many for r in self.ranking[:MAX_SENTENCE_TRIALS] if (many := read_dev_sentences(r))}
        if not sentences:
            return []
        tokenization = choose_dev_tokenization(self.ranking[0], next(iter(sentences.values())))
        return draw_sentence_charts(sentences, "dev", tokenization)

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
_SENTENCES_NOTE = (
    "Scores of single sentences serve inspection; their mean is not BLEU. BLEU by length is corpus BLEU over the "
    f"sentences of {LENGTH_BUCKETS[0][0]} to {LENGTH_BUCKETS[0][1]} words, and so on."
)


def _build_figures(charts: Iterable[Chart]) -> list[PagePart]:
    return [Figure(chart) for chart in charts]


def _curve_name(result: TrialResult) -> str:
    """The name of a trial at its curve, which ends early if it was stopped."""
    return f"{result.label}, stopped" if result.state == "pruned" else result.label


def _format_interval(score: object) -> Value:
    if not isinstance(score, dict):
        return None
    return format_with_margin(score, 2)


def _seed_note(seeds: int) -> str:
    return " BLEU and the other scores are those of the first seed." if seeds > 1 else ""


def _pruned_reason(result: TrialResult, metric: str) -> str:
    if result.state != "pruned" or not result.intermediate_values:
        return ""
    pruner_step, value = max(result.intermediate_values.items())
    name = METRIC_NAMES["bleu" if metric == "chrf" else metric]  # BLEU stands in for chrF during training
    return f"{name} {value:.3f} after {100 * pruner_step // 20}% of its budget was worse than that of other trials"


def _read_test_scores(result: TrialResult) -> dict[str, Score]:
    run = result.first_run
    return read_set_scores(run, "test").scores if run is not None and run.scores("test").exists() else {}
