"""studies/x/report.html: a whole study on one offline page."""

from collections.abc import Sequence
from pathlib import Path

from regard import config as settings
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
    bar_chart,
    category_curves,
    overlay_curves,
    parallel_coordinates,
    render_page,
    slice_plot,
    small_multiples,
    stacked_histograms,
    write_page,
)
from regard.run import Run
from regard.tuning.analysis.cost import collect_costs, draw_cost_charts
from regard.tuning.analysis.evidence import LogCurves, analyze_study, read_dev_sentences
from regard.tuning.analysis.findings import StudyAnalysis, describe_study, explain_no_ranking
from regard.tuning.compare import LENGTH_BUCKETS
from regard.tuning.pages.comparison import bleu_by_length
from regard.tuning.results import TrialResult
from regard.tuning.space import Range
from regard.tuning.study import METRIC_NAMES, format_params, format_value, short_name
from regard.tuning.worker import StudyWorker

MAX_NAMED_CURVES = 6  # curves that can be told apart at a glance
MAX_SENTENCE_TRIALS = 6  # trials whose sentences are drawn


def write_study_page(worker: StudyWorker, all_tests: bool = False, pads_counted: bool = False) -> Path:
    """Draw every chart of a study into charts/, and all of them into one page; where it is."""
    analysis, log_curves = analyze_study(worker.study, worker.results())
    study_page = StudyPage(worker, analysis, log_curves, all_tests, pads_counted)
    for chart in study_page.charts():
        chart.save(worker.study_folder.charts)
    write_page(worker.study_folder.report, study_page.html())
    return worker.study_folder.report


class StudyPage:
    """The parts of the page, each made of the same evidence."""

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
        self.names = {result.number: _trial_name(result) for result in analysis.results}
        self._curve_charts = self._draw_curves()
        self._parameter_charts = self._draw_parameters()
        self._cost_charts = self._draw_costs()
        self._sentence_charts = self._draw_sentences()

    def charts(self) -> list[Chart]:
        return [*self._curve_charts, *self._parameter_charts, *self._cost_charts, *self._sentence_charts]

    def html(self) -> str:
        budget = (
            ", ".join(f"{value:g} {name}" for name, value in self.study.each.limits().items()) or "the usual length"
        )
        subtitle = f"{len(self.analysis.results)} trials by {self.study.sampler}, {budget} each, chosen by {self.metric} on dev"
        sections = [
            Section("What it says", [Paragraph(text) for text in describe_study(self.analysis)]),
            Section("Trials", self._build_tables()),
            *([Section("Pads counted", self._build_pads_counted())] if self.pads_counted else []),
            Section("The chosen one", self._build_best_trial()),
            Section(
                "Curves", [Figure(chart) for chart in self._curve_charts] or [Paragraph("There is no log to draw.")]
            ),
            Section("Settings", [Figure(chart) for chart in self._parameter_charts] or [Paragraph(_TOO_FEW_TRIALS)]),
            Section("Cost and quality", [Figure(chart) for chart in self._cost_charts] or [Paragraph(_TOO_FEW_TRIALS)]),
            Section("Sentences", [*(Figure(chart) for chart in self._sentence_charts), Paragraph(_SENTENCES_NOTE)]),
            Section("Each trial", self._build_trial_facts()),
            Section("What all trials share", [DefinitionList(self._shared_settings())]),
        ]
        return render_page(f"Study: {self.study.name}", subtitle, sections)

    def _build_tables(self) -> list[PagePart]:
        """Those that work, best first; below them the others, with the reason."""
        parts: list[PagePart] = []
        if self.ranking:
            caption = f"Sorted by {self.metric} on dev. Test scores are shown for the chosen one alone."
            if self.all_tests:
                caption = f"Sorted by {self.metric} on dev. Test scores were asked for: choose by dev all the same."
            caption += f" ± is half of the 95 % interval.{_seed_note(self.study.seeds)}"
            parts.append(
                TableView(
                    Table.from_rows(self._score_row(rank, r) for rank, r in enumerate(self.ranking, start=1)), caption
                )
            )
            parts.append(
                TableView(
                    Table.from_rows(map(self._cost_row, self.ranking)), "What they cost, and other scores on dev."
                )
            )
        unranked_results = [result for result in self.analysis.results if not result.is_ranked]
        if unranked_results:
            rows: list[dict[str, Value]] = [
                {
                    "trial": _trial_name(r),
                    "settings": format_params(r.params),
                    "state": _format_state(r),
                    "reason": r.collapse_reason or r.reason or _pruned_reason(r, self.study.metric),
                }
                for r in unranked_results
            ]
            parts.append(TableView(Table.from_rows(rows), "Not ranked."))
        return parts

    def _score_row(self, rank: int, result: TrialResult) -> dict[str, Value]:
        summary = result.first_summary
        assert summary is not None
        row: dict[str, Value] = {"rank": rank, "trial": _trial_name(result)}
        row |= {short_name(name): _format_cell(value) for name, value in self._params_row(result).items()}
        if len(result.values) > 1:
            row[f"mean {self.metric}"] = result.value
            row["of seeds"] = " ".join(f"{value:.2f}" for value in result.values)
        row |= {
            "BLEU": _format_interval(summary.scores.get("bleu")),
            "dev loss": summary.loss,
            "accuracy %": summary.value("accuracy"),
        }
        if self.all_tests:
            row["test BLEU"] = _format_interval(_read_test_scores(result).get("bleu"))
        return row

    def _cost_row(self, result: TrialResult) -> dict[str, Value]:
        summary = result.first_summary
        assert summary is not None
        row: dict[str, Value] = {
            "trial": _trial_name(result),
            "parameters": summary.parameters,
            "steps": summary.steps,
        }
        row |= {
            "epochs": round(summary.epochs, 1),
            "minutes": round(summary.minutes, 1),
            "tokens/s": round(summary.tokens_per_second),
        }
        row["ms per sentence"] = None if summary.decoding_seconds is None else round(1000 * summary.decoding_seconds, 1)
        return row | {
            "chrF2": _format_interval(summary.scores.get("chrf")),
            "TER": _format_interval(summary.scores.get("ter")),
        }

    def _params_row(self, result: TrialResult) -> dict[str, Value]:
        """Every setting that varies in the study, in one order for all rows."""
        return {name: _format_cell(result.params.get(name)) for name in self.study.search_space()}

    def _build_best_trial(self) -> list[PagePart]:
        if not self.ranking:
            return [Paragraph(f"{explain_no_ranking(self.analysis)}, so none is chosen.")]
        best = self.ranking[0]
        parts: list[PagePart] = [Paragraph(f"{_trial_name(best)}: {format_params(best.params)}")]
        parts += [Paragraph(f"Translate with it: regard translate {folder}") for folder in best.folders[:1]]
        scores = _read_test_scores(best)
        if not scores and (self.study.base.data.test or not best.folders):
            return [*parts, Paragraph("What it scores on test is not known on this machine.")]
        if not scores:
            return [*parts, Paragraph("There is no test set, so nothing is known of it beyond dev.")]
        rows: list[dict[str, Value]] = [
            {"metric": name, "score": s["value"], "low": s["low"], "high": s["high"], "signature": s["signature"]}
            for name, s in scores.items()
        ]
        caption = "On test, which chose nothing." + (" Of its first seed." if self.study.seeds > 1 else "")
        grid = TableView(Table.from_rows(rows), caption, {"low": "95 % low", "high": "95 % high"})
        return [*parts, grid]

    def _build_pads_counted(self) -> list[PagePart]:
        """Every trial that was scored, those that do not work included: they gain most from padding."""
        rows: list[dict[str, Value]] = []
        for result in self.analysis.results:
            summary = result.first_summary
            if summary is not None and summary.pads_counted is not None:
                padded_scores = summary.pads_counted
                row: dict[str, Value] = {
                    "trial": _trial_name(result),
                    "works": "collapsed" if result.collapse_reason else "yes",
                }
                row |= {"accuracy %": summary.value("accuracy"), "looser %": padded_scores["accuracy"]}
                row |= {"dev loss": summary.loss, "looser loss": padded_scores["loss"]}
                rows.append(row | {"positions": padded_scores["positions"], "pad_percent": padded_scores["pad_percent"]})
        headings = {"looser %": "pads counted", "looser loss": "pads counted", "pad_percent": "of them pads %"}
        grid = TableView(Table.from_rows(rows), "On dev; positions are those of each sentence.", headings)
        return [Paragraph(_PADS_NOTE), grid] if rows else [Paragraph("No trial has been scored for this.")]

    def _draw_curves(self) -> list[Chart]:
        """Losses, accuracies and BLEU over one another, then the losses of every trial side by side."""
        trial_order = [r.number for r in self.ranking] + [r.number for r in self.analysis.results if not r.is_ranked]
        trial_numbers = [
            n
            for n in trial_order
            if n in self.log_curves and (self.log_curves[n].steps or self.log_curves[n].validations)
        ]
        if not trial_numbers:
            return []
        curve_names = [
            self.names[n]
            for n in (trial_numbers if len(trial_numbers) <= MAX_NAMED_CURVES + 2 else trial_numbers[:MAX_NAMED_CURVES])
        ]
        charts = []
        for column, title, y_title in (
            ("loss", "Loss", "nats per target token"),
            ("accuracy", "Accuracy", "% of target tokens"),
        ):
            tables = {
                "training": self._curve_table(trial_numbers, "steps", column),
                "dev": self._curve_table(trial_numbers, "validations", column),
            }
            nonempty_tables = {head: table for head, table in tables.items() if len(table)}
            charts.append(
                overlay_curves(
                    nonempty_tables,
                    "x",
                    column,
                    "trial",
                    title=title,
                    x_title=self.analysis.unit,
                    y_title=y_title,
                    highlighted=curve_names,
                ).with_name(column)
            )
        bleu_table = self._curve_table(trial_numbers, "validations", "bleu")
        if len(bleu_table):
            title = "BLEU on dev, by greedy decoding"
            chart = overlay_curves(
                {"dev": bleu_table},
                "x",
                "bleu",
                "trial",
                title=title,
                x_title=self.analysis.unit,
                y_title="BLEU",
                highlighted=curve_names,
            )
            charts.append(chart.with_name("bleu"))
        return [*charts, self._draw_small_multiples(trial_numbers)]

    def _draw_small_multiples(self, trial_numbers: Sequence[int]) -> Chart:
        rows: list[dict[str, Value]] = []
        for number in trial_numbers:
            curves = self.log_curves[number]
            for kind, points in (("training", curves.steps), ("dev", curves.validations)):
                rows += [{"x": p["x"], "loss": p["loss"], "set": kind, "trial": self.names[number]} for p in points]
        title, y_title = "Loss of every trial, best first", "nats per target token"
        chart = small_multiples(
            Table.from_rows(rows), "x", "loss", "set", "trial", title=title, x_title=self.analysis.unit, y_title=y_title
        )
        return chart.with_name("every-trial")

    def _curve_table(self, trial_numbers: Sequence[int], kind: str, column: str) -> Table:
        rows: list[dict[str, Value]] = [
            {"x": point["x"], column: point[column], "trial": self.names[number]}
            for number in trial_numbers
            for point in getattr(self.log_curves[number], kind)
            if column in point
        ]
        return Table.from_rows(rows)

    def _draw_parameters(self) -> list[Chart]:
        """Importance, parallel coordinates and slices, of the trials that work."""
        search_space = self.study.search_space()
        varying_names = [name for name in search_space if len({result.params.get(name) for result in self.ranking}) > 1]
        if len(self.ranking) < 2 or not varying_names:
            return []
        charts = []
        if self.analysis.importances:
            rows: list[dict[str, Value]] = [
                {"setting": short_name(name), "share": round(100 * share)}
                for name, share in sorted(self.analysis.importances.items(), key=lambda item: -item[1])
            ]
            title = "What matters (fANOVA)"
            y_title = f"% of the variation of dev {self.metric}"
            charts.append(
                bar_chart(
                    Table.from_rows(rows), "setting", "share", title=title, x_title="", y_title=y_title
                ).with_name("importance")
            )
        table = Table.from_rows(
            {short_name(n): _format_cell(r.params.get(n)) for n in varying_names} | {"score": r.value}
            for r in self.ranking
        )
        names = [short_name(name) for name in varying_names]
        logs = [short_name(name) for name in varying_names if isinstance(one := search_space[name], Range) and one.log]
        value = f"dev {self.metric}"
        charts.append(
            parallel_coordinates(
                table,
                names,
                "score",
                title="All trials at once",
                value_title=value,
                higher_is_better=self.study.maximize,
                best=0,
                log_scaled=logs,
            ).with_name("parallel")
        )
        chart = slice_plot(table, names, "score", title="What each setting did", y_title=value, best=0, log_scaled=logs)
        return [*charts, chart.with_name("slices")]

    def _draw_costs(self) -> list[Chart]:
        rows: list[dict[str, Value]] = [
            {"name": _trial_name(r), "score": r.value, **collect_costs(r.first_summary)}
            for r in self.ranking
            if r.first_summary is not None
        ]
        return draw_cost_charts(rows, "score", f"dev {self.metric}", self.study.maximize)

    def _draw_sentences(self) -> list[Chart]:
        """How the dev sentences of the best trials are distributed, and BLEU by length."""
        sentences_by_trial = {
            _trial_name(r): rows for r in self.ranking[:MAX_SENTENCE_TRIALS] if (rows := read_dev_sentences(r))
        }
        if not sentences_by_trial:
            return []
        table = Table.from_rows(
            {"bleu": float(row["bleu"]), "trial": name} for name, rows in sentences_by_trial.items() for row in rows
        )
        histogram = stacked_histograms(
            table, "bleu", "trial", title="Dev sentences by their BLEU", x_title="BLEU of the sentence"
        ).with_name("sentence-bleu")
        lengths = [row for name, sentences in sentences_by_trial.items() for row in bleu_by_length(name, sentences)]
        if len({row["words"] for row in lengths}) < 2:
            return [histogram]
        title, x_title = "BLEU on dev by the length of the source", "words of the source"
        chart = category_curves(
            Table.from_rows(lengths), "words", "bleu", "system", title=title, x_title=x_title, y_title="BLEU"
        )
        return [histogram, chart.with_name("length-bleu")]

    def _build_trial_facts(self) -> list[PagePart]:
        """Every trial in facts where they are few; where they are many, the table above says the same."""
        if len(self.analysis.results) > 2 * MAX_NAMED_CURVES:
            return [Paragraph(f"The settings of all {len(self.analysis.results)} trials stand in the tables above.")]
        parts: list[PagePart] = []
        for result in self.analysis.results:
            facts: dict[str, Value] = {name: _format_cell(value) for name, value in result.params.items()}
            if result.first_summary is not None:
                facts |= {"parameters": result.first_summary.parameters, "steps": result.first_summary.steps}
                facts |= {
                    "minutes": round(result.first_summary.minutes, 1),
                    "epochs": round(result.first_summary.epochs, 1),
                }
            state = f" ({_format_state(result)})" if not result.is_ranked else ""
            parts += [Paragraph(f"{_trial_name(result)}{state}"), DefinitionList(facts)]
        return parts

    def _shared_settings(self) -> dict[str, Value]:
        base_table = self.study.trial_base_config().model_dump(mode="json", exclude_none=True, exclude_unset=True)
        return {name: _format_cell(value) for name, value in settings.flatten(base_table).items()}


_TOO_FEW_TRIALS = "Two trials that work and differ are needed for this."
_PADS_NOTE = (
    "If every reference were filled up with pads to the longest of dev, and a pad counted like a piece that is always "
    "guessed right at no loss, these would be the figures. They say more about the lengths of sentences than about the "
    "model; nothing here was trained or chosen by them."
)
_SENTENCES_NOTE = (
    "Scores of single sentences are for looking at; their mean is not BLEU. By length it is corpus BLEU over the "
    f"sentences of {LENGTH_BUCKETS[0][0]} to {LENGTH_BUCKETS[0][1]} words, and so on."
)


def _trial_name(result: TrialResult) -> str:
    return result.name if not result.name.isdigit() else f"trial {result.name}"


def _format_state(result: TrialResult) -> str:
    return "collapsed" if result.collapse_reason else {"pruned": "stopped early"}.get(result.state, result.state)


def _format_cell(value: object) -> Value:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str | int | float) or value is None else format_value(value)


def _format_interval(score: object) -> Value:
    if not isinstance(score, dict):
        return None
    if "low" not in score:
        return f"{score['value']:.2f}"
    return f"{score['value']:.2f} ± {(score['high'] - score['low']) / 2:.2f}"


def _seed_note(seeds: int) -> str:
    return " BLEU and what follows are those of the first seed." if seeds > 1 else ""


def _pruned_reason(result: TrialResult, metric: str) -> str:
    if result.state != "pruned" or not result.intermediate_values:
        return ""
    pruner_step, value = max(result.intermediate_values.items())
    name = METRIC_NAMES["bleu" if metric == "chrf" else metric]  # which stands in for it while training goes on
    return f"{name} {value:.3f} after {100 * pruner_step // 20} % of its budget was weaker than that of others"


def _read_test_scores(result: TrialResult) -> dict[str, dict[str, float | str]]:
    run = Run(result.folders[0]) if result.folders else None
    if run is None or not run.scores("test").exists():
        return {}
    return dict(run.read_json(run.scores("test"))["scores"])
