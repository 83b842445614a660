"""A comparison as a page and as files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from regard.exchange import write_folder
from regard.formats import tsv
from regard.jobs.tasks.translation.sentence_charts import draw_sentence_charts
from regard.metrics import PairedTestResult, Score
from regard.metrics.score import LOWER_IS_BETTER
from regard.progress import stage, track
from regard.report import (
    Chart,
    Figure,
    Headline,
    PagePart,
    Paragraph,
    Section,
    Table,
    TableView,
    TranslationCard,
    TranslationCards,
    Value,
    ValueAxis,
    bar_chart,
    render_page,
    write_page,
)
from regard.run import write_text
from regard.tuning.compare import Comparison, System, largest_differences
from regard.tuning.measure import COLLAPSED, SCORED_METRICS, UNDERTRAINED
from regard.tuning.pages.curve_charts import switch_curves
from regard.tuning.pages.links import link_report
from regard.tuning.pages.run_parts import (
    build_cost_table,
    build_settings,
    draw_run_costs,
    draw_run_curves,
    find_task,
)

PAGE, CHARTS = "report.html", "charts"
VERBS = {COLLAPSED: f"has {COLLAPSED}", UNDERTRAINED: f"was {UNDERTRAINED}"}
LENGTH_RATIO = "length ratio, characters of translation per character of reference"
MAX_SHOWN_DIFFERENCES = 5  # sentences with the largest differences, for each system


def write_comparison(comparison: Comparison, folder: Path) -> Path:
    """Write report.html, charts/ and sentences.tsv into a folder; returns the path of the page."""
    charts, curves = draw_charts(comparison), draw_run_curves(comparison.systems)
    with write_folder(folder, owned={CHARTS}) as staged:
        drawn = [*charts.values(), *(chart for charts_of_unit in curves.values() for chart in charts_of_unit)]
        for chart in track(drawn, "drawing charts"):
            chart.save(staged / CHARTS)
        write_text(staged / "sentences.tsv", format_sentence_table(comparison))
        with stage("writing the page"):
            write_page(staged / PAGE, _render_page(comparison, charts, curves, folder))
    return folder / PAGE


def describe_tests(comparison: Comparison, system: System) -> list[str]:
    """A sentence for each metric: the difference from the baseline, and whether it is significant."""
    sentences = []
    for bootstrap_test, randomization_test in pair_tests(comparison, system):
        p_values = (
            f" (paired bootstrap p = {bootstrap_test.decisive_p:.4f}, approximate randomization "
            f"p = {randomization_test.decisive_p:.4f})"
            if bootstrap_test.has_enough_sentences
            else ""
        )
        difference = f"{_format_difference(bootstrap_test)} against {comparison.baseline.name}"
        sentences.append(f"{difference}: {describe_verdict(bootstrap_test, randomization_test)}{p_values}")
    return sentences


def describe_correction(comparison: Comparison) -> str:
    """How p-values are corrected where several systems are tested; empty for one."""
    count = len(comparison.systems) - 1
    return f"p-values are corrected for {count} comparisons by each metric (Holm)." if count > 1 else ""


def pair_tests(comparison: Comparison, system: System) -> Iterator[tuple[PairedTestResult, PairedTestResult]]:
    """For each metric, the paired bootstrap and the approximate randomization against the baseline."""
    for name in SCORED_METRICS:
        yield comparison.bootstrap[system.name][name], comparison.randomized[system.name][name]


def _format_difference(test: PairedTestResult) -> str:
    return f"{test.metric} {test.difference:+.2f}"


def describe_verdict(bootstrap_test: PairedTestResult, randomization_test: PairedTestResult) -> str:
    """Whether a difference is significant, in words."""
    if bootstrap_test.num_differing == 0:
        return "the same translations"
    if not bootstrap_test.has_enough_sentences:
        return f"only {bootstrap_test.num_differing} of the translations differ, too few for a test"
    if bootstrap_test.significant != randomization_test.significant:
        return "the two tests disagree"
    return "significant by both tests" if bootstrap_test.significant else "not significant by either test"


def _summarize_tests(comparison: Comparison, system: System) -> str:
    """All metrics in one sentence, grouped by verdict."""
    differences_by_verdict: dict[str, list[str]] = {}
    for bootstrap_test, randomization_test in pair_tests(comparison, system):
        verdict = describe_verdict(bootstrap_test, randomization_test)
        differences_by_verdict.setdefault(verdict, []).append(_format_difference(bootstrap_test))
    parts = "; ".join(f"{', '.join(differences)}, {verdict}" for verdict, differences in differences_by_verdict.items())
    return f"{system.name} against {comparison.baseline.name}: {parts}."


def format_sentence_table(comparison: Comparison) -> str:
    """A row for each sentence: source, reference, and the translation of every system with its sentence scores."""
    header = ["source", "reference"]
    for system in comparison.systems:
        header += [f"{system.name}", f"{system.name} BLEU", f"{system.name} chrF"]
    rows = [tsv.format_row(header)]
    for n, pair in enumerate(comparison.pairs):
        cells = [pair.source, pair.target]
        for system in comparison.systems:
            sentence = system.evaluation.sentences[n]
            cells += [sentence.translation, f"{sentence.bleu:.2f}", f"{sentence.chrf:.2f}"]
        rows.append(tsv.format_row(cells))
    return "\n".join(rows) + "\n"


def draw_charts(comparison: Comparison) -> dict[str, Chart]:
    """Every chart but the learning curves by its name."""
    sentences = {system.name: system.evaluation.sentences for system in comparison.systems}
    charts = [
        _draw_scores(comparison),
        *draw_run_costs(comparison.systems, {s.name: s.evaluation.scores["bleu"] for s in comparison.systems}),
        *draw_sentence_charts(sentences, comparison.name, comparison.baseline.evaluation.tokenization),
    ]
    return {chart.name: chart for chart in charts}


def _draw_scores(comparison: Comparison) -> Chart:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems:
        score = system.evaluation.scores["bleu"]
        rows.append({"system": system.name, "BLEU": score.value, "low": score.low, "high": score.high})
    title = "BLEU with 95% confidence intervals"
    chart = bar_chart(
        Table.from_rows(rows),
        "system",
        "BLEU",
        interval=("low", "high"),
        title=title,
        x_title="",
        y_title=ValueAxis("BLEU", (0.0, 100.0)),
    )
    return chart.with_name("scores")


def _render_page(
    comparison: Comparison, charts: Mapping[str, Chart], curves: Mapping[str, Sequence[Chart]], folder: Path
) -> str:
    names = " · ".join(system.name for system in comparison.systems)
    figures = {name: Figure(chart) for name, chart in charts.items()}
    answer, *details = _describe_systems(comparison)
    paragraphs: list[PagePart] = [Paragraph(text) for text in details]
    switch = switch_curves(curves, find_task(comparison.systems))
    costs = [figure for name, figure in figures.items() if name.endswith("-quality")]
    distributions = [figures[name] for name in ("sentence-bleu", "length-bleu") if name in figures]
    sections = [
        *([Section("Summary", paragraphs)] if paragraphs else []),
        Section("Scores", [_build_score_table(comparison, folder), figures["scores"], _build_signatures(comparison)]),
        Section(
            "Significance",
            [_build_test_table(comparison)] if comparison.bootstrap else [Paragraph(_ONE_SYSTEM)],
        ),
        Section("Settings that differ", [build_settings(comparison.systems)]),
        Section("Curves", switch or [Paragraph("No system has a training log.")]),
        Section("Cost and quality", [build_cost_table(comparison.systems), *costs]),
        Section("Sentences", distributions),
        Section("Largest differences", _build_differences(comparison)),
    ]
    subtitle = f"{len(comparison.pairs):,} sentences of {comparison.name}"
    return render_page(f"Comparison: {names}", subtitle, sections, headline=Headline(answer))


_ONE_SYSTEM = "There is only one system."


def _describe_systems(comparison: Comparison) -> list[str]:
    """The answer, why systems are not ranked, and how the others differ from the baseline."""
    baseline = comparison.baseline
    sentences = [describe_answer(comparison)]
    sentences += [
        f"{s.name} {VERBS[s.diagnosis]}: {s.collapse_reason}. It is not ranked."
        for s in comparison.systems
        if s.diagnosis
    ]
    for system in comparison.systems[1:]:
        if not system.collapse_reason and not baseline.collapse_reason:
            sentences.append(_summarize_tests(comparison, system))
    return sentences


def describe_answer(comparison: Comparison) -> str:
    """Which system is best, and whether it differs significantly from the baseline, or that none translates."""
    working = [
        system
        for system in comparison.systems
        if not system.collapse_reason and system.evaluation.baselines.is_below(_bleu(system))
    ]
    count = f"{len(comparison.pairs):,} sentences"
    if not working:
        return f"No system translates: on {count}, BLEU is no better than that of other sentences' translations."
    best, baseline = max(working, key=lambda system: _bleu(system).value), comparison.baseline
    if len(comparison.systems) == 1:
        return f"{best.name}: {_format_bleu(best)} on {count}."
    other = best
    if len(working) == 1:
        return f"{best.name} is the only system that translates: {_format_bleu(best)} on {count}."
    if best is baseline:
        others = [system for system in working if system is not baseline]
        other = max(others, key=lambda system: _bleu(system).value)
    bootstrap, randomization = next(iter(pair_tests(comparison, other)))
    difference = _bleu(best).value - _bleu(baseline if other is best else other).value
    verdict = describe_verdict(bootstrap, randomization)
    if other is best and len(comparison.systems) > 2:
        return f"{best.name} has the highest BLEU on {count}: {_compare_with_baseline(comparison, best, working)}."
    rival = baseline.name if other is best else other.name
    return (
        f"{best.name} has the highest BLEU on {count}: {_bleu(best).value:.1f}, {difference:.1f} more than "
        f"{rival}; {verdict}."
    )


def _compare_with_baseline(comparison: Comparison, best: System, working: Sequence[System]) -> str:
    """Of several systems: the test of the best one, which is against the baseline alone, and what was not tested."""
    baseline = comparison.baseline
    bootstrap, randomization = next(iter(pair_tests(comparison, best)))
    value, difference = _bleu(best).value, _bleu(best).value - _bleu(baseline).value
    if bootstrap.has_enough_sentences and bootstrap.significant and randomization.significant:
        parts = [f"{value:.1f}, significantly better than the baseline {baseline.name} ({difference:.1f} more)"]
    else:
        verdict = describe_verdict(bootstrap, randomization)
        parts = [f"{value:.1f}, {difference:.1f} more than the baseline {baseline.name}; {verdict}"]
    untested = sorted(
        (system for system in working if system not in (best, baseline)), key=lambda system: -_bleu(system).value
    )
    if untested:
        names = ", ".join(f"{system.name} ({_bleu(system).value:.1f})" for system in untested)
        parts.append(f"not tested against {names}")
    return "; ".join(parts)


def _bleu(system: System) -> Score:
    return system.evaluation.scores["bleu"]


def _format_bleu(system: System) -> str:
    return f"BLEU {_bleu(system).format_margin(1)}"


def _build_score_table(comparison: Comparison, folder: Path) -> TableView:
    rows: list[dict[str, Value]] = []
    for system in comparison.systems:
        row: dict[str, Value] = {"system": system.name}
        for name in SCORED_METRICS:
            score = system.evaluation.scores[name]
            row[score.name] = score.format_margin(2)
        rows.append(
            row | {"length": round(system.evaluation.baselines.length_ratio, 3), "works": _format_works(system)}
        )
    caption = f"± is half the width of the 95% confidence interval; lower TER is better; length: {LENGTH_RATIO}."
    links = {"system": [link_report(system.run, folder) for system in comparison.systems]}
    return TableView(Table.from_rows(rows), caption, interactive=True, links=links)


def _format_works(system: System) -> str:
    return system.diagnosis or ("yes" if system.summary else "not known")


def _build_signatures(comparison: Comparison) -> Paragraph:
    evaluation = comparison.baseline.evaluation
    scores, tokenization = evaluation.scores, evaluation.tokenization.describe()
    lines = [f"{scores[name].name}: {scores[name].signature}" for name in SCORED_METRICS]
    return Paragraph("\n\n".join([tokenization, *lines] if tokenization else lines))


def _build_test_table(comparison: Comparison) -> TableView:
    rows: list[dict[str, Value]] = [
        {
            "system": system.name,
            "metric": bootstrap_test.metric,
            "difference": f"{bootstrap_test.difference:+.2f}",
            "in words": say_difference(bootstrap_test, randomization_test),
            "paired bootstrap": _format_p_value(bootstrap_test),
            "approximate randomization": _format_p_value(randomization_test),
            "sacreBLEU": f"{bootstrap_test.sacrebleu_p:.4f}, {randomization_test.sacrebleu_p:.4f}",
        }
        for system in comparison.systems[1:]
        for bootstrap_test, randomization_test in pair_tests(comparison, system)
    ]
    caption = f"Against {comparison.baseline.name}. * marks p < 0.05. {describe_correction(comparison)}"
    note = "sacreBLEU: what `sacrebleu --paired-bs` and `--paired-ar` print, uncorrected; verdicts do not follow them."
    return TableView(Table.from_rows(rows), f"{caption.rstrip()} {note}", interactive=True)


def say_difference(bootstrap_test: PairedTestResult, randomization_test: PairedTestResult) -> str:
    """Better or worse than the baseline, if both tests say that there is a difference."""
    verdict = describe_verdict(bootstrap_test, randomization_test)
    if not (bootstrap_test.has_enough_sentences and bootstrap_test.significant and randomization_test.significant):
        return "not significant" if verdict.startswith("not significant") else verdict
    is_better = (bootstrap_test.difference > 0) is not (bootstrap_test.metric in LOWER_IS_BETTER)
    return "better" if is_better else "worse"


def _format_p_value(test: PairedTestResult) -> str:
    return f"{test.format_p_value(4)}{' *' if test.significant else ''}"


def _build_differences(comparison: Comparison) -> list[PagePart]:
    baseline, parts = comparison.baseline, list[PagePart]()
    for system in comparison.systems[1:]:
        cards = []
        for n in largest_differences(comparison, system, MAX_SHOWN_DIFFERENCES):
            pair = comparison.pairs[n]
            before, after = baseline.evaluation.sentences[n], system.evaluation.sentences[n]
            others = [(baseline.name, before.translation)]
            note = f"chrF2 {before.chrf:.1f} against {after.chrf:.1f}: {system.name} is {_say(before.chrf, after.chrf)}"
            cards.append(TranslationCard(pair.source, after.translation, pair.target, note, system.name, others))
        title = f"{system.name} against {baseline.name}: the sentences whose chrF2 differs most."
        parts += (
            [Paragraph(title), TranslationCards(cards, marked=True)] if cards else [Paragraph(f"{title} None differs.")]
        )
    return parts or [Paragraph(_ONE_SYSTEM)]


def _say(before: float, after: float) -> str:
    return "better" if after > before else "worse"
