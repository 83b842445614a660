"""A comparison as a page, as files and as lines of text."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.metrics import PairedTestResult, bleu
from regard.report import (
    Chart,
    Figure,
    PagePart,
    Paragraph,
    Section,
    Table,
    TableView,
    TranslationCard,
    TranslationCards,
    Value,
    bar_chart,
    category_curves,
    overlay_curves,
    render_page,
    stacked_histograms,
    write_page,
)
from regard.run import write_text
from regard.tuning.analysis.cost import collect_costs, draw_cost_charts
from regard.tuning.analysis.evidence import LogCurves, read_log_curves
from regard.tuning.compare import (
    LENGTH_BUCKETS,
    MIN_BUCKET_SENTENCES,
    Comparison,
    System,
    largest_differences,
    length_ratio,
)
from regard.tuning.measure import RunSummary
from regard.tuning.results import TrialResult

MAX_SHOWN_DIFFERENCES = 5  # sentences with the largest differences, for each system
METRICS = ("bleu", "chrf", "ter")


def write_comparison(comparison: Comparison, folder: Path) -> Path:
    """report.html, charts/ and sentences.tsv in a folder; where the page is."""
    charts = draw_charts(comparison)
    for chart in charts.values():
        chart.save(folder / "charts")
    write_text(folder / "sentences.tsv", format_sentence_table(comparison))
    path = folder / "report.html"
    write_page(path, _render_page(comparison, charts))
    return path


def format_comparison(comparison: Comparison) -> list[str]:
    """The comparison for a terminal."""
    baseline = comparison.baseline
    text_lines = [f"{len(comparison.pairs):,} sentences; every test is against {baseline.name}"]
    for system in comparison.systems:
        text_lines += ["", f"{system.name}{'  COLLAPSED: ' + system.collapse_reason if system.collapse_reason else ''}"]
        text_lines += [f"  {system.evaluation.scores[name]}" for name in METRICS]
        text_lines.append(f"  length ratio {length_ratio(system):.3f}{_format_cost(system)}")
        if system is not baseline:
            text_lines += [f"  {sentence}" for sentence in describe_tests(comparison, system)]
    return text_lines


def describe_tests(comparison: Comparison, system: System) -> list[str]:
    """A sentence for each metric: how far from the first, and whether luck would do."""
    sentences = []
    for name in METRICS:
        bootstrap_test, randomization_test = (
            comparison.bootstrap[system.name][name],
            comparison.randomized[system.name][name],
        )
        p_values = (
            f" (paired bootstrap p = {bootstrap_test.p:.4f}, approximate randomization p = {randomization_test.p:.4f})"
            if bootstrap_test.has_enough_sentences
            else ""
        )
        difference = f"{bootstrap_test.metric} {bootstrap_test.difference:+.2f} against {comparison.baseline.name}"
        sentences.append(f"{difference}: {_describe_verdict(bootstrap_test, randomization_test)}{p_values}")
    return sentences


def _describe_verdict(bootstrap_test: PairedTestResult, randomization_test: PairedTestResult) -> str:
    if bootstrap_test.num_differing == 0:
        return "the same translations"
    if not bootstrap_test.has_enough_sentences:
        return f"only {bootstrap_test.num_differing} of the translations differ, too few to tell"
    if bootstrap_test.significant != randomization_test.significant:
        return "the two tests disagree"
    return "significant by both tests" if bootstrap_test.significant else "noise by both tests"


def _summarize_tests(comparison: Comparison, system: System) -> str:
    """The same in one sentence, metrics of one verdict together; the tests themselves stand in a table below."""
    differences_by_verdict: dict[str, list[str]] = {}
    for name in METRICS:
        bootstrap_test, randomization_test = (
            comparison.bootstrap[system.name][name],
            comparison.randomized[system.name][name],
        )
        differences_by_verdict.setdefault(_describe_verdict(bootstrap_test, randomization_test), []).append(
            f"{bootstrap_test.metric} {bootstrap_test.difference:+.2f}"
        )
    parts = "; ".join(f"{', '.join(differences)}, {verdict}" for verdict, differences in differences_by_verdict.items())
    return f"{system.name} against {comparison.baseline.name}: {parts}."


def format_sentence_table(comparison: Comparison) -> str:
    """A row for each sentence: source, reference, and what every system wrote with its sentence scores."""
    header = ["source", "reference"]
    for system in comparison.systems:
        header += [f"{system.name}", f"{system.name} BLEU", f"{system.name} chrF"]
    rows = ["\t".join(map(_escape_cell, header))]
    for n, pair in enumerate(comparison.pairs):
        cells = [_escape_cell(pair.source), _escape_cell(pair.target)]
        for system in comparison.systems:
            sentence = system.evaluation.sentences[n]
            cells += [_escape_cell(sentence.translation), f"{sentence.bleu:.2f}", f"{sentence.chrf:.2f}"]
        rows.append("\t".join(cells))
    return "\n".join(rows) + "\n"


def draw_charts(comparison: Comparison) -> dict[str, Chart]:
    """Every chart by its name."""
    charts = {"scores": _draw_scores(comparison)} | _draw_curves(comparison) | _draw_costs(comparison)
    sentences = {s.name: s.evaluation.sentences for s in comparison.systems}
    table = Table.from_rows({"bleu": one.bleu, "system": name} for name, found in sentences.items() for one in found)
    histogram = stacked_histograms(
        table, "bleu", "system", title="Sentences by their BLEU", x_title="BLEU of the sentence"
    )
    charts["sentence-bleu"] = histogram.with_name("sentence-bleu")
    rows = [row for name, found in sentences.items() for row in bleu_by_length(name, [vars(one) for one in found])]
    if len({row["words"] for row in rows}) > 1:
        title, x_title = "BLEU by the length of the source", "words of the source"
        chart = category_curves(
            Table.from_rows(rows), "words", "bleu", "system", title=title, x_title=x_title, y_title="BLEU"
        )
        charts["length-bleu"] = chart.with_name("length-bleu")
    return charts


def bleu_by_length(name: str, sentences: Sequence[Mapping[str, str]]) -> list[dict[str, Value]]:
    """Corpus BLEU of the sentences of like length, a row for each length that has enough of them."""
    rows: list[dict[str, Value]] = []
    for low, high in LENGTH_BUCKETS:
        bucket = [row for row in sentences if low <= len(row["source"].split()) <= high]
        if len(bucket) >= MIN_BUCKET_SENTENCES:
            score = bleu([row["translation"] for row in bucket], [row["reference"] for row in bucket])
            words = f"{low}–{high}" if high < 10_000 else f"{low} and more"
            rows.append({"words": words, "bleu": score.value, "system": name})
    return rows


def _draw_scores(comparison: Comparison) -> Chart:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems:
        score = system.evaluation.scores["bleu"]
        rows.append({"system": system.name, "BLEU": score.value, "low": score.low, "high": score.high})
    table = Table.from_rows(rows)
    title = "BLEU with 95 % intervals"
    return bar_chart(
        table, "system", "BLEU", interval=("low", "high"), title=title, x_title="", y_title="BLEU"
    ).with_name("scores")


def _draw_curves(comparison: Comparison) -> dict[str, Chart]:
    """Losses of the runs over their updates, where there are logs."""
    log_curves = {s.name: curves for s in comparison.systems if s.summary is not None and (curves := _read_curves(s))}
    if not log_curves:
        return {}
    charts = {}
    for column, title, y_title in (
        ("loss", "Loss", "nats per target token"),
        ("accuracy", "Accuracy", "% of target tokens"),
        ("bleu", "BLEU on dev, by greedy decoding", "BLEU"),
    ):
        tables = {}
        for head, kind in (("training", "steps"), ("dev", "validations")):
            rows: list[dict[str, Value]] = [
                {"x": point["x"], column: point[column], "system": name}
                for name, one in log_curves.items()
                for point in getattr(one, kind)
                if column in point
            ]
            if rows:
                tables[head] = Table.from_rows(rows)
        if tables:
            names = list(log_curves)
            chart = overlay_curves(
                tables, "x", column, "system", title=title, x_title="minutes", y_title=y_title, highlighted=names
            )
            charts[column] = chart.with_name(column)
    return charts


def _read_curves(system: System) -> LogCurves | None:
    if system.run is None:
        return None
    return read_log_curves(TrialResult(0, system.name, "complete", {}, folders=(system.run.folder,)), "minutes")


def _draw_costs(comparison: Comparison) -> dict[str, Chart]:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems:
        if not system.collapse_reason:
            costs = collect_costs(system.summary) if system.summary else {"parameters": system.parameters}
            rows.append({"name": system.name, "BLEU": system.evaluation.scores["bleu"].value, **costs})
    return {chart.name: chart for chart in draw_cost_charts(rows, "BLEU", "BLEU", higher_is_better=True)}


def _render_page(comparison: Comparison, charts: Mapping[str, Chart]) -> str:
    names = " · ".join(system.name for system in comparison.systems)
    figures = {name: Figure(chart) for name, chart in charts.items()}
    paragraphs: list[PagePart] = [Paragraph(text) for text in _describe_systems(comparison)]
    curves = [figures[name] for name in ("loss", "accuracy", "bleu") if name in figures]
    costs = [figure for name, figure in figures.items() if name.endswith("-quality")]
    shapes = [figures[name] for name in ("sentence-bleu", "length-bleu") if name in figures]
    sections = [
        Section("What it says", paragraphs),
        Section("Scores", [_build_score_table(comparison), figures["scores"], _build_signatures(comparison)]),
        Section(
            "Significance",
            [_build_test_table(comparison)] if comparison.bootstrap else [Paragraph("One system alone.")],
        ),
        Section("Curves", curves or [Paragraph("No system has a log of its training.")]),
        Section("Cost and quality", [_build_cost_table(comparison), *costs]),
        Section("Sentences", shapes),
        Section("Largest differences", _build_differences(comparison)),
    ]
    return render_page(f"Comparison: {names}", f"{len(comparison.pairs):,} sentences of {comparison.name}", sections)


def _describe_systems(comparison: Comparison) -> list[str]:
    baseline = comparison.baseline
    sentences = [
        f"{s.name} has collapsed: {s.collapse_reason}. It is not ranked."
        for s in comparison.systems
        if s.collapse_reason
    ]
    working_systems = [s for s in comparison.systems if not s.collapse_reason]
    if working_systems:
        best = max(working_systems, key=lambda s: s.evaluation.scores["bleu"].value)
        sentences.append(f"Highest BLEU: {best.name}, {best.evaluation.scores['bleu']}.")
    for system in comparison.systems[1:]:
        if not system.collapse_reason and not baseline.collapse_reason:
            sentences.append(_summarize_tests(comparison, system))
    return sentences


def _build_score_table(comparison: Comparison) -> TableView:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems:
        row: dict[str, Value] = {"system": system.name}
        for name in METRICS:
            score = system.evaluation.scores[name]
            row[score.name] = f"{score.value:.2f} ± {(score.high - score.low) / 2:.2f}"
        rows.append(row | {"length ratio": round(length_ratio(system), 3), "works": _format_works(system)})
    return TableView(Table.from_rows(rows), "± is half of the 95 % interval; TER is better when lower.")


def _format_works(system: System) -> str:
    return "collapsed" if system.collapse_reason else "yes" if system.summary else "not known"


def _build_signatures(comparison: Comparison) -> Paragraph:
    scores = comparison.baseline.evaluation.scores
    return Paragraph("\n\n".join(f"{scores[name].name}: {scores[name].signature}" for name in METRICS))


def _build_test_table(comparison: Comparison) -> TableView:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems[1:]:
        for name in METRICS:
            bootstrap_test, randomization_test = (
                comparison.bootstrap[system.name][name],
                comparison.randomized[system.name][name],
            )
            rows.append(
                {
                    "system": system.name,
                    "metric": bootstrap_test.metric,
                    "difference": f"{bootstrap_test.difference:+.2f}",
                    "paired bootstrap": _format_p_value(bootstrap_test),
                    "approximate randomization": _format_p_value(randomization_test),
                }
            )
    return TableView(
        Table.from_rows(rows), f"Against {comparison.baseline.name}. Below 0.05, marked *, luck alone is unlikely."
    )


def _format_p_value(test: PairedTestResult) -> str:
    return f"{test.format_p_value(4)}{' *' if test.significant else ''}"


def _build_cost_table(comparison: Comparison) -> PagePart:
    rows: list[dict[str, Value]] = [
        {"system": s.name, "parameters": s.parameters, **_training_cost(s.summary)}
        for s in comparison.systems
        if s.parameters is not None
    ]
    note = "Minutes and target tokens per second of training; a sentence as it took greedily at looks at dev."
    return TableView(Table.from_rows(rows), note) if rows else Paragraph("Nothing is known of what these systems cost.")


def _training_cost(summary: RunSummary | None) -> dict[str, Value]:
    if summary is None:
        return dict.fromkeys(("minutes", "target tokens per second", "ms per sentence"))
    decoding = None if summary.decoding_seconds is None else round(1000 * summary.decoding_seconds, 1)
    return {
        "minutes": round(summary.minutes, 1),
        "target tokens per second": round(summary.tokens_per_second),
        "ms per sentence": decoding,
    }


def _build_differences(comparison: Comparison) -> list[PagePart]:
    parts: list[PagePart] = []
    for system in comparison.systems[1:]:
        cards = []
        for n in largest_differences(comparison, system, MAX_SHOWN_DIFFERENCES):
            pair = comparison.pairs[n]
            baseline_sentence, system_sentence = (
                comparison.baseline.evaluation.sentences[n],
                system.evaluation.sentences[n],
            )
            translations = f"{comparison.baseline.name}: {baseline_sentence.translation}\n{system.name}: {system_sentence.translation}"
            cards.append(
                TranslationCard(
                    pair.source,
                    translations,
                    pair.target,
                    f"chrF2 {baseline_sentence.chrf:.1f} against {system_sentence.chrf:.1f}",
                )
            )
        title = f"{system.name} against {comparison.baseline.name}: the sentences whose chrF2 differs most."
        parts += [Paragraph(title), TranslationCards(cards)] if cards else [Paragraph(f"{title} None differs.")]
    return parts or [Paragraph("One system alone.")]


def _format_cost(system: System) -> str:
    summary = system.summary
    text = "" if system.parameters is None else f"; {system.parameters:,} parameters"
    if summary is not None:
        text += f", {summary.minutes:.1f} minutes of training, {summary.tokens_per_second:,.0f} target tokens per second"
    return text


def _escape_cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
