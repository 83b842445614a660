"""Beam search in a batch is beam search as a textbook writes it, one sentence at a time and with lists."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.decode import BeamSearch, Limits
from regard.decode.limits import MAX_CYCLE_LENGTH, trim_loop
from tests.decode.test_search import Chain

V = 13
Scored = list[tuple[tuple[int, ...], float]]


LONGEST = 26  # twice a source of 5 tokens, and 16


class TimedChain(Chain):
    """The next token depends on the last one and on the step, so that no two outputs have the same score."""

    def __init__(self, count: int, eos: float, room: int):
        tables = torch.randn(count, LONGEST, V, V, generator=torch.Generator().manual_seed(3)) * 2
        tables[..., EOS] += eos
        tables[..., [PAD, BOS]] = -torch.inf
        super().__init__(tables, length=5, room=room)
        self.lengths = torch.zeros(0, dtype=torch.long)

    def admit(self, rows_per_sentence: int) -> int:
        new = super().admit(rows_per_sentence)
        self.lengths = torch.cat((self.lengths, self.lengths.new_zeros(new * rows_per_sentence)))
        return new

    def step(self, last_tokens: Tensor) -> Tensor:
        self.lengths = self.lengths + 1
        return self.tables[self.rows, self.lengths - 1, last_tokens]

    def select(self, rows: Tensor) -> None:
        super().select(rows)
        self.lengths = self.lengths[rows]


def is_loop(ids: tuple[int, ...], repeats: int) -> bool:
    return any(
        len(ids) >= period * repeats and ids[-period:] * repeats == ids[-period * repeats :]
        for period in range(1, MAX_CYCLE_LENGTH + 1)
    )


def plain_beam(table: Tensor, length: int, search: BeamSearch) -> list[tuple[tuple[int, ...], float, bool]]:
    logp, k, limits = table.double().tolist(), search.size, search.limits
    active: Scored = [((), 0.0)]
    finished: Scored = []
    abandoned: Scored = []
    for t in range(1, int(length * limits.factor) + limits.extra + 1):
        extended = [
            ((*ids, token), total + logp[t - 1][ids[-1] if ids else BOS][token])
            for ids, total in active
            for token in range(V)
            if token not in (PAD, BOS)
        ]
        best = sorted(extended, key=lambda pair: -pair[1])[: 2 * k]
        finished += [(ids[:-1], total / t**search.alpha) for ids, total in best[:k] if ids[-1] == EOS]
        active = [(ids, total) for ids, total in best if ids[-1] != EOS][:k]
        cut = [
            pair
            for pair in active
            if t == int(length * limits.factor) + limits.extra or (t > length and is_loop(pair[0], limits.loop_repeats))
        ]
        abandoned += [(ids, total / t**search.alpha) for ids, total in cut]
        active = [pair for pair in active if pair not in cut]
        finished, abandoned = (sorted(pool, key=lambda pair: -pair[1]) for pool in (finished, abandoned))
        if not active or (len(finished) >= k and finished[k - 1][1] >= active[0][1] / t**search.alpha):
            break
    found = [(ids, score, False) for ids, score in finished]
    found += [(tuple(trim_loop(list(ids), limits.loop_repeats)), score, True) for ids, score in abandoned]
    return list({ids: entry for entry in reversed(found) for ids in entry[:1]}.values())[::-1][: search.nbest]


@pytest.mark.parametrize("eos", [-1.0, 1.0, 3.0], ids=["seldom ends", "ends", "ends soon"])
@pytest.mark.parametrize(
    "settings",
    [
        {"size": 1},
        {"size": 2, "nbest": 2, "alpha": 0.0},
        {"size": 3, "nbest": 2, "alpha": 0.6},
        {"size": 5, "nbest": 5},
        {"size": 11, "nbest": 7, "alpha": 2.0},
    ],
    ids=str,
)
def test_a_batch_is_searched_as_a_textbook_does(settings: dict[str, Any], eos: float):
    for room, limits in ((1000, Limits()), (2, Limits(factor=1.5, extra=3, loop_repeats=3))):
        search = BeamSearch(**settings, limits=limits)
        stepper = TimedChain(11, eos, room)
        for table, found in zip(stepper.tables, search.search(stepper), strict=True):
            expected = plain_beam(table, 5, search)
            assert [(h.ids, h.truncated) for h in found] == [(ids, cut) for ids, _, cut in expected]
            assert [h.score for h in found] == pytest.approx([score for _, score, _ in expected], abs=1e-4)
