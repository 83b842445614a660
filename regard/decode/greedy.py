"""Take the likeliest token, every time. Sampling takes another chooser and is otherwise the same walk."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.decode.limits import Limits, nothing, unwind
from regard.decode.stepper import Hypothesis, Stepper

Chooser = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Log-probabilities (R, V), which sentences these rows are (R,), how many tokens they have -> tokens (R,)."""


@dataclass(frozen=True)
class Greedy:
    """The likeliest token at each step."""

    limits: Limits = field(default_factory=Limits)

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        return walk(stepper, self.limits, lambda scores, rows, taken: scores.argmax(dim=-1))


def walk(stepper: Stepper, limits: Limits, choose: Chooser) -> list[list[Hypothesis]]:
    """One path for each sentence; rows leave as they finish, and others take their places."""
    lengths, caps = stepper.lengths, limits.caps(stepper)
    done: list[list[Hypothesis]] = [[] for _ in lengths]
    paths = _Paths.none(lengths.device)
    while paths.welcome(stepper.admit(1), stepper.bos):
        scores = stepper.step(paths.last)  # (R, V)
        paths.take(scores, choose(scores, paths.sentences, paths.taken))
        ended = paths.last == stepper.eos
        looped = limits.looping(paths.tokens, paths.taken, lengths[paths.sentences]) & ~ended
        leave = ended | looped | (paths.taken >= caps[paths.sentences])
        for i in leave.nonzero()[:, 0].tolist():
            ids, score = paths.of(i)
            done[int(paths.sentences[i])] = [
                Hypothesis(tuple(ids[:-1] if ended[i] else unwind(ids, limits.rounds)), score)
            ]
        if bool(leave.any()):
            stay = (~leave).nonzero()[:, 0]
            stepper.select(stay)
            paths.select(stay)
    return done


@dataclass
class _Paths:
    """R outputs that grow by one column at a time; those that came late have nothing in the columns before."""

    came: int
    sentences: Tensor  # (R,)
    taken: Tensor  # (R,) how many tokens each has
    tokens: Tensor  # (R, t)
    last: Tensor  # (R,)
    total: Tensor  # (R,) log-probability

    @staticmethod
    def none(device: torch.device) -> "_Paths":
        empty = torch.zeros(0, dtype=torch.long, device=device)
        return _Paths(0, empty, empty, empty[:, None][:, :0], empty, torch.zeros(0, device=device))

    def welcome(self, count: int, bos: int) -> bool:
        """So many sentences come in, the next ones in order; whether anybody is here."""
        if count:
            device = self.last.device
            self.tokens = self.tokens[:, self.tokens.shape[1] - int(max(self.taken, default=0)) :]
            new = torch.arange(self.came, self.came + count, device=device)
            self.came += count
            self.sentences = torch.cat((self.sentences, new))
            self.taken = torch.cat((self.taken, new * 0))
            self.tokens = torch.cat((self.tokens, nothing(count, self.tokens.shape[1], device)))
            self.last = torch.cat((self.last, torch.full_like(new, bos)))
            self.total = torch.cat((self.total, self.total.new_zeros(count)))
        return len(self.last) > 0

    def take(self, scores: Tensor, chosen: Tensor) -> None:
        """One more token (R,) each, of the given log-probabilities (R, V)."""
        self.total = self.total + scores.gather(1, chosen[:, None])[:, 0]
        self.tokens = torch.cat((self.tokens, chosen[:, None]), dim=1)
        self.last, self.taken = chosen, self.taken + 1

    def of(self, i: int) -> tuple[list[int], float]:
        """A row's tokens, and its log-probability for each of them."""
        taken = int(self.taken[i])
        return self.tokens[i, -taken:].tolist(), float(self.total[i]) / taken

    def select(self, stay: Tensor) -> None:
        self.sentences, self.taken, self.tokens = self.sentences[stay], self.taken[stay], self.tokens[stay]
        self.last, self.total = self.last[stay], self.total[stay]
