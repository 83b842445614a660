"""A comparison as a page, as files and as lines of text."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.metrics import Test, bleu
from regard.report import (
    Chart,
    Figure,
    Grid,
    Paragraph,
    Part,
    Section,
    Table,
    Translation,
    Translations,
    Value,
    bars,
    distributions,
    overlay,
    page,
    profile,
    write_page,
)
from regard.run import write_text
from regard.tuning.analysis.cost import cost_charts, costs_of
from regard.tuning.analysis.evidence import Course, course
from regard.tuning.compare import FEWEST, LENGTHS, Comparison, System, largest_differences, length_ratio
from regard.tuning.measure import Measured
from regard.tuning.results import Result

SHOWN = 5  # sentences with the largest differences, for each system
METRICS = ("bleu", "chrf", "ter")


def write_comparison(comparison: Comparison, folder: Path) -> Path:
    """report.html, charts/ and sentences.tsv in a folder; where the page is."""
    charts = draw(comparison)
    for chart in charts.values():
        chart.save(folder / "charts")
    write_text(folder / "sentences.tsv", sentence_table(comparison))
    path = folder / "report.html"
    write_page(path, _page(comparison, charts))
    return path


def lines(comparison: Comparison) -> list[str]:
    """The comparison for a terminal."""
    first = comparison.first
    out = [f"{len(comparison.pairs):,} sentences; every test is against {first.name}"]
    for system in comparison.systems:
        out += ["", f"{system.name}{'  COLLAPSED: ' + system.collapsed if system.collapsed else ''}"]
        out += [f"  {system.evaluation.scores[name]}" for name in METRICS]
        out.append(f"  length ratio {length_ratio(system):.3f}{_cost(system)}")
        if system is not first:
            out += [f"  {sentence}" for sentence in verdicts(comparison, system)]
    return out


def verdicts(comparison: Comparison, system: System) -> list[str]:
    """A sentence for each metric: how far from the first, and whether luck would do."""
    told = []
    for name in METRICS:
        one, two = comparison.bootstrap[system.name][name], comparison.randomised[system.name][name]
        chances = f" (paired bootstrap p = {one.p:.4f}, approximate randomisation p = {two.p:.4f})" if one.tells else ""
        difference = f"{one.metric} {one.difference:+.2f} against {comparison.first.name}"
        told.append(f"{difference}: {_verdict(one, two)}{chances}")
    return told


def _verdict(one: Test, two: Test) -> str:
    if one.differing == 0:
        return "the same translations"
    if not one.tells:
        return f"only {one.differing} of the translations differ, too few to tell"
    if one.significant != two.significant:
        return "the two tests disagree"
    return "significant by both tests" if one.significant else "noise by both tests"


def _together(comparison: Comparison, system: System) -> str:
    """The same in one sentence, metrics of one verdict together; the tests themselves stand in a table below."""
    said: dict[str, list[str]] = {}
    for name in METRICS:
        one, two = comparison.bootstrap[system.name][name], comparison.randomised[system.name][name]
        said.setdefault(_verdict(one, two), []).append(f"{one.metric} {one.difference:+.2f}")
    parts = "; ".join(f"{', '.join(differences)}, {verdict}" for verdict, differences in said.items())
    return f"{system.name} against {comparison.first.name}: {parts}."


def sentence_table(comparison: Comparison) -> str:
    """A row for each sentence: source, reference, and what every system wrote with its sentence scores."""
    head = ["source", "reference"]
    for system in comparison.systems:
        head += [f"{system.name}", f"{system.name} BLEU", f"{system.name} chrF"]
    rows = ["\t".join(map(_cell, head))]
    for n, pair in enumerate(comparison.pairs):
        cells = [_cell(pair.source), _cell(pair.target)]
        for system in comparison.systems:
            sentence = system.evaluation.sentences[n]
            cells += [_cell(sentence.translation), f"{sentence.bleu:.2f}", f"{sentence.chrf:.2f}"]
        rows.append("\t".join(cells))
    return "\n".join(rows) + "\n"


def draw(comparison: Comparison) -> dict[str, Chart]:
    """Every chart by its name."""
    charts = {"scores": _scores(comparison)} | _curves(comparison) | _costs(comparison)
    sentences = {s.name: s.evaluation.sentences for s in comparison.systems}
    table = Table.of({"bleu": one.bleu, "system": name} for name, found in sentences.items() for one in found)
    shape = distributions(table, "bleu", "system", title="Sentences by their BLEU", x_title="BLEU of the sentence")
    charts["sentence-bleu"] = shape.named("sentence-bleu")
    rows = [row for name, found in sentences.items() for row in length_rows(name, [vars(one) for one in found])]
    if len({row["words"] for row in rows}) > 1:
        title, x_title = "BLEU by the length of the source", "words of the source"
        chart = profile(Table.of(rows), "words", "bleu", "system", title=title, x_title=x_title, y_title="BLEU")
        charts["length-bleu"] = chart.named("length-bleu")
    return charts


def length_rows(name: str, sentences: Sequence[Mapping[str, str]]) -> list[dict[str, Value]]:
    """Corpus BLEU of the sentences of like length, a row for each length that has enough of them."""
    rows: list[dict[str, Value]] = []
    for low, high in LENGTHS:
        chosen = [row for row in sentences if low <= len(row["source"].split()) <= high]
        if len(chosen) >= FEWEST:
            score = bleu([row["translation"] for row in chosen], [row["reference"] for row in chosen])
            words = f"{low}–{high}" if high < 10_000 else f"{low} and more"
            rows.append({"words": words, "bleu": score.value, "system": name})
    return rows


def _scores(comparison: Comparison) -> Chart:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems:
        score = system.evaluation.scores["bleu"]
        rows.append({"system": system.name, "BLEU": score.value, "low": score.low, "high": score.high})
    table = Table.of(rows)
    title = "BLEU with 95 % intervals"
    return bars(table, "system", "BLEU", interval=("low", "high"), title=title, x_title="", y_title="BLEU").named(
        "scores"
    )


def _curves(comparison: Comparison) -> dict[str, Chart]:
    """Losses of the runs over their updates, where there are logs."""
    courses = {s.name: found for s in comparison.systems if s.measured is not None and (found := _course(s))}
    if not courses:
        return {}
    charts = {}
    for column, title, y_title in (
        ("loss", "Loss", "nats per target piece"),
        ("accuracy", "Accuracy", "% of target pieces"),
        ("bleu", "BLEU on dev, by greedy decoding", "BLEU"),
    ):
        tables = {}
        for head, kind in (("training", "steps"), ("dev", "checks")):
            rows: list[dict[str, Value]] = [
                {"x": point["x"], column: point[column], "system": name}
                for name, one in courses.items()
                for point in getattr(one, kind)
                if column in point
            ]
            if rows:
                tables[head] = Table.of(rows)
        if tables:
            names = list(courses)
            chart = overlay(tables, "x", column, "system", title=title, x_title="minutes", y_title=y_title, named=names)
            charts[column] = chart.named(column)
    return charts


def _course(system: System) -> Course | None:
    if system.run is None:
        return None
    return course(Result(0, system.name, "complete", {}, folders=(system.run.folder,)), "minutes")


def _costs(comparison: Comparison) -> dict[str, Chart]:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems:
        if not system.collapsed:
            costs = costs_of(system.measured) if system.measured else {"parameters": system.parameters}
            rows.append({"name": system.name, "BLEU": system.evaluation.scores["bleu"].value, **costs})
    return {chart.name: chart for chart in cost_charts(rows, "BLEU", "BLEU", higher=True)}


def _page(comparison: Comparison, charts: Mapping[str, Chart]) -> str:
    names = " · ".join(system.name for system in comparison.systems)
    figures = {name: Figure(chart) for name, chart in charts.items()}
    told: list[Part] = [Paragraph(text) for text in _words(comparison)]
    curves = [figures[name] for name in ("loss", "accuracy", "bleu") if name in figures]
    costs = [figure for name, figure in figures.items() if name.endswith("-quality")]
    shapes = [figures[name] for name in ("sentence-bleu", "length-bleu") if name in figures]
    sections = [
        Section("What it says", told),
        Section("Scores", [_table(comparison), figures["scores"], _signatures(comparison)]),
        Section("Significance", [_tests(comparison)] if comparison.bootstrap else [Paragraph("One system alone.")]),
        Section("Curves", curves or [Paragraph("No system has a log of its training.")]),
        Section("Cost and quality", [_cost_table(comparison), *costs]),
        Section("Sentences", shapes),
        Section("Largest differences", _differences(comparison)),
    ]
    return page(f"Comparison: {names}", f"{len(comparison.pairs):,} sentences of {comparison.name}", sections)


def _words(comparison: Comparison) -> list[str]:
    first = comparison.first
    told = [f"{s.name} has collapsed: {s.collapsed}. It is not ranked." for s in comparison.systems if s.collapsed]
    working = [s for s in comparison.systems if not s.collapsed]
    if working:
        best = max(working, key=lambda s: s.evaluation.scores["bleu"].value)
        told.append(f"Highest BLEU: {best.name}, {best.evaluation.scores['bleu']}.")
    for system in comparison.systems[1:]:
        if not system.collapsed and not first.collapsed:
            told.append(_together(comparison, system))
    return told


def _table(comparison: Comparison) -> Grid:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems:
        row: dict[str, Value] = {"system": system.name}
        for name in METRICS:
            score = system.evaluation.scores[name]
            row[score.name] = f"{score.value:.2f} ± {(score.high - score.low) / 2:.2f}"
        rows.append(row | {"length ratio": round(length_ratio(system), 3), "works": _works(system)})
    return Grid(Table.of(rows), "± is half of the 95 % interval; TER is better when lower.")


def _works(system: System) -> str:
    return "collapsed" if system.collapsed else "yes" if system.measured else "not known"


def _signatures(comparison: Comparison) -> Paragraph:
    scores = comparison.first.evaluation.scores
    return Paragraph("\n\n".join(f"{scores[name].name}: {scores[name].signature}" for name in METRICS))


def _tests(comparison: Comparison) -> Grid:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems[1:]:
        for name in METRICS:
            one, two = comparison.bootstrap[system.name][name], comparison.randomised[system.name][name]
            rows.append(
                {
                    "system": system.name,
                    "metric": one.metric,
                    "difference": f"{one.difference:+.2f}",
                    "paired bootstrap": _p(one),
                    "approximate randomisation": _p(two),
                }
            )
    return Grid(Table.of(rows), f"Against {comparison.first.name}. Below 0.05, marked *, luck alone is unlikely.")


def _p(test: Test) -> str:
    return f"{test.chance(4)}{' *' if test.significant else ''}"


def _cost_table(comparison: Comparison) -> Part:
    rows: list[dict[str, Value]] = [
        {"system": s.name, "parameters": s.parameters, **_spent(s.measured)}
        for s in comparison.systems
        if s.parameters is not None
    ]
    note = "Minutes and pieces a second of training; a sentence as it took greedily at looks at dev."
    return Grid(Table.of(rows), note) if rows else Paragraph("Nothing is known of what these systems cost.")


def _spent(one: Measured | None) -> dict[str, Value]:
    if one is None:
        return dict.fromkeys(("minutes", "target pieces a second", "ms a sentence"))
    decoding = None if one.decoding is None else round(1000 * one.decoding, 1)
    return {"minutes": round(one.minutes, 1), "target pieces a second": round(one.speed), "ms a sentence": decoding}


def _differences(comparison: Comparison) -> list[Part]:
    parts: list[Part] = []
    for system in comparison.systems[1:]:
        cards = []
        for n in largest_differences(comparison, system, SHOWN):
            pair = comparison.pairs[n]
            one, two = comparison.first.evaluation.sentences[n], system.evaluation.sentences[n]
            both = f"{comparison.first.name}: {one.translation}\n{system.name}: {two.translation}"
            cards.append(Translation(pair.source, both, pair.target, f"chrF2 {one.chrf:.1f} against {two.chrf:.1f}"))
        title = f"{system.name} against {comparison.first.name}: the sentences whose chrF2 differs most."
        parts += [Paragraph(title), Translations(cards)] if cards else [Paragraph(f"{title} None differs.")]
    return parts or [Paragraph("One system alone.")]


def _cost(system: System) -> str:
    one = system.measured
    told = "" if system.parameters is None else f"; {system.parameters:,} parameters"
    if one is not None:
        told += f", {one.minutes:.1f} minutes of training, {one.speed:,.0f} target pieces a second"
    return told


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
