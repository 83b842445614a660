"""The page of a study and its text: every sentence follows from the numbers."""

import contextlib
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.config import Config, dump
from regard.data.batch import DataPosition
from regard.evaluation import Baselines, Evaluation
from regard.jobs.evaluate import write_scores
from regard.jobs.tasks.registry import get_task
from regard.metrics import PairedTestResult as Significance
from regard.metrics import Score
from regard.model import weights
from regard.run import BestWeights, Run, write_text
from regard.training.log import Log, read_validations
from regard.training.loop import Step
from regard.training.validate import Validation
from regard.tuning.analysis.curves import LossCurve, find_turning_point
from regard.tuning.analysis.evidence import StudyAnalysis, analyze_study, compare_seeds, compute_importances
from regard.tuning.analysis.findings import (
    describe_effects,
    describe_importances,
    describe_overfitting,
    describe_study,
)
from regard.tuning.measure import RunSummary, diagnose_collapse, summarize_run
from regard.tuning.pages.study import write_study_page
from regard.tuning.results import TrialResult, rank_trials
from tests.tuning.synthetic import FOUR, make, study_of

MEGABYTE = 2**20
TRANSLATE = get_task("translate")
WIDE = {"model.layers": [2, 4, 6], "model.heads": [4, 8], "model.dim": [128, 256], "model.dropout": "0.1..0.4"}


@pytest.fixture(scope="module")
def four(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "four"
    study_worker = make(study_of(sets=FOUR, metric="bleu"), folder, collapsed=(1,), turning=(4,))
    write_study_page(study_worker, pads_counted=True)
    study_worker.close()
    return folder


def test_the_page_holds_everything_about_a_study(four: Path):
    page = (four / "report.html").read_text(encoding="utf-8")
    for words in (
        "Best on dev: set 4", "Parallel coordinates of all trials", "Effect of each setting",
        "Loss of every trial", "Size against quality", "Sentence BLEU on dev", "BLEU on dev by source length",
        "Not ranked.", "Sorted by BLEU on dev", "For quality, choose set 4",
        "For speed, choose", "Translation time against quality", "ms to translate a sentence",
        "BLEU on dev, greedy decoding",
    ):  # fmt: skip
        assert words in page, words
    for name in (
        "loss",
        "accuracy",
        "score",
        "every-trial",
        "parallel",
        "slices",
        "parameters-quality",
        "decoding-quality",
        "sentence-bleu",
    ):
        assert (four / "charts" / f"{name}.png").exists() and (four / "charts" / f"{name}.svg").exists()


def test_a_collapsed_model_is_called_so_with_the_reason_and_not_ranked(four: Path):
    page = (four / "report.html").read_text(encoding="utf-8")
    assert "Set 1 collapsed: it ignores its source" in page and '<td dir="auto" class="short">collapsed</td>' in page
    ranked = page.split("<caption>Sorted by BLEU on dev")[1].split("<caption>Not ranked.")[0]
    assert "set 1" not in ranked and "set 2" in ranked


def test_overfitting_is_named_where_it_starts(four: Path):
    page = (four / "report.html").read_text(encoding="utf-8")
    assert "while training loss falls: set 4 from 16.0 epochs on" in page


def words_of(page: Path) -> str:
    """A page without its charts, whose coordinates may be any numbers."""
    return re.sub(r"<svg.*?</svg>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_test_scores_are_shown_of_the_chosen_one_alone(tmp_path: Path):
    study_worker = make(study_of(sets={n: FOUR[n] for n in ("set 3", "set 4")}, metric="bleu"), tmp_path / "s")
    best = rank_trials(study_worker.study, study_worker.results())[0]
    for number, value in ((1, 31.41), (2, 27.18)):
        score = Score("BLEU", value, 1.0, 2.0, "s")
        evaluation = Evaluation({"bleu": score}, [], Baselines(score, score, 1.0))
        write_scores(Run(study_worker.study_folder.trial_folder(number)), "test", evaluation)
    mine, other = ("31.41", "27.18") if best.number == 1 else ("27.18", "31.41")
    page = words_of(write_study_page(study_worker))
    assert mine in page and other not in page and "Accuracy and loss with padding" not in page
    page = words_of(write_study_page(study_worker, all_tests=True))
    assert mine in page and other in page
    study_worker.close()


def test_padding_is_counted_where_somebody_asks_for_it(four: Path):
    page = (four / "report.html").read_text(encoding="utf-8")
    table = page.split("<caption>On dev; positions per sentence")[1].split("</table>")[0]
    assert "set 1" in table and "set 2" in table and "61.8" in table  # the one that collapsed included


@pytest.mark.slow
def test_a_report_of_64_trials_is_small(tmp_path: Path):
    study_worker = make(
        study_of(sampler="random", space=WIDE, trials=64, metric="bleu"), tmp_path / "s", collapsed=(5,)
    )
    path = write_study_page(study_worker)
    assert path.stat().st_size < 6 * MEGABYTE
    page = path.read_text(encoding="utf-8")
    assert "Importance of settings (fANOVA)" in page and "in gray: the other" in page
    study_worker.close()


def check(loss: float, shuffled: float | None = 9.0, distinct: float | None = 0.9) -> Validation:
    return Validation(100, loss, 0.3, None, 1.0, shuffled, distinct)


@pytest.mark.parametrize(
    ("validation", "reason"),
    [
        (check(5.9, shuffled=9.0), "no better than the 5.80 of a unigram model"),
        (check(4.0, shuffled=4.05), "ignores its source: with the sources of other sentences its dev loss is 4.05"),
        (check(4.0, distinct=0.1), "only 10% of its translations"),
        (check(4.0), ""),
    ],
)
def test_a_collapse_is_told_by_the_unigram_line_by_shuffled_sources_and_by_sameness(
    validation: Validation, reason: str
):
    diagnosis = diagnose_collapse(TRANSLATE, validation, 5.8, None)
    assert (reason in diagnosis) if reason else diagnosis == ""


def test_a_collapse_is_told_by_translations_that_suit_any_sentence():
    chance = Score("BLEU", 1.9, 1.7, 2.1, "s")
    bad, good = (
        Evaluation({"bleu": replace(chance, value=value)}, [], Baselines(chance, chance, 1.0)) for value in (2.0, 20.0)
    )
    assert "no better than the 1.9 of shuffled translations" in diagnose_collapse(TRANSLATE, check(4.0), 5.8, bad)
    assert diagnose_collapse(TRANSLATE, check(4.0), 5.8, good) == ""


def rising(folder: Path, best: dict) -> Run:
    """A run that learns for three looks at dev and then learns by heart, until dev is worse than the unigram line."""
    run = Run(folder)
    validations = [(1, 5.0, 9.0, 1.0), (2, 4.0, 9.0, 2.0), (3, 4.2, 8.5, 3.0), (4, 7.0, 7.0, 2.0)]
    with contextlib.closing(Log(run.log)) as log:
        for step, loss, other, score in validations:
            log.write_step(Step(step, DataPosition(0, step), 1.0, 0.5, 9, 0.1, 1.0, seconds=1.0))
            bleu = Score("BLEU", score, score, score, "s")
            log.write_validation(Validation(step, loss, 0.3, bleu, 1.0, other, 0.9))
    (run.folder / "weights").mkdir()
    weights.write({"a": torch.zeros(2, 3)}, run.folder / "weights" / "000002.safetensors")
    run.write_best(BestWeights(**{"weights": "weights/000002.safetensors", "metric": "loss", "cost": 1.0} | best))
    return run


@pytest.mark.parametrize(
    ("best", "shuffled"),
    [({"step": 2}, 9.0), ({"step": 3, "metric": "bleu"}, 8.5), ({"step": 4, "weights": "average.safetensors"}, 9.0),
     ({"step": 4, "weights": "average.safetensors", "metric": "bleu"}, 8.5)],
)  # fmt: skip
def test_a_run_is_judged_by_the_look_that_its_best_weights_had(best: dict, shuffled: float, tmp_path: Path):
    run = rising(tmp_path, best)
    weights.write({"a": torch.zeros(2, 3)}, run.average_weights)
    summary = summarize_run(run, None, unigram=5.8)
    assert (
        summary.collapse_reason == "" and summary.shuffled_input_loss == shuffled
    )  # its last validation alone would count as a collapse
    last = read_validations(run.log)[-1]
    assert "of a unigram model" in diagnose_collapse(TRANSLATE, last, 5.8, None)


@pytest.mark.parametrize(
    ("steps", "losses", "diagnosis"),
    [
        (3, [7.0, 6.5], "not trained long enough"),
        (2100, [7.0, 6.5], "collapsed"),
        (9, [6.5, *[7.0] * 8], "collapsed"),  # stopped by patience
        (9, [6.5, *[7.0] * 7], "not trained long enough"),
        (3, [7.0, 4.0], ""),
    ],
)
def test_collapsed_is_said_of_a_model_that_had_the_steps_to_learn(tmp_path, steps: int, losses: list, diagnosis: str):
    run = Run(tmp_path)
    write_text(run.config, dump(Config(train={"steps": 5000, "warmup": 100})))
    with contextlib.closing(Log(run.log)) as log:
        for step in range(1, steps + 1):
            log.write_step(Step(step, DataPosition(0, step), 1.0, 0.5, 9, 0.1, 1.0, seconds=1.0))
        for step, loss in enumerate(losses, start=1):
            log.write_validation(Validation(step, loss, 0.3, None, 1.0, 9.0, 0.9))
    (run.folder / "weights").mkdir()
    weights.write({"a": torch.zeros(2, 3)}, run.weights(2))
    summary = summarize_run(run, None, unigram=5.8)
    assert summary.diagnosis == diagnosis and bool(summary.collapse_reason) == bool(diagnosis)
    trial = TrialResult(7, "set 7", "complete", {}, 3.0, (3.0,), (summary,))
    assert trial.verdict == (diagnosis or "complete") and trial.is_ranked == (not diagnosis)
    text = describe_study(StudyAnalysis(study_of(sets=FOUR), [trial]))[1]
    words = {"": "", "collapsed": "Set 7 collapsed: ", "not trained long enough": "Set 7 was not trained long enough: "}
    assert (words[diagnosis] in text) and ("collapsed" in text) == (diagnosis == "collapsed")


def test_a_turn_needs_dev_to_rise_and_training_to_fall():
    at = [1.0, 2.0, 3.0, 4.0]
    assert find_turning_point(LossCurve(at, [4, 3, 2, 1], [4, 3, 3.2, 3.5])) == (2.0, pytest.approx(0.5))
    assert find_turning_point(LossCurve(at, [4, 3, 2, 1], [4, 3, 2.5, 2.4])) is None
    assert (
        find_turning_point(LossCurve(at, [4, 3, 3.5, 4], [4, 3, 3.2, 3.5])) is None
    )  # both rise: that is no overfitting
    assert find_turning_point(LossCurve(at, [4, 3, 2, 1], [4, 3, 3.001, 3.002])) is None


def result(number: int, value: float, collapsed: str = "", seeds: tuple[float, ...] = (), **point) -> TrialResult:
    one = RunSummary(
        1000 * number, 10, 1.0, 2.0, 3.0, 4.0, scores={"bleu": {"value": value}}, collapse_reason=collapsed
    )
    values = tuple(value + seed for seed in seeds) or (value,)
    return TrialResult(number, f"set {number}", "complete", point, value, values, (one,))


def analysis_of(*results: TrialResult, **more) -> StudyAnalysis:
    sets = {r.name: {"model.layers": 1} for r in results}
    return StudyAnalysis(study_of(sets=sets, metric="bleu", seeds=max(len(r.values) for r in results)), results, **more)


def test_significant_differences_and_noise_are_told_apart():
    tests = {1: Significance("BLEU", 20.0, 0.001, "s", -5.0), 2: Significance("BLEU", 24.8, 0.4, "s", -0.2)}
    first, *others = describe_study(analysis_of(result(1, 20.0), result(2, 24.8), result(3, 25.0), tests=tests))
    assert first.startswith("Best on dev: set 3 with dev BLEU 25.00, no significant difference from the next, set 2;")
    text = " ".join(others)
    of_two = describe_study(analysis_of(result(1, 20.0), result(2, 25.0), tests={1: tests[1]}))[0]
    assert "the last of the ranking is set 1 with dev BLEU 20.00, 5.00 worse, which is significant." in of_two
    assert "significantly different from set 3 (paired bootstrap): set 1 (-5.0, p = 0.001)" in text
    assert (
        "Not significant on these sentences: the difference in BLEU between set 3 and set 2 (-0.2, p = 0.400)" in text
    )
    assert (
        "For quality, choose set 3" in text
        and "For size, choose set 2" in text
        and "no significant difference in BLEU" in text
    )


def test_settings_that_change_together_are_not_told_apart():
    rows = [
        result(n, v, **{"model.layers": a, "model.dim": b})
        for n, (v, a, b) in enumerate([(20.0, 2, 64), (25.0, 4, 96)])
    ]
    depth, width = describe_effects(analysis_of(*rows))
    assert "Depth (model.layers)" in depth and "changed together with dim" in depth and "is better" not in depth
    assert "changed together with layers" in width


def test_a_setting_that_changed_in_part_is_named_and_no_trend_is_told():
    tried = [(2, 128), (4, 128), (4, 256), (6, 128), (6, 256)]  # the shallow ones were never wide
    rows = [result(n, 20.0 + a, **{"model.layers": a, "model.dim": b}) for n, (a, b) in enumerate(tried)]
    depth = describe_effects(analysis_of(*rows))[0]
    assert "changed together with dim: their effects cannot be separated" in depth and "throughout" not in depth
    crossed = [result(n, 20.0 + a, **{"model.layers": a, "model.dim": b}) for n, (a, b) in enumerate(tried[1:])]
    depth = describe_effects(analysis_of(*crossed))[0]
    assert "changed together" not in depth and "is better" not in depth  # too few trials to say so
    repeated = [replace(one, values=tuple((one.value or 0) + d for d in (-0.1, 0.0, 0.1))) for one in crossed]
    assert "the higher value is better" in describe_effects(analysis_of(*repeated))[0]


def test_numbers_that_never_repeat_are_named_where_they_lie_apart():
    def depth(shift: float) -> str:
        layers = [2, 4] * 6
        drawn = [0.1 + 0.01 * n + shift * (a == 4) for n, a in enumerate(layers)]
        points = [{"model.layers": a, "model.dropout": d} for a, d in zip(layers, drawn, strict=True)]
        return describe_effects(
            analysis_of(*(result(n, 20.0 + n % 2 + n / 50, **point) for n, point in enumerate(points)))
        )[0]

    assert "changed together with dropout" in depth(0.2) and "changed together" not in depth(0.0)


def test_values_that_do_equally_well_have_no_trend():
    rows = [result(n, 20.0 + 0.001 * (n % 2), **{"model.layers": 2 + 2 * (n % 2)}) for n in range(8)]
    assert describe_effects(analysis_of(*rows))[0].endswith("No difference between the best and the worst.")


def test_an_effect_is_held_against_luck():
    def trials(gap: float) -> StudyAnalysis:
        noise = (-0.5, 0.5, -0.2, 0.2)
        return analysis_of(
            *(result(n, 20 + gap * (n % 2) + noise[n // 2], **{"model.dropout": 0.1 * (1 + n % 2)}) for n in range(8))
        )

    assert (
        ": significant" in describe_effects(trials(5.0))[0] and ": not significant" in describe_effects(trials(0.1))[0]
    )
    close = [result(n, v, **{"model.layers": a}) for n, (v, a) in enumerate([(20.0, 2), (20.01, 2), (21.0, 4)])]
    assert (
        "too few trials for a permutation test" in describe_effects(analysis_of(*close))[0]
    )  # two that are close say little


def test_seeds_are_replicates_among_trials_that_are_alike_in_all_else():
    """Width matters much and depth a little: trials alone cannot tell, seeds of equally wide ones can."""
    seeds = (-0.2, -0.1, 0.1, 0.2)
    points = [(a, b) for a in (2, 4) for b in (64, 128)]

    def depth(spread: tuple[float, ...]) -> str:
        named = [{"model.layers": a, "model.dim": b} for a, b in points]
        return describe_effects(
            analysis_of(*(result(n, sum(p.values()), seeds=spread, **p) for n, p in enumerate(named)))
        )[0]

    assert ": significant" in depth(seeds) and "too few trials" in depth(())
    alone = [result(a, 20.0 + a, seeds=seeds, **{"model.layers": a}) for a in (2, 4)]
    assert ": significant" in describe_effects(analysis_of(*alone))[0]


def test_with_several_seeds_the_seeds_decide():
    """The first seed of the second best is the best of all, and says nothing of the mean."""
    best, near, far = (
        replace(result(n, sum(v) / 3), values=v)
        for n, v in ((1, (25.0, 25.2, 25.4)), (2, (26.5, 24.0, 24.5)), (3, (20.0, 20.1, 20.2)))
    )
    study = analysis_of(best, near, far).study
    tests = compare_seeds(study, [best, near, far])
    assert not tests[2].significant and tests[3].significant and tests[3].difference == pytest.approx(-5.1)
    lines = describe_study(analysis_of(best, near, far, tests=tests))
    text = " ".join(lines)
    assert "25.20 ± 0.20 over 3 seeds, no significant difference from the next, set 2; the last" in lines[0]
    assert (
        "By dev BLEU, significantly different from set 1 (Tukey's and Welch's tests over seeds): set 3 (-5.10, p = 0.0"
        in text
    )
    assert "Not significant over these seeds: the difference in BLEU between set 1 and set 2 (-0.20" in text
    assert "bootstrap" not in text and "no significant difference" not in lines[-1]  # the best is also the smallest


def test_the_sentences_of_one_seed_test_nothing_where_there_are_several(tmp_path: Path):
    sets = {n: FOUR[n] for n in ("set 3", "set 4")}
    study_worker = make(study_of(sets=sets, metric="bleu", seeds=2), tmp_path / "s")
    analysis, _ = analyze_study(study_worker.study, study_worker.results())
    study_worker.close()
    assert {test.signature for test in analysis.tests.values()} == {"Tukey's and Welch's tests"}


def test_importances_leave_a_rest_and_are_a_hint_where_nothing_stands_out():
    rng = random.Random(3)
    space = {"model.layers": [2, 4], "model.dim": [64, 128]}
    study = study_of(sampler="random", space=space, trials=4, metric="bleu")
    points = [{"model.layers": a, "model.dim": b} for a in (2, 4) for b in (64, 128)] * 4

    def describe(score) -> str:
        rows = [result(n, score(point), **point) for n, point in enumerate(points)]
        return describe_importances(
            StudyAnalysis(study, rows, importances=compute_importances(study, rank_trials(study, rows)))
        )

    noisy = describe(lambda point: rng.gauss(20, 1))
    assert "is explained by no setting alone" in noisy and noisy.endswith("this is only an indication.")
    clear = describe(lambda point: 20.0 + point["model.layers"] + rng.gauss(0, 0.1))
    assert "layers 100%" in clear and "indication" not in clear
    together = describe(
        lambda point: 20.0 + ((point["model.layers"] == 4) == (point["model.dim"] == 64)) + rng.gauss(0, 0.1)
    )
    assert float(together.split("; ")[1].split("%")[0]) > 50  # neither does anything by itself


def test_nothing_is_recommended_where_nothing_works():
    text = " ".join(
        describe_study(analysis_of(result(1, 20.0, "it ignores its source"), result(2, 21.0, "it ignores its source")))
    )
    assert "no trial has produced a working model" in text and "No recommendation" in text and "Best on dev" not in text


def test_runs_without_a_turn_are_said_to_have_none():
    curve = LossCurve([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [3.0, 2.5, 2.4])
    assert describe_overfitting(analysis_of(result(1, 20.0), loss_curves={1: curve})) == "No overfitting in set 1."
    many = analysis_of(*(result(n, 20.0) for n in range(11)), loss_curves=dict.fromkeys(range(11), curve))
    assert describe_overfitting(many) == "No overfitting in any of the 11 trials."


def test_nothing_is_said_of_the_end_of_what_has_not_ended():
    curve = LossCurve([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [3.0, 2.5, 2.4])
    running = TrialResult(1, "set 1", "running", {})
    analysis = StudyAnalysis(
        study_of(sets={"set 1": {"model.layers": 1}}, metric="bleu"), [running], loss_curves={1: curve}
    )
    assert describe_study(analysis) == [
        "There is no ranking: no trial has finished. 1 trial: 0 complete, 1 still running.",
        "No recommendation: no trial has finished.",
    ]


def test_the_page_opens_in_chromium_from_a_file_without_network_or_message(four: Path, opened):
    page = opened(four / "report.html", viewport={"width": 1000, "height": 900})
    assert page.title() == "Study: made"
    charts = page.locator("figure:visible svg:visible")
    assert charts.count() >= 8
    assert page.locator(".headline").inner_text().startswith("✓ Choose set 4 (layers=6 heads=12")
    page.get_by_role("radio", name="time").check()
    assert page.locator(".variant:visible svg").count() == 3
    for n in range(charts.count()):
        box = charts.nth(n).bounding_box()
        assert box is not None and box["width"] > 200 and box["height"] > 100
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000  # nothing sticks out sideways
