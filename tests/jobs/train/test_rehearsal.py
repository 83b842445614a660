"""The end of training is timed on a sample, so that it fits into the minutes."""

from collections.abc import Sequence

import pytest

from regard.formats import Pair
from regard.jobs.train import rehearsal
from regard.jobs.train.rehearsal import MARKS, NUM_SENTENCES, REPORT_SECONDS, ScoringRehearsal

PAIRS = [Pair(f"source {i}", f"target {i}") for i in range(311)]
SECONDS_PER_SENTENCE = 0.7


class Machine:
    """Scores a sentence in a fixed time, of which this process has a share."""

    def __init__(self, cpu_share: float) -> None:
        self.now, self.cpu_share, self.samples = 1000.0, cpu_share, list[list[Pair]]()

    def perf_counter(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.now * self.cpu_share

    def score(self, pairs: Sequence[Pair]) -> None:
        self.samples.append(list(pairs))
        self.now += SECONDS_PER_SENTENCE * len(pairs)


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
    assert NUM_SENTENCES // 2 < len(sample) <= NUM_SENTENCES
    assert sample[-1] in PAIRS[-len(PAIRS) // NUM_SENTENCES - 1 :], "from all parts of the set"
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


def test_where_steps_are_counted_nothing_is_rehearsed(machine: Machine):
    scoring = ScoringRehearsal(machine.score, PAIRS, minutes=None)
    assert not scoring.rehearse_if_due(1.0)
    assert machine.samples == []
