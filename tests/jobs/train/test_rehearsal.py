"""The end of training is timed on a sample, so that it fits into the minutes."""

from collections.abc import Sequence

import pytest

from regard.formats import Pair
from regard.jobs.train import rehearsal
from regard.jobs.train.rehearsal import FIRST_SAMPLE, MARKS, MAX_SAMPLE, MAX_SHARE, REPORT_SECONDS, ScoringRehearsal

PAIRS = [Pair(f"source {i}", f"target {i}") for i in range(311)]
SECONDS_PER_SENTENCE = 0.7


class Machine:
    """Scores a sentence in a fixed time, and any number of them in one more; this process has a share of the time."""

    def __init__(self, cpu_share: float) -> None:
        self.now, self.cpu_share, self.samples = 1000.0, cpu_share, list[list[Pair]]()
        self.sentence_seconds, self.fixed_seconds = SECONDS_PER_SENTENCE, 0.0

    def seconds(self, num_sentences: int) -> float:
        return self.fixed_seconds + self.sentence_seconds * num_sentences

    def perf_counter(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.now * self.cpu_share

    def score(self, pairs: Sequence[Pair]) -> None:
        self.samples.append(list(pairs))
        self.now += self.seconds(len(pairs))


@pytest.fixture(params=[1.0, 0.25])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(request.param)
    monkeypatch.setattr(rehearsal, "time", machine)
    return machine


def test_the_time_of_a_sample_is_extrapolated_to_all_sentences(machine: Machine):
    scoring = ScoringRehearsal(machine.score, PAIRS, minutes=1e9)
    assert not scoring.rehearse_if_due(MARKS[0] - 1e-6)
    assert scoring.final_seconds is None
    assert scoring.rehearse_if_due(MARKS[0])
    (sample,) = machine.samples
    assert FIRST_SAMPLE // 2 < len(sample) <= FIRST_SAMPLE
    assert sample[-1] in PAIRS[-len(PAIRS) // FIRST_SAMPLE - 1 :], "from all parts of the set"
    assert scoring.final_seconds == pytest.approx(
        SECONDS_PER_SENTENCE * len(PAIRS) + REPORT_SECONDS / machine.cpu_share
    )


def test_each_mark_is_rehearsed_once(machine: Machine):
    scoring = ScoringRehearsal(machine.score, PAIRS, minutes=1e9)
    done = [progress for progress in (i / 1000 for i in range(1001)) if scoring.rehearse_if_due(progress)]
    assert done == list(MARKS)


def test_rehearsals_take_a_small_share_of_the_time(machine: Machine):
    scoring = ScoringRehearsal(machine.score, PAIRS, minutes=1.0)
    done = [progress for progress in MARKS if scoring.rehearse_if_due(progress)]
    assert done == [MARKS[0]]


@pytest.mark.parametrize("share_of_first_sample", [0.02, 0.15, 0.4])
def test_what_a_small_sample_wastes_is_not_extrapolated(machine: Machine, share_of_first_sample: float):
    """A small batch takes longer per sentence: the last reserve is true all the same, at a small price."""
    pairs, minutes = PAIRS * 3, 2.0
    machine.sentence_seconds = 0.008
    machine.fixed_seconds = share_of_first_sample * machine.seconds(FIRST_SAMPLE)
    scoring = ScoringRehearsal(machine.score, pairs, minutes)
    start = machine.now
    errors = []
    for mark in MARKS:
        assert scoring.rehearse_if_due(mark)
        assert scoring.final_seconds is not None
        seconds = scoring.final_seconds - REPORT_SECONDS / machine.cpu_share
        errors.append(seconds / machine.seconds(len(pairs)) - 1)
    assert machine.now - start <= MAX_SHARE * 60 * minutes
    assert errors[0] > 0.8 * share_of_first_sample and 0 < errors[-1] < errors[0] / 3


def test_a_sample_has_a_largest_and_a_smallest_size(machine: Machine):
    pairs = PAIRS * 7
    for sentence_seconds, sizes in ((1e-6, (FIRST_SAMPLE, MAX_SAMPLE)), (0.1, (FIRST_SAMPLE, FIRST_SAMPLE))):
        machine.sentence_seconds, machine.samples = sentence_seconds, []
        scoring = ScoringRehearsal(machine.score, pairs, minutes=3.5)
        done = [scoring.rehearse_if_due(mark) for mark in MARKS]
        assert done[:2] == [True, True]
        for sample, size in zip(machine.samples, sizes, strict=False):
            assert size // 2 < len(sample) <= size


def test_where_steps_are_counted_nothing_is_rehearsed(machine: Machine):
    scoring = ScoringRehearsal(machine.score, PAIRS, minutes=None)
    assert not scoring.rehearse_if_due(1.0)
    assert machine.samples == []


def test_a_slow_sample_is_checked_once_by_a_larger_one(machine: Machine):
    scoring = ScoringRehearsal(machine.score, PAIRS, minutes=1e9)
    assert not scoring.repeat() and not machine.samples, "nothing was rehearsed yet"
    machine.sentence_seconds = 5 * SECONDS_PER_SENTENCE  # the machine was busy
    scoring.rehearse_if_due(MARKS[0])
    slow = scoring.final_seconds
    machine.sentence_seconds = SECONDS_PER_SENTENCE
    assert scoring.repeat() and len(machine.samples[1]) > 2 * len(machine.samples[0])
    assert scoring.final_seconds < slow / 2
    assert not scoring.repeat() and len(machine.samples) == 2


def test_of_two_times_the_shorter_counts(machine: Machine):
    scoring = ScoringRehearsal(machine.score, PAIRS, minutes=1e9)
    scoring.rehearse_if_due(MARKS[0])
    first = scoring.final_seconds
    machine.sentence_seconds = 5 * SECONDS_PER_SENTENCE
    assert scoring.repeat() and scoring.final_seconds == first
