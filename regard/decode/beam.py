"""Beam search: keep the k best beginnings of every sentence, all sentences at once."""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.decode.limits import Limits, unwind
from regard.decode.stepper import Hypothesis, Stepper
from regard.errors import ConfigError

NEVER = float("-inf")


@dataclass(frozen=True)
class Beam:
    """Beam search. A hypothesis scores log-probability / length^alpha, its eos counted."""

    size: int = 5
    alpha: float = 1.0
    nbest: int = 1
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 10:
            raise ConfigError(f"alpha={self.alpha}: must be between 0 and 10; 1 divides by the length")
        if self.size < 1:
            raise ConfigError(f"beam={self.size}: must be at least 1")
        if not 1 <= self.nbest <= self.size:
            raise ConfigError(f"nbest={self.nbest}: must be between 1 and the beam, which is {self.size}")

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        lengths = stepper.lengths
        count, k = len(lengths), self.size
        caps = self.limits.caps(stepper)
        results: list[list[Hypothesis]] = [[] for _ in range(count)]
        stepper.widen(k)
        state = _Beams.start(count, k, lengths.device)
        last = torch.full((count * k,), stepper.bos, device=lengths.device)
        for step in range(1, int(caps.max()) + 1):
            scores = stepper.step(last).unflatten(0, (-1, k))  # (N, k, V)
            origin = state.advance(scores, stepper.eos, step**self.alpha)
            looping = self.limits.looping(state.tokens.flatten(0, 1), lengths[state.rows].repeat_interleave(k))
            state.give_up(looping.unflatten(0, (-1, k)) | (step >= caps[state.rows])[:, None], step**self.alpha)
            done = state.decided(step**self.alpha)
            for i in done.nonzero()[:, 0].tolist():
                results[int(state.rows[i])] = self._best(state, i)
            if bool(done.all()):
                break
            stay = (~done).nonzero()[:, 0]
            stepper.select((stay[:, None] * k + origin[stay]).flatten())
            state.select(stay)
            last = state.tokens[:, :, -1].flatten()
        return results

    def _best(self, state: "_Beams", i: int) -> list[Hypothesis]:
        """What came to an end, best first; then, for want of better, what was given up."""
        ended = [Hypothesis(tuple(ids), score) for ids, score in state.ended.of(i)]
        given_up = [Hypothesis(tuple(unwind(ids, self.limits.rounds)), score) for ids, score in state.given_up.of(i)]
        return (ended + given_up)[: self.nbest]


@dataclass
class _Pool:
    """The best k hypotheses of each of N sentences that no longer grow."""

    tokens: Tensor  # (N, k, t)
    length: Tensor  # (N, k)
    score: Tensor  # (N, k)  normalised, best first; NEVER where there is none

    @staticmethod
    def empty(count: int, k: int, device: torch.device) -> "_Pool":
        tokens = torch.empty((count, k, 0), dtype=torch.long, device=device)
        return _Pool(tokens, tokens.new_zeros((count, k)), torch.full((count, k), NEVER, device=device))

    def add(self, tokens: Tensor, score: Tensor) -> None:
        """Take in tokens (N, k, t) with normalised scores (N, k); the best k of old and new stay."""
        length = tokens.shape[2]
        grown = F.pad(self.tokens, (0, length - self.tokens.shape[2]))
        self.score, chosen = torch.cat((self.score, score), dim=1).topk(score.shape[1])
        self.tokens = _take(torch.cat((grown, tokens), dim=1), chosen)
        lengths = torch.cat((self.length, torch.full_like(self.length, length)), dim=1)
        self.length = lengths.gather(1, chosen)

    def select(self, stay: Tensor) -> None:
        self.tokens, self.length, self.score = self.tokens[stay], self.length[stay], self.score[stay]

    def of(self, i: int) -> list[tuple[list[int], float]]:
        rows = zip(self.tokens[i].tolist(), self.length[i].tolist(), self.score[i].tolist(), strict=True)
        return [(ids[:length], score) for ids, length, score in rows if score > NEVER]


@dataclass
class _Beams:
    """Living, ended and given-up hypotheses of N sentences, k each."""

    rows: Tensor  # (N,)  which sentence each is
    tokens: Tensor  # (N, k, t)
    score: Tensor  # (N, k)  log-probabilities of the living
    ended: _Pool
    given_up: _Pool

    @staticmethod
    def start(count: int, k: int, device: torch.device) -> "_Beams":
        score = torch.full((count, k), NEVER, device=device)
        score[:, 0] = 0.0  # all beams are equal at first: let one of them live
        ended, given_up = _Pool.empty(count, k, device), _Pool.empty(count, k, device)
        return _Beams(torch.arange(count, device=device), ended.tokens, score, ended, given_up)

    def advance(self, scores: Tensor, eos: int, norm: float) -> Tensor:
        """Take the next token (N, k, V) in; where each living beam came from (N, k)."""
        _, k, size = scores.shape
        total, flat = (self.score[:, :, None] + scores).flatten(1).topk(min(2 * k, k * size))  # (N, 2k)
        origin, token = flat // size, flat % size
        ends = token == eos
        self.ended.add(_take(self.tokens, origin[:, :k]), total.masked_fill(~ends, NEVER)[:, :k] / norm)
        self.score, chosen = total.masked_fill(ends, NEVER).topk(k)  # at most k of the 2k end, so k can go on
        origin, token = origin.gather(1, chosen), token.gather(1, chosen)
        self.tokens = torch.cat((_take(self.tokens, origin), token[:, :, None]), dim=2)
        return origin

    def give_up(self, which: Tensor, norm: float) -> None:
        """Beams (N, k) that loop or are too long stop living."""
        if bool(which.any()):
            self.given_up.add(self.tokens, self.score.masked_fill(~which, NEVER) / norm)
            self.score = self.score.masked_fill(which, NEVER)

    def decided(self, norm: float) -> Tensor:
        """Sentences (N,) whose k ended hypotheses are all at least as good as any living one is now."""
        best_living = self.score.max(dim=1).values / norm
        return (self.ended.score.min(dim=1).values >= best_living) | (best_living == NEVER)

    def select(self, stay: Tensor) -> None:
        self.rows, self.tokens, self.score = self.rows[stay], self.tokens[stay], self.score[stay]
        self.ended.select(stay)
        self.given_up.select(stay)


def _take(tokens: Tensor, origin: Tensor) -> Tensor:
    """Rows (N, j, t) of beams (N, k, t)."""
    return tokens.gather(1, origin[:, :, None].expand(-1, -1, tokens.shape[2]))
