"""Statements that the text of a study or of a comparison must not make."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from regard.display.views.comparison import format_comparison
from regard.evaluation import evaluate
from regard.formats import Pair
from regard.metrics import paired_tests
from regard.run import Run
from regard.tuning.analysis.curves import LossCurve
from regard.tuning.analysis.evidence import StudyAnalysis
from regard.tuning.analysis.findings import (
    _describe_trend,
    describe_study,
    summarize_trials,
)
from regard.tuning.analysis.recommend import recommend_trials
from regard.tuning.compare import System, compare_systems
from regard.tuning.measure import SCORED_METRICS, RunSummary
from regard.tuning.pages.comparison import write_comparison
from regard.tuning.pages.study import write_study_page
from regard.tuning.results import TrialResult
from tests.tuning.synthetic import FOUR, REFERENCES, make, make_summary, study_of, write_log

SETS = {f"set {n}": {"model.layers": n} for n in (1, 2, 3)}


def result(number: int, state: str, value: float | None = None, collapsed: str = "", **more) -> TrialResult:
    one = RunSummary(1000 * number, 10, 1.0, 2.0, 3.0, value, collapse_reason=collapsed)
    summaries = (one,) if value is not None else ()
    values = (value,) if value is not None else ()
    return TrialResult(number, f"set {number}", state, {"model.layers": number}, value, values, summaries, **more)


def analysis_of(*results: TrialResult, **more) -> StudyAnalysis:
    return StudyAnalysis(study_of(sets=SETS, metric="loss"), results, **more)


def test_what_was_interrupted_has_neither_ended_nor_never_begun():
    curve = LossCurve([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [3.0, 2.5, 2.4])
    text = " ".join(describe_study(analysis_of(result(1, "interrupted"), result(2, "waiting"), loss_curves={1: curve})))
    assert "1 interrupted, 1 not started" in text and "no trial has finished" in text and "overfitting" not in text


@pytest.mark.parametrize("ended", [result(1, "failed", reason="too large"), result(1, "complete", 5.0, "it is deaf")])
def test_nothing_is_said_of_those_that_may_still_work(ended: TrialResult):
    half, whole = analysis_of(ended, result(2, "running"), result(3, "waiting")), analysis_of(ended)
    assert "no finished trial has produced a working model" in summarize_trials(half)
    assert recommend_trials(half) == "No recommendation: no finished trial has produced a working model."
    assert "no trial has produced a working model" in summarize_trials(whole)


def test_equal_scores_are_neither_best_nor_worst():
    text = summarize_trials(analysis_of(result(1, "complete", 3.0), result(2, "complete", 3.0)))
    assert "all other ranked trials have the same score" in text and "last of the ranking" not in text
    assert "worse" not in recommend_trials(analysis_of(result(2, "complete", 3.0), result(1, "complete", 3.0))).replace(
        "no worse", ""
    )


def test_a_trend_with_a_tie_is_not_steady():
    assert (
        _describe_trend([2.0, 2.0, 1.0], maximize=True)
        == _describe_trend([1.0, 2.0, 2.0], maximize=True)
        == "no monotonic trend"
    )
    assert _describe_trend([3.0, 2.0, 1.0], maximize=False) == "higher is better throughout"
    assert _describe_trend([3.0, 2.0, 1.0], maximize=True) == "lower is better throughout"


@pytest.mark.parametrize(("differing", "real"), [(0, False), (1, False), (5, False), (6, True)])
def test_a_handful_of_sentences_is_no_evidence(differing: int, real: bool):
    worse = ["x y z" if n < differing else reference for n, reference in enumerate(REFERENCES)]
    for kind in ("bs", "ar"):
        test = paired_tests({"a": REFERENCES, "b": worse}, REFERENCES, kind, ("bleu",))["b"]["bleu"]
        assert test.num_differing == differing and test.significant is real
        assert differing > 0 or (test.p == 1 and test.sacrebleu_p <= 0.001)


def compared(written: list[str], folder: Path, **more) -> tuple[str, str]:
    """A system that is right against another one: the lines and the page."""
    pairs = [Pair(reference.upper(), reference) for reference in REFERENCES]
    right = System("right", evaluate(lambda _: REFERENCES, pairs, metrics=SCORED_METRICS))
    other = System("other", evaluate(lambda _: written, pairs, metrics=SCORED_METRICS), **more)
    comparison = compare_systems("test", pairs, [right, other])
    text = " ".join(" ".join(format_comparison(comparison, 120)).split())
    return text, write_comparison(comparison, folder).read_text(encoding="utf-8")


def test_a_comparison_says_where_too_little_differs(tmp_path: Path):
    text, page = compared(["x y z", *REFERENCES[1:]], tmp_path)
    assert "only 1 of the translations differ, too few for a test" in text and "significant" not in text
    assert "(sentences that differ: 1)" in page and " *<" not in page
    text, page = compared(REFERENCES, tmp_path)
    assert "the same translations" in text and "p = " not in text and "p = " not in page.split("Significance")[-1][:900]


def test_a_run_whose_cost_is_known_stands_beside_one_whose_is_not(tmp_path: Path):
    pairs = [Pair(reference.upper(), reference) for reference in REFERENCES]
    runs = [Run(tmp_path / name) for name in ("trained", "imported")]
    write_log(runs[0], 3.0, random.Random(1), turns=False)
    summaries = [make_summary(FOUR["set 1"], 3.0, collapsed=False), None]
    systems = []
    for run, known in zip(runs, summaries, strict=True):
        system = System(run.folder.name, evaluate(lambda _: REFERENCES, pairs, metrics=SCORED_METRICS), run, known)
        vars(system)["parameters"] = 1000  # counted from weights, which these runs do not have
        systems.append(system)
    page = write_comparison(compare_systems("test", pairs, systems), tmp_path / "out").read_text(encoding="utf-8")
    assert "imported" in page and "Size against quality" in page and "Training time against quality" not in page


def test_a_study_that_has_hardly_begun_has_a_page(tmp_path: Path):
    study_worker = make(study_of(sets=FOUR, metric="bleu"), tmp_path / "s")
    for number in (1, 2, 3, 4):
        Run(study_worker.study_folder.trial_folder(number)).log.write_text("")
    assert "No training log." in write_study_page(study_worker).read_text(encoding="utf-8")
    study_worker.close()


def test_a_test_set_that_is_elsewhere_is_not_denied(tmp_path: Path):
    data = {"data": {"train": ["a.en", "a.fr"], "dev": ["b.en", "b.fr"], "test": ["c.en", "c.fr"]}}
    study_worker = make(study_of(sets=FOUR, metric="bleu", base=data), tmp_path / "s")
    page = write_study_page(study_worker).read_text(encoding="utf-8")
    assert "Its test scores are not on this machine." in page and "There is no test set" not in page
    study_worker.close()


def test_several_seeds_are_told_from_the_first(tmp_path: Path):
    sets = {name: FOUR[name] for name in ("set 3", "set 4")}
    one = make(study_of(sets=sets, metric="bleu"), tmp_path / "one")
    two = make(study_of(sets=sets, metric="bleu", seeds=2), tmp_path / "two")
    pages = [write_study_page(study_worker).read_text(encoding="utf-8") for study_worker in (one, two)]
    assert ["those of the first seed" in page for page in pages] == [False, True]
    one.close()
    two.close()


def test_a_trial_that_was_stopped_is_told_by_what_it_was_judged_by(tmp_path: Path):
    study_worker = make(study_of(sets=FOUR, metric="chrf"), tmp_path / "s")
    known = study_worker.results()
    weak = replace(known[1], state="pruned", intermediate_values={10: 12.3})
    vars(study_worker)["results"] = lambda: (known[0], weak, *known[2:])
    page = write_study_page(study_worker).read_text(encoding="utf-8")
    assert "BLEU 12.300 after 50% of its budget" in page
    study_worker.close()
