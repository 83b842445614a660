"""Take the likeliest token, every time. Sampling takes another chooser and is otherwise the same walk."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.decode.limits import Limits, unwind
from regard.decode.stepper import Hypothesis, Stepper

Chooser = Callable[[Tensor, Tensor, int], Tensor]
"""Log-probabilities (N, V), which sentences these rows are (N,), the step -> tokens (N,)."""


@dataclass(frozen=True)
class Greedy:
    """The likeliest token at each step."""

    limits: Limits = field(default_factory=Limits)

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        return walk(stepper, self.limits, lambda scores, rows, step: scores.argmax(dim=-1))


def walk(stepper: Stepper, limits: Limits, choose: Chooser) -> list[list[Hypothesis]]:
    """One path for each sentence; rows leave as they finish."""
    lengths = stepper.lengths
    count = len(lengths)
    caps = limits.caps(stepper)
    done: list[list[Hypothesis]] = [[] for _ in range(count)]
    rows = torch.arange(count, device=lengths.device)  # which sentence each row is
    last = torch.full((count,), stepper.bos, device=lengths.device)
    tokens = torch.empty((count, 0), dtype=torch.long, device=lengths.device)  # (N, t)
    total = torch.zeros(count, device=lengths.device)
    for step in range(int(caps.max())):
        scores = stepper.step(last)  # (N, V)
        last = choose(scores, rows, step)
        total = total + scores.gather(1, last[:, None])[:, 0]
        tokens = torch.cat((tokens, last[:, None]), dim=1)
        ended = last == stepper.eos
        looped = limits.looping(tokens, lengths[rows]) & ~ended
        leave = ended | looped | (step + 1 >= caps[rows])
        for i in leave.nonzero()[:, 0].tolist():
            ids = tokens[i].tolist()
            ids = ids[:-1] if ended[i] else unwind(ids, limits.rounds)
            done[int(rows[i])] = [Hypothesis(tuple(ids), float(total[i]) / (step + 1))]
        if bool(leave.all()):
            break
        if bool(leave.any()):
            stay = (~leave).nonzero()[:, 0]
            stepper.select(stay)
            rows, last, tokens, total = rows[stay], last[stay], tokens[stay], total[stay]
    return done
