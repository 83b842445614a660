"""The first sentence of a study: the trial to choose, its settings, and which others are as good."""

from regard.metrics import PairedTestResult
from regard.tuning.analysis.decision import compare_with_best, decide
from regard.tuning.analysis.evidence import StudyAnalysis
from regard.tuning.results import TrialResult
from tests.tuning.pages.test_study import analysis_of, result
from tests.tuning.synthetic import study_of

WORSE, EQUAL = (PairedTestResult("BLEU", 20.0, p, "s", -d) for p, d in ((0.001, 5.0), (0.4, 0.2)))


def test_the_best_trial_is_named_with_its_settings_and_those_that_are_as_good():
    rows = [result(1, 20.0), result(2, 24.8), result(3, 25.0, **{"model.layers": 4})]
    headline = decide(analysis_of(*rows, tests={1: WORSE, 2: EQUAL}))
    assert headline.text == "Choose set 3 (layers=4): dev BLEU 25.00, not significantly better than set 2."
    assert headline.verdict == "good"


def test_a_clear_winner_is_said_to_be_one():
    rows = [result(1, 20.0), result(2, 25.0), result(3, 19.0)]
    assert decide(analysis_of(*rows[:2], tests={1: WORSE})).text.endswith("significantly better than set 1.")
    tests = {1: WORSE, 3: WORSE}
    assert decide(analysis_of(*rows, tests=tests)).text.endswith("significantly better than all 2 others.")
    assert decide(analysis_of(*rows)).text.endswith("the best of 3; no difference was tested.")


def test_nothing_is_chosen_where_nothing_works_and_a_running_study_is_open():
    broken = decide(analysis_of(result(1, 20.0, "it ignores its source")))
    assert broken.verdict == "bad" and broken.text == "Nothing to choose: no trial has produced a working model."
    running = TrialResult(2, "set 2", "running", {})
    study = study_of(sets={"set 1": {"model.layers": 1}, "set 2": {"model.layers": 2}}, metric="bleu")
    some = decide(StudyAnalysis(study, [result(1, 20.0), running]))
    assert some.verdict == "open" and "the only trial that works. 1 of 2 trials have not ended." in some.text


def test_better_and_worse_are_said_in_words():
    rows = [result(1, 20.0), result(2, 24.8), result(3, 25.0), result(4, 25.0)]
    analysis = analysis_of(*rows, tests={1: WORSE, 2: EQUAL})
    words = {one.label: compare_with_best(analysis, one) for one in analysis.ranking}
    assert words == {
        "set 3": "best", "set 4": "equal", "set 2": "0.20 worse, not significant", "set 1": "5.00 worse, significant",
    }  # fmt: skip
