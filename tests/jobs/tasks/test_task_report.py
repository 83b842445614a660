"""What the report of any task says of its scores: better or worse, by how much, and by the digits of each score."""

import pytest

from regard.baselines import OpponentResult, compare_sums
from regard.config import Config
from regard.jobs.tasks.reporting.curves import flatten_settings, time_of_training
from regard.jobs.tasks.reporting.task_report import tabulate_opponents, tabulate_task_scores
from regard.jobs.tasks.reporting.verdict import describe_opponents
from regard.metrics import Score
from regard.metrics.score import format_difference, format_p
from regard.report import TableView

BITS = Score("bits per byte", 2.06, 2.0041, 2.1172, "unit:byte")
PERPLEXITY = Score("perplexity per token", 1891.24, None, None, "unit:token|ci:none,n<2")
ACCURACY = Score("accuracy", 62.5, 50.0, 75.0, "unit:text")


@pytest.mark.parametrize(
    ("score", "ours", "word"), [(BITS, 1.0, "better"), (BITS, 3.0, "worse"), (ACCURACY, 1.0, "worse")]
)
def test_the_verdict_says_better_or_worse_whichever_way_the_score_goes(score: Score, ours: float, word: str):
    tests = compare_sums([1.0] * 30, [ours] * 30, {"rival": [2.0] * 30})
    sentence = describe_opponents({"x": score}, [OpponentResult("rival", {"x": score}, {"x": tests["rival"]})], "x")
    assert f"significantly {word} than the {score.value:.{score.digits}f} of the best cheap opponent" in sentence
    assert ("(lower is better)" in sentence) is score.lower_is_better


def test_scores_of_one_table_have_the_digits_of_each_and_are_aligned_as_numbers():
    table = tabulate_task_scores([BITS, PERPLEXITY, ACCURACY])
    assert list(table["score"]) == ["2.060", "1,891.2", "62.5"]
    assert list(table["95% interval"]) == ["2.004 to 2.117", "none: too few examples", "50.0 to 75.0"]
    assert TableView(table).html().count('class="number"') == 1 + 3, "the heading and the cells of the scores"


def test_a_difference_that_was_not_tested_is_said_to_be_so():
    rows = list(tabulate_opponents([OpponentResult("bz2", {"x": BITS})], ["x"]).rows())
    assert rows[0]["model minus opponent"] == "not tested" and rows[0]["p (bootstrap)"] is None


def test_a_short_training_did_not_take_no_time():
    assert time_of_training(1.24) == {"seconds of training": 1.2} and time_of_training(90) == {
        "minutes of training": 1.5
    }


def test_settings_without_a_value_are_not_blank():
    assert "" not in flatten_settings(Config(task="classify")).values()


def test_a_difference_of_nothing_has_no_sign():
    assert [format_difference(value, 1) for value in (-0.01, 0.04, -0.06)] == ["0.0", "0.0", "-0.1"]


def test_no_p_value_is_nothing():
    assert [format_p(p) for p in (0.0001, 0.0006, 0.25)] == ["< 0.001", "0.001", "0.250"]
