"""Take the likeliest token, every time. Sampling takes another chooser and is otherwise the same walk."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.decode.limits import Limits, nothing, unwind
from regard.decode.stepper import Hypothesis, Stepper, remaining
from regard.kernels import topk

Chooser = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Scores (R, V), which sentences these rows are (R,), how many tokens they have -> tokens (R,)."""
Gain = Callable[[Tensor, Tensor], Tensor]
"""Scores (R, V) and the chosen tokens (R,) -> their log-probabilities (R,)."""


@dataclass(frozen=True)
class Greedy:
    """The likeliest token at each step."""

    limits: Limits = field(default_factory=Limits)
    scored: bool = True
    """Without it scores are nan, and nobody need sum over the vocabulary."""

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        gain = log_probability if self.scored else unknown
        return walk(stepper, self.limits, lambda scores, rows, taken: topk(scores, 1)[1][:, 0], gain)


def log_probability(scores: Tensor, chosen: Tensor) -> Tensor:
    """Of tokens (R,) with the given scores (R, V)."""
    return scores.log_softmax(dim=-1).gather(1, chosen[:, None])[:, 0]


def unknown(scores: Tensor, chosen: Tensor) -> Tensor:
    """The log-probability of tokens that nobody asks for."""
    return scores.new_full(chosen.shape, torch.nan)


def walk(stepper: Stepper, limits: Limits, choose: Chooser, gain: Gain = log_probability) -> list[list[Hypothesis]]:
    """One path for each sentence; rows leave as they finish, and others take their places."""
    lengths, caps = stepper.lengths, limits.caps(stepper)
    done: list[list[Hypothesis]] = [[] for _ in lengths]
    paths = _Paths.none(lengths.device)
    while paths.welcome(stepper.admit(1), stepper.bos):
        scores = stepper.step(paths.last)  # (R, V)
        chosen = choose(scores, paths.sentences, paths.taken)
        paths.take(chosen, gain(scores, chosen))
        ended = paths.last == stepper.eos
        looped = limits.looping(paths.tokens, paths.taken, lengths[paths.sentences]) & ~ended
        leave = ended | looped | (paths.taken >= caps[paths.sentences])
        for i in leave.nonzero()[:, 0].tolist():
            ids, score = paths.of(i)
            done[int(paths.sentences[i])] = [
                Hypothesis(tuple(ids[:-1] if ended[i] else unwind(ids, limits.rounds)), score)
            ]
        if bool(leave.any()):
            stay = remaining(leave)
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

    def take(self, chosen: Tensor, gained: Tensor) -> None:
        """One more token (R,) each, and its log-probability."""
        self.total = self.total + gained
        self.tokens = torch.cat((self.tokens, chosen[:, None]), dim=1)
        self.last, self.taken = chosen, self.taken + 1

    def of(self, i: int) -> tuple[list[int], float]:
        """A row's tokens, and its log-probability for each of them."""
        taken = int(self.taken[i])
        return self.tokens[i, -taken:].tolist(), float(self.total[i]) / taken

    def select(self, stay: Tensor) -> None:
        self.sentences, self.taken, self.tokens = self.sentences[stay], self.taken[stay], self.tokens[stay]
        self.last, self.total = self.last[stay], self.total[stay]
