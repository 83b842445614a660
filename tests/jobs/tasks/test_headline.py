"""The first sentence of a report: what works is said to, what does not is said to with the reason."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.baselines import OpponentResult, compare_sums
from regard.jobs.report import redraw_report
from regard.jobs.tasks.registry import get_task, task_of
from regard.jobs.tasks.reporting.diagnosis import replay_alarms
from regard.jobs.tasks.reporting.headline import LearningOutcome, Rival, ScoredSet, find_rival, write_headline
from regard.jobs.tasks.reporting.run_sections import RunRecord
from regard.metrics import Score
from regard.run import Run
from regard.training.alarms import AlarmWords
from regard.training.validate import Validation

BLEU = Score("BLEU", 31.2, 29.8, 32.6, "s")
BITS = Score("bits per byte", 1.5, 1.4, 1.6, "s")
COPY = Rival("copying the source", Score("BLEU", 1.0, 0.5, 1.5, "s"))
WORKS, UNTRAINED, COLLAPSED = (
    LearningOutcome("", 5000, True),
    LearningOutcome("its loss is high", 1, False),
    LearningOutcome("it ignores its source", 5000, True),
)
TRANSLATE = get_task("translate").report_words


def headline(outcome: LearningOutcome, rival: Rival | None = COPY, score: Score = BLEU, name: str = "test"):
    return write_headline(TRANSLATE, score, ScoredSet(name, 1000), rival, outcome)


def test_a_good_an_untrained_and_a_collapsed_run():
    good = headline(WORKS)
    assert good.text == "Translates: BLEU 31.2 ± 1.4 on 1,000 held-out sentences, 30.2 above copying the source."
    assert good.verdict == "good"
    bad = headline(COLLAPSED)
    assert bad.text.startswith(
        "Has not learned to translate: BLEU 31.2 ± 1.4 on 1,000 held-out sentences, because it ig"
    )
    early = headline(UNTRAINED)
    assert (
        "Has not learned to translate yet" in early.text and "trained for 1 step only: its loss is high." in early.text
    )
    assert bad.verdict == early.verdict == "bad"


def test_dev_scores_are_not_called_held_out():
    assert "1,000 dev sentences (which selected the weights)" in headline(WORKS, name="dev").text


def test_a_lower_score_that_is_better_is_said_to_be_so():
    rival = Rival("the best cheap opponent, x", Score("bits per byte", 2.0, None, None, "s"))
    good = headline(WORKS, rival, BITS)
    assert good.verdict == "good" and "(lower is better)" in good.text and "0.500 below the best" in good.text
    worse = headline(WORKS, Rival("x", Score("bits per byte", 1.0, None, None, "s")), BITS)
    assert worse.verdict == "open" and worse.text.startswith("Translates, but worse than x:")


def test_the_best_opponent_is_the_rival_and_noise_is_no_difference():
    scores = {"x": BITS}
    tests = compare_sums([1.0] * 30, [2.0, 1.0] * 15, {"a": [1.0, 2.0] * 15})
    near = OpponentResult("a", {"x": Score("bits per byte", 1.6, None, None, "s")}, {"x": tests["a"]})
    far = OpponentResult("b", {"x": Score("bits per byte", 2.6, None, None, "s")})
    rival = find_rival(scores, [far, near, OpponentResult("c", {}, reason="none")], "x")
    assert rival is not None and rival.name == "the best cheap opponent, a" and not rival.differs
    text = headline(WORKS, rival, BITS).text
    assert "not significantly better or worse than a cheap opponent: bits per byte 1.500" in text
    assert text.endswith("; the best cheap opponent, a, has 1.600.")
    assert find_rival(scores, [], "x") is None and headline(WORKS, None).text.endswith("held-out sentences.")


@pytest.mark.parametrize("task", ["translate", "classify", "tag", "causal-lm", "masked-lm", "embed", "denoise",
                                  "summarize", "extract"])  # fmt: skip
def test_every_task_has_words_of_its_own(task: str):
    words = get_task(task).report_words
    assert words.works[0].isupper() and words.ability[0].islower() and words.examples.endswith("s")
    others = [get_task(name).report_words for name in ("translate", "classify", "extract") if name != task]
    assert words not in others


def test_alarms_are_found_again_in_the_log():
    def check(step: int, loss: float) -> Validation:
        return Validation(step, loss, 0.1, None, 1.0, 9.0, 0.9)

    raised = replay_alarms([check(10, 9.0), check(30, 9.0), check(40, 9.0)], 5.0, 10, AlarmWords())
    assert [step for step, _ in raised] == [30] and "no better than the 5.00 of a unigram model" in raised[0][1]
    assert replay_alarms([check(30, 4.0)], 5.0, 10, AlarmWords()) == []


def text_of(run: Run) -> str:
    page = run.report.read_text(encoding="utf-8")
    return page.partition('<p class="headline')[2].partition("</p>")[0]


@pytest.fixture
def copied(finished: Callable[[str], Run], tmp_path: Path) -> Callable[[str], Run]:
    def copy(task: str) -> Run:
        return Run(shutil.copytree(finished(task).folder, tmp_path / task))

    return copy


def test_reports_of_real_runs_begin_with_the_right_sentence(finished: Callable[[str], Run]):
    assert "Has not learned to translate yet: BLEU 0" in text_of(finished("translate"))
    assert "because it was trained for 10 steps only: " in text_of(finished("translate"))
    tagger = text_of(finished("tag"))
    assert tagger.startswith((' good"', ' open"')), tagger
    assert "Tags words" in tagger and "11 held-out sentences" in tagger


def test_a_finished_report_is_drawn_again_with_new_scores_and_a_collapse_is_called_so(copied: Callable[[str], Run]):
    run = copied("translate")
    lines = [json.loads(line) for line in run.log.read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if line["kind"] == "step"]
    long = [steps[n % len(steps)] | {"number": n + 1} for n in range(2100)]
    last = [line for line in lines if line["kind"] == "validation"][-1]
    collapsed = last | {"step": run.read_best().step, "loss": 3.0, "shuffled_input_loss": 3.01}
    run.log.write_text("".join(json.dumps(line) + "\n" for line in [*long, collapsed]), encoding="utf-8")
    shutil.copy(run.scores("test"), run.scores("newstest"))
    run.report.write_text("old", encoding="utf-8")
    assert redraw_report(run) == run.report
    page = run.report.read_text(encoding="utf-8")
    assert "Has not learned to translate: BLEU" in text_of(run) and "ignores its source" in text_of(run)
    assert ">newstest</td>" in page and "Learning rate" in page and "settings with their defaults" in page
    assert '<h2 id="section-1-title">Alarms</h2>' in page


def test_a_report_is_kept_where_it_cannot_be_drawn_again(copied: Callable[[str], Run]):
    run = copied("translate")
    shutil.rmtree(run.store)
    run.report.write_text("old", encoding="utf-8")
    redraw_report(run)
    assert run.report.read_text(encoding="utf-8") == "old"


def test_stored_scores_are_the_evaluation(finished: Callable[[str], Run]):
    run = finished("translate")
    task, config = task_of(run.load_config()), run.load_config()
    stored = task.restore_evaluation(run, "test")
    again = task.evaluate(run, task.load_predictor(run.folder, "cpu"), task.open_data(run, config).test.pairs(), "test")
    assert stored.scores == again.scores and stored.baselines == again.baselines
    assert [one.translation for one in stored.sentences] == [one.translation for one in again.sentences]
    assert task.restore_evaluation(run, "no such set") is None
    assert RunRecord(run, task, 1.0).judge(stored) == RunRecord(run, task, 1.0).judge(again)
