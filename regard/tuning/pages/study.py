"""studies/x/report.html: a whole study on one offline page."""

from collections.abc import Sequence
from pathlib import Path

from regard import config as settings
from regard.report import (
    Chart,
    Facts,
    Figure,
    Grid,
    Paragraph,
    Part,
    Section,
    Table,
    Value,
    bars,
    distributions,
    overlay,
    page,
    panels,
    parallel,
    profile,
    slices,
    write_page,
)
from regard.run import Run
from regard.tuning.analysis.cost import cost_charts, costs_of
from regard.tuning.analysis.evidence import Course, dev_rows, gather
from regard.tuning.analysis.findings import Evidence, analysis, nothing_works
from regard.tuning.compare import LENGTHS
from regard.tuning.pages.comparison import length_rows
from regard.tuning.results import Result
from regard.tuning.space import Range
from regard.tuning.study import METRIC_NAMES, short, told, written
from regard.tuning.worker import Bench

NAMED = 6  # curves that can be told apart at a glance
SHAPES = 6  # trials whose sentences are drawn


def write_study_page(bench: Bench, all_tests: bool = False, pads_counted: bool = False) -> Path:
    """Draw every chart of a study into charts/, and all of them into one page; where it is."""
    seen, courses = gather(bench.study, bench.results())
    drawn = StudyPage(bench, seen, courses, all_tests, pads_counted)
    for chart in drawn.charts():
        chart.save(bench.place.charts)
    write_page(bench.place.report, drawn.html())
    return bench.place.report


class StudyPage:
    """The parts of the page, each made of the same evidence."""

    def __init__(self, bench: Bench, seen: Evidence, courses: dict[int, Course], all_tests: bool, pads: bool):
        self.bench, self.study, self.seen, self.courses = bench, bench.study, seen, courses
        self.all_tests, self.pads = all_tests, pads
        self.ranked = seen.ranked
        self.metric = METRIC_NAMES[self.study.metric]
        self.names = {result.number: _name(result) for result in seen.results}
        self._curves = self._draw_curves()
        self._settings = self._draw_settings()
        self._costs = self._draw_costs()
        self._sentences = self._draw_sentences()

    def charts(self) -> list[Chart]:
        return [*self._curves, *self._settings, *self._costs, *self._sentences]

    def html(self) -> str:
        budget = ", ".join(f"{value:g} {name}" for name, value in self.study.each.given().items()) or "the usual length"
        subtitle = (
            f"{len(self.seen.results)} trials by {self.study.sampler}, {budget} each, chosen by {self.metric} on dev"
        )
        sections = [
            Section("What it says", [Paragraph(text) for text in analysis(self.seen)]),
            Section("Trials", self._tables()),
            *([Section("Pads counted", self._flattered())] if self.pads else []),
            Section("The chosen one", self._chosen()),
            Section("Curves", [Figure(chart) for chart in self._curves] or [Paragraph("There is no log to draw.")]),
            Section("Settings", [Figure(chart) for chart in self._settings] or [Paragraph(_TOO_FEW)]),
            Section("Cost and quality", [Figure(chart) for chart in self._costs] or [Paragraph(_TOO_FEW)]),
            Section("Sentences", [*(Figure(chart) for chart in self._sentences), Paragraph(_SENTENCES)]),
            Section("Each trial", self._each()),
            Section("What all trials share", [Facts(self._shared())]),
        ]
        return page(f"Study: {self.study.name}", subtitle, sections)

    def _tables(self) -> list[Part]:
        """Those that work, best first; below them the others, with the reason."""
        parts: list[Part] = []
        if self.ranked:
            caption = f"Sorted by {self.metric} on dev. Test scores are shown for the chosen one alone."
            if self.all_tests:
                caption = f"Sorted by {self.metric} on dev. Test scores were asked for: choose by dev all the same."
            caption += f" ± is half of the 95 % interval.{_first_seed(self.study.seeds)}"
            parts.append(Grid(Table.of(self._row(rank, r) for rank, r in enumerate(self.ranked, start=1)), caption))
            parts.append(Grid(Table.of(map(self._costs_row, self.ranked)), "What they cost, and other scores on dev."))
        others = [result for result in self.seen.results if not result.ranked]
        if others:
            rows: list[dict[str, Value]] = [
                {
                    "trial": _name(r),
                    "settings": told(r.point),
                    "state": _state(r),
                    "reason": r.collapsed or r.reason or _stopped(r, self.study.metric),
                }
                for r in others
            ]
            parts.append(Grid(Table.of(rows), "Not ranked."))
        return parts

    def _row(self, rank: int, result: Result) -> dict[str, Value]:
        one = result.first
        assert one is not None
        row: dict[str, Value] = {"rank": rank, "trial": _name(result)}
        row |= {short(name): _plain(value) for name, value in self._point(result).items()}
        if len(result.values) > 1:
            row[f"mean {self.metric}"] = result.value
            row["of seeds"] = " ".join(f"{value:.2f}" for value in result.values)
        row |= {"BLEU": _interval(one.scores.get("bleu")), "dev loss": one.loss, "accuracy %": one.value("accuracy")}
        if self.all_tests:
            row["test BLEU"] = _interval(_test_scores(result).get("bleu"))
        return row

    def _costs_row(self, result: Result) -> dict[str, Value]:
        one = result.first
        assert one is not None
        row: dict[str, Value] = {"trial": _name(result), "parameters": one.parameters, "updates": one.steps}
        row |= {"epochs": round(one.epochs, 1), "minutes": round(one.minutes, 1), "pieces/s": round(one.speed)}
        row["ms a sentence"] = None if one.decoding is None else round(1000 * one.decoding, 1)
        return row | {"chrF2": _interval(one.scores.get("chrf")), "TER": _interval(one.scores.get("ter"))}

    def _point(self, result: Result) -> dict[str, Value]:
        """Every setting that varies in the study, in one order for all rows."""
        return {name: _plain(result.point.get(name)) for name in self.study.choices()}

    def _chosen(self) -> list[Part]:
        if not self.ranked:
            return [Paragraph(f"{nothing_works(self.seen)}, so none is chosen.")]
        best = self.ranked[0]
        parts: list[Part] = [Paragraph(f"{_name(best)}: {told(best.point)}")]
        parts += [Paragraph(f"Translate with it: regard translate {folder}") for folder in best.folders[:1]]
        scores = _test_scores(best)
        if not scores and (self.study.base.data.test or not best.folders):
            return [*parts, Paragraph("What it scores on test is not known on this machine.")]
        if not scores:
            return [*parts, Paragraph("There is no test set, so nothing is known of it beyond dev.")]
        rows: list[dict[str, Value]] = [
            {"metric": name, "score": s["value"], "low": s["low"], "high": s["high"], "signature": s["signature"]}
            for name, s in scores.items()
        ]
        caption = "On test, which chose nothing." + (" Of its first seed." if self.study.seeds > 1 else "")
        grid = Grid(Table.of(rows), caption, {"low": "95 % low", "high": "95 % high"})
        return [*parts, grid]

    def _flattered(self) -> list[Part]:
        """Every trial that was scored, those that do not work included: they gain most from padding."""
        rows: list[dict[str, Value]] = []
        for result in self.seen.results:
            one = result.first
            if one is not None and one.pads_counted is not None:
                loose = one.pads_counted
                row: dict[str, Value] = {"trial": _name(result), "works": "collapsed" if result.collapsed else "yes"}
                row |= {"accuracy %": one.value("accuracy"), "looser %": loose["accuracy"]}
                row |= {"dev loss": one.loss, "looser loss": loose["loss"]}
                rows.append(row | {"places": loose["places"], "pads": loose["pads"]})
        headings = {"looser %": "pads counted", "looser loss": "pads counted", "pads": "of them pads %"}
        grid = Grid(Table.of(rows), "On dev; places are those of each sentence.", headings)
        return [Paragraph(_PADS), grid] if rows else [Paragraph("No trial has been scored for this.")]

    def _draw_curves(self) -> list[Chart]:
        """Losses, accuracies and BLEU over one another, then the losses of every trial side by side."""
        first = [r.number for r in self.ranked] + [r.number for r in self.seen.results if not r.ranked]
        shown = [n for n in first if n in self.courses and (self.courses[n].steps or self.courses[n].checks)]
        if not shown:
            return []
        named = [self.names[n] for n in (shown if len(shown) <= NAMED + 2 else shown[:NAMED])]
        charts = []
        for column, title, y_title in (
            ("loss", "Loss", "nats per target piece"),
            ("accuracy", "Accuracy", "% of target pieces"),
        ):
            tables = {"training": self._table(shown, "steps", column), "dev": self._table(shown, "checks", column)}
            full = {head: table for head, table in tables.items() if len(table)}
            charts.append(
                overlay(
                    full, "x", column, "trial", title=title, x_title=self.seen.unit, y_title=y_title, named=named
                ).named(column)
            )
        scored = self._table(shown, "checks", "bleu")
        if len(scored):
            title = "BLEU on dev, by greedy decoding"
            one = overlay(
                {"dev": scored}, "x", "bleu", "trial", title=title, x_title=self.seen.unit, y_title="BLEU", named=named
            )
            charts.append(one.named("bleu"))
        return [*charts, self._multiples(shown)]

    def _multiples(self, shown: Sequence[int]) -> Chart:
        rows: list[dict[str, Value]] = []
        for number in shown:
            course = self.courses[number]
            for kind, points in (("training", course.steps), ("dev", course.checks)):
                rows += [{"x": p["x"], "loss": p["loss"], "set": kind, "trial": self.names[number]} for p in points]
        title, y_title = "Loss of every trial, best first", "nats per target piece"
        chart = panels(
            Table.of(rows), "x", "loss", "set", "trial", title=title, x_title=self.seen.unit, y_title=y_title
        )
        return chart.named("every-trial")

    def _table(self, shown: Sequence[int], kind: str, column: str) -> Table:
        rows: list[dict[str, Value]] = [
            {"x": point["x"], column: point[column], "trial": self.names[number]}
            for number in shown
            for point in getattr(self.courses[number], kind)
            if column in point
        ]
        return Table.of(rows)

    def _draw_settings(self) -> list[Chart]:
        """Importance, parallel coordinates and slices, of the trials that work."""
        choices = self.study.choices()
        varying = [name for name in choices if len({result.point.get(name) for result in self.ranked}) > 1]
        if len(self.ranked) < 2 or not varying:
            return []
        charts = []
        if self.seen.importance:
            rows: list[dict[str, Value]] = [
                {"setting": short(name), "share": round(100 * share)}
                for name, share in sorted(self.seen.importance.items(), key=lambda item: -item[1])
            ]
            title = "What matters (fANOVA)"
            y_title = f"% of the variation of dev {self.metric}"
            charts.append(
                bars(Table.of(rows), "setting", "share", title=title, x_title="", y_title=y_title).named("importance")
            )
        table = Table.of({short(n): _plain(r.point.get(n)) for n in varying} | {"score": r.value} for r in self.ranked)
        names = [short(name) for name in varying]
        logs = [short(name) for name in varying if isinstance(one := choices[name], Range) and one.log]
        value = f"dev {self.metric}"
        charts.append(
            parallel(
                table,
                names,
                "score",
                title="All trials at once",
                value_title=value,
                higher=self.study.up,
                best=0,
                logs=logs,
            ).named("parallel")
        )
        chart = slices(table, names, "score", title="What each setting did", y_title=value, best=0, logs=logs)
        return [*charts, chart.named("slices")]

    def _draw_costs(self) -> list[Chart]:
        rows: list[dict[str, Value]] = [
            {"name": _name(r), "score": r.value, **costs_of(r.first)} for r in self.ranked if r.first is not None
        ]
        return cost_charts(rows, "score", f"dev {self.metric}", self.study.up)

    def _draw_sentences(self) -> list[Chart]:
        """How the dev sentences of the best trials are distributed, and BLEU by length."""
        found = {_name(r): rows for r in self.ranked[:SHAPES] if (rows := dev_rows(r))}
        if not found:
            return []
        table = Table.of({"bleu": float(row["bleu"]), "trial": name} for name, rows in found.items() for row in rows)
        shape = distributions(
            table, "bleu", "trial", title="Dev sentences by their BLEU", x_title="BLEU of the sentence"
        ).named("sentence-bleu")
        lengths = [row for name, sentences in found.items() for row in length_rows(name, sentences)]
        if len({row["words"] for row in lengths}) < 2:
            return [shape]
        title, x_title = "BLEU on dev by the length of the source", "words of the source"
        chart = profile(Table.of(lengths), "words", "bleu", "system", title=title, x_title=x_title, y_title="BLEU")
        return [shape, chart.named("length-bleu")]

    def _each(self) -> list[Part]:
        """Every trial in facts where they are few; where they are many, the table above says the same."""
        if len(self.seen.results) > 2 * NAMED:
            return [Paragraph(f"The settings of all {len(self.seen.results)} trials stand in the tables above.")]
        parts: list[Part] = []
        for result in self.seen.results:
            facts: dict[str, Value] = {name: _plain(value) for name, value in result.point.items()}
            if result.first is not None:
                facts |= {"parameters": result.first.parameters, "updates": result.first.steps}
                facts |= {"minutes": round(result.first.minutes, 1), "epochs": round(result.first.epochs, 1)}
            state = f" ({_state(result)})" if not result.ranked else ""
            parts += [Paragraph(f"{_name(result)}{state}"), Facts(facts)]
        return parts

    def _shared(self) -> dict[str, Value]:
        given = self.study.start().model_dump(mode="json", exclude_none=True, exclude_unset=True)
        return {name: _plain(value) for name, value in settings.flatten(given).items()}


_TOO_FEW = "Two trials that work and differ are needed for this."
_PADS = (
    "If every reference were filled up with pads to the longest of dev, and a pad counted like a piece that is always "
    "guessed right at no loss, these would be the figures. They say more about the lengths of sentences than about the "
    "model; nothing here was trained or chosen by them."
)
_SENTENCES = (
    "Scores of single sentences are for looking at; their mean is not BLEU. By length it is corpus BLEU over the "
    f"sentences of {LENGTHS[0][0]} to {LENGTHS[0][1]} words, and so on."
)


def _name(result: Result) -> str:
    return result.name if not result.name.isdigit() else f"trial {result.name}"


def _state(result: Result) -> str:
    return "collapsed" if result.collapsed else {"stopped": "stopped early"}.get(result.state, result.state)


def _plain(value: object) -> Value:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str | int | float) or value is None else written(value)


def _interval(score: object) -> Value:
    if not isinstance(score, dict):
        return None
    if "low" not in score:
        return f"{score['value']:.2f}"
    return f"{score['value']:.2f} ± {(score['high'] - score['low']) / 2:.2f}"


def _first_seed(seeds: int) -> str:
    return " BLEU and what follows are those of the first seed." if seeds > 1 else ""


def _stopped(result: Result, metric: str) -> str:
    if result.state != "stopped" or not result.reports:
        return ""
    part, value = max(result.reports.items())
    name = METRIC_NAMES["bleu" if metric == "chrf" else metric]  # which stands in for it while training goes on
    return f"{name} {value:.3f} after {100 * part // 20} % of its budget was weaker than that of others"


def _test_scores(result: Result) -> dict[str, dict[str, float | str]]:
    run = Run(result.folders[0]) if result.folders else None
    if run is None or not run.scores("test").exists():
        return {}
    return dict(run.read_json(run.scores("test"))["scores"])
