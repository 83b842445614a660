"""How long the end of training will take: its final scoring, timed on a few sentences now and then."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from regard.formats import Pair

FIRST_SAMPLE = 31  # sentences, as long as the time of one is not known
MAX_SAMPLE = 251
# Of the time of training. Not early: a model that has learnt little translates to the length limit, which takes longer.
MARKS = (0.4, 0.6, 0.75, 0.85, 0.95)
MAX_SHARE = 0.03  # of all minutes that may be spent on rehearsals
REPORT_SECONDS = 5.0  # for the report, the start of Python and its end, on a quiet machine


@dataclass
class ScoringRehearsal:
    """Scores a sample of the sentences that will be scored at the end, and extrapolates its time to all of them.

    Few sentences fill no batch and take longer each, so a sample is as large as the time for rehearsals allows. A fixed
    cost and one per sentence do not describe it: beyond a full batch the time of a sentence grows again.
    """

    score: Callable[[Sequence[Pair]], object]
    """Translates and scores some pairs as at the end; only the time that it takes is used."""
    pairs: Sequence[Pair]
    """All that will be scored."""
    minutes: float | None
    """Of all training; None: the time does not matter, and nothing is rehearsed."""
    final_seconds: float | None = field(default=None, init=False)
    """Seconds of the final scoring and the report; None as long as nothing was rehearsed."""
    _seconds_spent: float = field(default=0.0, init=False)
    _sentence_seconds: float = field(default=0.0, init=False)  # of one sentence, in the last sample
    _num_done: int = field(default=0, init=False)
    _repeated: bool = field(default=False, init=False)

    def rehearse_if_due(self, progress: float) -> bool:
        """Rehearse if training has come to the next mark; whether it was done."""
        if self.minutes is None or self._seconds_spent > MAX_SHARE * 60 * self.minutes:
            return False
        num_due = sum(progress >= mark for mark in MARKS)
        if num_due <= self._num_done:
            return False
        self._num_done = num_due
        self._rehearse(self._affordable_sentences(self.minutes))
        return True

    def repeat(self) -> bool:
        """Rehearse once more on a larger sample, and keep the shorter time; whether it was done.

        For a time that would end training at once: a single slow sample must not.
        """
        if self._repeated or self.final_seconds is None:
            return False
        self._repeated = True
        earlier = self.final_seconds
        self._rehearse(min(MAX_SAMPLE, 4 * FIRST_SAMPLE))
        self.final_seconds = min(earlier, self.final_seconds)
        return True

    def _affordable_sentences(self, minutes: float) -> int:
        """The size of the next sample: the time for rehearsals that is left is shared by the marks that are left."""
        if not self._sentence_seconds:
            return FIRST_SAMPLE
        num_left = len(MARKS) - self._num_done + 1  # with the one that is due
        seconds = (MAX_SHARE * 60 * minutes - self._seconds_spent) / num_left
        return max(FIRST_SAMPLE, min(MAX_SAMPLE, int(seconds / self._sentence_seconds)))

    def _rehearse(self, num_sentences: int) -> None:
        stride = -(-len(self.pairs) // num_sentences)
        sample = self.pairs[::stride]
        wall_start, cpu_start = time.perf_counter(), time.thread_time()
        self.score(sample)
        seconds, cpu_seconds = time.perf_counter() - wall_start, time.thread_time() - cpu_start
        slowdown = max(1.0, seconds / max(cpu_seconds, 1e-9))  # by other programs
        self._seconds_spent += seconds
        self._sentence_seconds = seconds / len(sample)
        self.final_seconds = self._sentence_seconds * len(self.pairs) + REPORT_SECONDS * slowdown
