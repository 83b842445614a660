"""Parts of pages: each table, chart and sentence holds the numbers that it is made from."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from regard.errors import RunError
from regard.evaluation import SentenceResult, evaluate
from regard.formats import Pair
from regard.jobs.evaluate import write_scores
from regard.jobs.tasks.registry import get_task
from regard.jobs.tasks.translation.sentence_charts import LENGTH_BUCKETS, bleu_by_length, draw_sentence_charts
from regard.metrics import DEFAULT_TOKENIZATION, PairedTestResult, corpus_bleu
from regard.report import Paragraph
from regard.run import Run
from regard.tuning.analysis.curves import CurvePoint, LogCurves
from regard.tuning.analysis.evidence import StudyAnalysis, analyze_study
from regard.tuning.compare import P_VALUES, Comparison, System, compare_files, compare_systems
from regard.tuning.measure import SCORED_METRICS
from regard.tuning.open_study import create_study
from regard.tuning.pages import comparison as page
from regard.tuning.pages import run_parts
from regard.tuning.pages.curve_charts import draw_curve_charts, draw_loss_panels
from regard.tuning.pages.parameter_charts import describe_warnings, draw_parameter_charts, last_score
from regard.tuning.pages.report import open_report
from regard.tuning.pages.study import MAX_EXAMPLE_TRIALS, MAX_NAMED_CURVES, StudyPage
from regard.tuning.results import TrialResult
from tests.tuning.pages.test_parameter_charts import sampled
from tests.tuning.pages.test_study import result
from tests.tuning.synthetic import FOUR, make, make_summary, study_of

TRANSLATE = get_task("translate")
LOSS = TRANSLATE.metrics["loss"]
PAIRS = [Pair(f"s{n}", f"the cat number {n} sat on mat {n * 7}") for n in range(13)]
LINES = {
    "base": [pair.target if n % 2 else "a dog" for n, pair in enumerate(PAIRS)],
    "good": [pair.target for pair in PAIRS],
    "same": [pair.target if n % 2 else "a dog" for n, pair in enumerate(PAIRS)],
    "near": [pair.target if n % 2 and n > 3 else "a dog" for n, pair in enumerate(PAIRS)],
}


def system(name: str, **more) -> System:
    return System(name, evaluate(lambda _: LINES[name], PAIRS, metrics=SCORED_METRICS), **more)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare_systems("test", PAIRS, [system(name) for name in LINES])


def test_a_verdict_needs_enough_sentences_and_both_tests():
    def test(p: float, differing: int | None = 50) -> PairedTestResult:
        return PairedTestResult("BLEU", 20.0, p, "s", -5.0, differing)

    assert page.describe_verdict(test(0.01), test(0.02)) == "significant by both tests"
    assert page.describe_verdict(test(0.2), test(0.3)) == "not significant by either test"
    assert page.describe_verdict(test(0.01), test(0.3)) == "the two tests disagree"
    assert page.describe_verdict(test(0.01, 0), test(0.02, 0)) == "the same translations"
    assert page.describe_verdict(test(0.01, 2), test(0.02, 2)).startswith("only 2 of the translations differ, too few")
    assert page._format_p_value(test(0.01)) == "p = 0.0100 *" and page._format_p_value(test(0.2)) == "p = 0.2000"


def test_every_test_is_against_the_first_system(comparison: Comparison):
    sentences = page.describe_tests(comparison, comparison.systems[1])
    for text, name in zip(sentences, SCORED_METRICS, strict=True):
        bootstrap, randomized = comparison.bootstrap["good"][name], comparison.randomized["good"][name]
        assert text.startswith(f"{bootstrap.metric} {bootstrap.difference:+.2f} against base: ")
        assert f"(paired bootstrap p = {bootstrap.decisive_p:.4f}, " in text
        assert text.endswith(f"approximate randomization p = {randomized.decisive_p:.4f})")
    assert page.describe_tests(comparison, comparison.systems[2])[0] == "BLEU +0.00 against base: the same translations"
    assert page.describe_correction(comparison).startswith("p-values are corrected for 3 comparisons")
    two = replace(comparison, systems=comparison.systems[:2])
    assert page.describe_correction(two) == "" and "1 comparisons" not in page.describe_correction(two)
    rows = page._build_test_table(comparison).table
    assert list(rows["system"]) == ["good"] * 3 + ["same"] * 3 + ["near"] * 3
    assert list(rows["metric"]) == ["BLEU", "chrF2", "TER"] * 3 and rows["paired bootstrap"][0].endswith(" *")
    first = comparison.bootstrap["good"]["bleu"], comparison.randomized["good"]["bleu"]
    assert rows["difference"][0] == f"{first[0].difference:+.2f}"
    assert rows["approximate randomization"][0].startswith(f"p = {first[1].decisive_p:.4f}")
    assert rows["sacreBLEU"][0] == f"{first[0].sacrebleu_p:.4f}, {first[1].sacrebleu_p:.4f}"


def test_a_comparison_is_a_table_a_line_and_a_page(comparison: Comparison):
    table = comparison.as_table()
    assert len(table) == 4 * 3 and list(table.columns) == [
        "system",
        "metric",
        "value",
        "low",
        "high",
        *P_VALUES,
        "signature",
    ]
    tests = comparison.bootstrap["good"]["chrf"], comparison.randomized["good"]["chrf"]
    row = {name: values[4] for name, values in table.columns.items()}
    assert (row["system"], row["metric"]) == ("good", "chrf")
    assert [row[name] for name in P_VALUES] == [
        *(one.decisive_p for one in tests), *(one.p for one in tests), *(one.sacrebleu_p for one in tests),
    ]  # fmt: skip
    assert table["p_bootstrap"][0] is None and "every test is against base." in comparison._repr_html_()
    assert str(comparison).splitlines()[0].split() == ["system", "metric", "value", "low", "high", *P_VALUES[:2]]
    assert repr(comparison) == "<Comparison of base, good, same, near on 13 sentences>"


def test_scores_and_translations_stand_beside_each_other(comparison: Comparison):
    rows = page.format_sentence_table(comparison).splitlines()
    assert rows[0].split("\t")[:5] == ["source", "reference", "base", "base BLEU", "base chrF"] and len(rows) == 14
    one = comparison.systems[1].evaluation.sentences[2]
    assert rows[3].split("\t")[:2] == ["s2", PAIRS[2].target]
    assert rows[3].split("\t")[5:8] == [one.translation, f"{one.bleu:.2f}", f"{one.chrf:.2f}"]
    table = page._build_score_table(comparison, Path("out")).table
    assert list(table["system"]) == list(LINES) and set(table["works"]) == {"not known"}
    assert list(table["length"]) == [round(s.evaluation.baselines.length_ratio, 3) for s in comparison.systems]
    assert table["TER"][1] == comparison.systems[1].evaluation.scores["ter"].format_margin(2)
    chart = page._draw_scores(comparison)
    (bars,) = chart.spec["datasets"].values()
    score = comparison.systems[0].evaluation.scores["bleu"]
    assert {score.value, score.low, score.high} <= set(bars[0].values()) and chart.name == "scores"
    signatures = page._build_signatures(comparison).text
    assert all(one.signature in signatures for one in comparison.baseline.evaluation.scores.values())


def test_the_largest_differences_are_shown_with_both_translations(comparison: Comparison):
    parts = page._build_differences(comparison)
    assert len(parts) == 5  # a title and cards for the second and the fourth system, one sentence for the third
    assert parts[0].text == "good against base: the sentences whose chrF2 differs most."
    assert parts[2].text == "same against base: the sentences whose chrF2 differs most. None differs."
    assert len(parts[1].items) == page.MAX_SHOWN_DIFFERENCES == 5 and len(parts[4].items) == 2
    card, before, after = parts[1].items[0], *(s.evaluation.sentences for s in comparison.systems[:2])
    n = [pair.source for pair in PAIRS].index(card.source)
    gaps = [abs(a.chrf - b.chrf) for a, b in zip(before, after, strict=True)]
    assert gaps[n] == max(gaps) and card.reference == PAIRS[n].target
    assert card.score == f"chrF2 {before[n].chrf:.1f} against {after[n].chrf:.1f}: good is better"
    (alone,) = page._build_differences(replace(comparison, systems=comparison.systems[:1]))
    assert alone.text == "There is only one system."


def test_costs_are_rounded_and_absent_where_they_are_not_known(comparison: Comparison):
    summary = replace(make_summary({}, 3.0, False), minutes=7.16, tokens_per_second=11.7, decoding_seconds=0.01234)
    assert run_parts._training_cost(summary, TRANSLATE) == {
        "minutes": 7.2,
        "target tokens per second": 12,
        "ms per sentence": 12.3,
    }
    assert run_parts._training_cost(replace(summary, decoding_seconds=None), TRANSLATE)["ms per sentence"] is None
    assert set(run_parts._training_cost(None, TRANSLATE).values()) == {None}
    assert isinstance(run_parts.build_cost_table(comparison.systems), Paragraph)
    known = system("good", summary=summary)
    vars(known)["parameters"] = 17
    table = run_parts.build_cost_table([known, comparison.systems[0]]).table
    assert list(table["system"]) == ["good"] and list(table["parameters"]) == [17] and list(table["minutes"]) == [7.2]
    assert page._format_works(known) == "yes"
    assert page._format_works(system("good", summary=make_summary({}, 3.0, True))) == "collapsed"


def test_systems_that_have_collapsed_are_named_and_not_tested(comparison: Comparison):
    texts = page._describe_systems(comparison)
    assert texts[0].startswith("good has the highest BLEU on 13 sentences: 100.0,") and len(texts) == 4
    assert texts[2] == "same against base: BLEU +0.00, chrF2 +0.00, TER +0.00, the same translations."
    broken = [system(name, summary=make_summary({}, 3.0, True)) for name in ("base", "good")]
    first, *others = page._describe_systems(replace(comparison, systems=broken))
    assert first.startswith("No system translates") and others == [
        f"{one.name} has collapsed: {one.collapse_reason}. It is not ranked." for one in broken
    ]
    mixed = page._describe_systems(replace(comparison, systems=[comparison.systems[0], broken[1]]))
    assert mixed[0].startswith("base is the only system that translates: BLEU ") and len(mixed) == 2
    assert run_parts.draw_run_costs(broken, {one.name: one.evaluation.scores["bleu"] for one in broken}) == []


def test_files_of_translations_are_compared_from_disk(tmp_path: Path):
    for name, lines in LINES.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "test.en").write_text("".join(f"{pair.source}\n" for pair in PAIRS))
    (tmp_path / "test.fr").write_text("".join(f"{pair.target}\n" for pair in PAIRS))
    on = [str(tmp_path / "test.en"), str(tmp_path / "test.fr")]
    found = compare_files([tmp_path / "base", tmp_path / "good"], on)
    assert found.name == "test" and [one.name for one in found.systems] == ["base", "good"] and len(found.pairs) == 13
    assert all(one.evaluation.scores.keys() == SCORED_METRICS.keys() for one in found.systems)
    assert found.systems[1].translations == LINES["good"] and found.systems[0].parameters is None
    assert found.baseline.settings is None and found.baseline.diagnosis == "" == found.baseline.collapse_reason


def test_settings_are_shown_as_text():
    values = (None, "", [], 0, 0.123456, ["a", "b"], False)
    assert [run_parts._format_setting(value) for value in values] == ["unset"] * 3 + ["0", "0.1235", "a, b", "False"]


def sentence(words: int, good: bool) -> SentenceResult:
    text = " ".join(f"w{n}" for n in range(words))
    return SentenceResult(text, text, text if good else "x", 50.0, 60.0)


def test_lengths_are_scored_where_there_are_enough_sentences():
    many = [sentence(words, good) for words, count in ((5, 5), (6, 4), (16, 7), (31, 6)) for good in [True] * count]
    many[0] = sentence(5, False)
    rows = bleu_by_length("a", many, DEFAULT_TOKENIZATION)
    assert [row["words"] for row in rows] == ["1–5", "16–20", "31 and more"] and {row["system"] for row in rows} == {
        "a"
    }
    first = many[:5]
    expected = corpus_bleu([one.translation for one in first], [one.reference for one in first], DEFAULT_TOKENIZATION)
    assert rows[0]["bleu"] == expected.value < 100 and rows[1]["bleu"] == pytest.approx(100)
    for (_, high), (low, _) in pairwise(LENGTH_BUCKETS):
        assert low == high + 1
    for words, bucket in ((1, "1–5"), (10, "6–10"), (11, "11–15"), (20, "16–20"), (30, "21–30"), (31, "31 and more")):
        (row,) = bleu_by_length("a", [sentence(words, True)] * 5, DEFAULT_TOKENIZATION)
        assert row["words"] == bucket
    names = [chart.name for chart in draw_sentence_charts({"a": many}, "dev", DEFAULT_TOKENIZATION)]
    assert names == ["sentence-bleu", "length-bleu"]
    one_length = draw_sentence_charts({"a": many[:5], "b": many[:5]}, "dev", DEFAULT_TOKENIZATION)
    assert [chart.name for chart in one_length] == ["sentence-bleu"]


def test_curves_are_drawn_where_there_are_points():
    points = [CurvePoint(float(n), 5.0 - n, 10.0 * n) for n in range(4)]
    scored = [replace(point, score=7.0 + point.x) for point in points]
    curves = {"a": LogCurves(points, scored[1:], "BLEU"), "b": LogCurves(points[:2], [])}
    charts = {chart.name: chart.spec["datasets"] for chart in draw_curve_charts(curves, "steps", ["a"], TRANSLATE)}
    assert list(charts) == ["loss", "accuracy", "score"]
    assert "lines1" in charts["loss"] and "lines1" not in charts["score"]  # no BLEU of training steps
    assert [row["y"] for row in charts["score"]["lines0"]] == [8.0, 9.0, 10.0]
    assert {row["name"] for row in charts["loss"]["ends0"]} == {"a"}
    assert len(charts["loss"]["lines0"]) == 6 and len(charts["loss"]["lines1"]) == 3
    silent = draw_curve_charts({"b": LogCurves(points, [])}, "steps", ["b"], TRANSLATE)
    assert [chart.name for chart in silent] == ["loss", "accuracy"] and draw_curve_charts(
        {}, "steps", [], TRANSLATE
    ) == []
    panels = draw_loss_panels(curves, "steps", "Loss of all", TRANSLATE)
    assert panels.title == "Loss of all" and sum(map(len, panels.spec["datasets"].values())) >= 9


def test_the_score_of_a_trial_that_is_not_ranked_is_its_last():
    pruned = TrialResult(3, "3", "pruned", {}, value=1.0, intermediate_values={2: 7.0, 5: 4.25})
    assert last_score(pruned, LOSS) == 4.25 and last_score(pruned, TRANSLATE.metrics["chrf"]) is None
    assert last_score(replace(pruned, intermediate_values={}), LOSS) is None
    assert last_score(replace(pruned, state="complete"), TRANSLATE.metrics["chrf"]) == 1.0


def test_warnings_follow_from_the_trials():
    study, (one, two, stopped, _) = sampled().study, sampled().results
    bare = StudyAnalysis(study, [one, two])
    untested = "differences from the best were not tested"
    assert describe_warnings(bare, "not drawn") == [untested, "one seed each"]
    assert (
        describe_warnings(replace(bare, results=[one, stopped, stopped]), "gone")[0] == "2 trials stopped early: gone"
    )
    broken = result(7, 3.0, collapsed="it is")
    assert describe_warnings(replace(bare, results=[one, broken]), "gone")[0] == "1 trial collapsed"
    real = PairedTestResult("BLEU", 20.0, 0.001, "", -5.0, None, 0.001)
    assert describe_warnings(replace(bare, tests={1: real}), "gone") == ["one seed each"]
    seeded = study.model_copy(update={"seeds": 2})
    assert describe_warnings(StudyAnalysis(seeded, [one, two]), "gone") == [untested]


def test_settings_are_drawn_of_two_ranked_trials_that_differ():
    analysis = sampled()
    charts = draw_parameter_charts(analysis)
    assert [chart.name for chart in charts] == ["importance", "parallel", "slices"]
    (bars,) = charts[0].spec["datasets"].values()
    assert [{70, 30} & set(row.values()) for row in bars] == [{70}, {30}]
    assert [chart.name for chart in draw_parameter_charts(replace(analysis, importances={}))] == ["parallel", "slices"]
    assert draw_parameter_charts(replace(analysis, results=analysis.results[1:])) == []
    first = analysis.results[0]
    assert draw_parameter_charts(replace(analysis, results=[first, replace(first, number=2)])) == []


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    space = {"model.layers": [2, 4, 6], "model.dim": [128, 192], "model.dropout": [0.1, 0.2, 0.3]}
    study = study_of(sampler="random", space=space, trials=13, metric="bleu")
    worker = make(study, tmp_path_factory.mktemp("many") / "s", collapsed=(3,))
    yield worker, *analyze_study(worker.study, worker.results())
    worker.close()


def test_of_many_trials_the_best_have_names_and_the_tables_have_the_rest(many):
    worker, analysis, curves = many
    page_of_13 = StudyPage(worker, analysis, curves, all_tests=False, pads_counted=False)
    (facts,) = page_of_13._build_trial_facts()
    assert facts.text == "The tables above have the settings of all 13 trials."
    best = [one.label for one in analysis.ranking]
    loss = next(chart for chart in page_of_13.charts() if chart.name == "loss")
    assert [row["name"] for row in loss.spec["datasets"]["ends0"]] and MAX_NAMED_CURVES == 6
    assert {row["name"] for row in loss.spec["datasets"]["ends0"]} == set(best[:MAX_NAMED_CURVES])
    histogram = next(chart for chart in page_of_13.charts() if chart.name == "sentence-bleu")
    shown = str(histogram.spec)
    assert [label for label in best if re.search(rf"{label}\b", shown)] == best[:MAX_EXAMPLE_TRIALS]
    costs = next(chart for chart in page_of_13.charts() if chart.name == "minutes-quality")
    assert "1 trial collapsed" in " ".join(costs.spec["title"]["subtitle"])
    few = replace(analysis, results=[one for one in analysis.results if one.number <= 8])
    of_8 = StudyPage(worker, few, {n: curves[n] for n in range(1, 9)}, all_tests=False, pads_counted=False)
    loss = next(chart for chart in of_8.charts() if chart.name == "loss")
    assert len(loss.spec["datasets"]["ends0"]) == 8 and len(of_8._build_trial_facts()) == 16
    of_9 = replace(analysis, results=[one for one in analysis.results if one.number <= 9])
    loss = next(iter(StudyPage(worker, of_9, {n: curves[n] for n in range(1, 10)}, False, False).charts()))
    assert len(loss.spec["datasets"]["ends0"]) == MAX_NAMED_CURVES


def test_facts_of_a_trial_are_its_settings_and_its_cost(many):
    worker, analysis, curves = many
    few = replace(analysis, results=[analysis.results[1], analysis.results[2], TrialResult(14, "14", "waiting", {})])
    parts = StudyPage(worker, few, curves, all_tests=False, pads_counted=True)._build_trial_facts()
    texts, facts = [part.text for part in parts[::2]], [part.entries for part in parts[1::2]]
    assert texts == ["trial 2", "trial 3 (collapsed)", "trial 14 (waiting)"] and facts[2] == {}
    one = analysis.results[1]
    summary = one.seed_summaries[0]
    assert facts[0] == one.params | {
        "parameters": summary.parameters, "steps": 300, "minutes": round(summary.minutes, 1), "epochs": 25.0,
    }  # fmt: skip
    bare = StudyPage(worker, replace(analysis, results=[few.results[2]]), {}, all_tests=False, pads_counted=True)
    assert bare.charts() == [] and [part.text for part in bare._build_pads_counted()] == ["No trial has these scores."]
    assert [part.text for part in bare._build_best_trial()] == ["No trial has finished."]
    assert bare._shared_settings()["train.epochs"] == 25 and bare._shared_settings()["data.train"] == "a.en, a.fr"


def test_test_scores_have_their_interval_and_seeds_a_note(tmp_path: Path):
    sets = {name: FOUR[name] for name in ("set 3", "set 4")}
    worker = make(study_of(sets=sets, metric="bleu", seeds=2), tmp_path / "s")
    evaluation = evaluate(lambda _: LINES["base"], PAIRS)
    for number in (1, 2):
        write_scores(Run(worker.study_folder.trial_folder(number)), "test", evaluation)
    analysis, curves = analyze_study(worker.study, worker.results())
    *_, grid = StudyPage(worker, analysis, curves, all_tests=True, pads_counted=False)._build_best_trial()
    worker.close()
    assert grid.caption == "On test, which is not used to select. First seed only."
    n = list(grid.table["metric"]).index("BLEU")
    score = evaluation.scores["bleu"]
    found = [grid.table[name][n] for name in ("score", "low", "high", "signature")]
    assert found[:3] == pytest.approx([score.value, score.low, score.high]) and found[3] == score.signature


def test_the_page_of_a_folder_is_that_of_its_study(tmp_path: Path):
    create_study(study_of(sets=FOUR), tmp_path / "s").close()
    path = open_report(tmp_path / "s")
    assert path == tmp_path / "s" / "report.html" and "Study: made" in path.read_text(encoding="utf-8")
    padding = "Accuracy and loss with padding"
    assert padding not in path.read_text(encoding="utf-8")
    assert padding in open_report(tmp_path / "s", pads_counted=True).read_text(encoding="utf-8")
    with pytest.raises(RunError, match="no such study"):
        open_report(tmp_path / "none")
