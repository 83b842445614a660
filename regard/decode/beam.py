"""Beam search: keep the k best beginnings of every sentence, all sentences at once."""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.decode.limits import Limits, nothing, unwind
from regard.decode.stepper import Hypothesis, Stepper, remaining
from regard.errors import ConfigError
from regard.kernels import topk

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
        lengths, caps = stepper.lengths, self.limits.caps(stepper)
        results: list[list[Hypothesis]] = [[] for _ in lengths]
        state = _Beams.none(self.size, self._norms(int(caps.max())).to(lengths.device))
        while state.welcome(stepper.admit(self.size), stepper.bos):
            scores = stepper.step(state.last.flatten()).log_softmax(dim=-1)  # (N·k, V)
            origin = state.advance(*topk(scores, min(2 * self.size, scores.shape[1])), stepper.eos)
            state.give_up(self._hopeless(state, lengths, caps))
            done = state.decided()
            for i in done.nonzero()[:, 0].tolist():
                results[int(state.sentences[i])] = self._best(state, i)
            stay = remaining(done)
            stepper.select((stay[:, None] * self.size + origin[stay]).flatten())
            state.select(stay)
        return results

    def _norms(self, longest: int) -> Tensor:
        """length^alpha for every length."""
        return torch.arange(longest + 1, dtype=torch.float64).pow(self.alpha).float()

    def _hopeless(self, state: "_Beams", lengths: Tensor, caps: Tensor) -> Tensor:
        """Beams (N, k) that go round in circles or are as long as they may get."""
        each = state.sentences.repeat_interleave(self.size)
        taken = state.taken.repeat_interleave(self.size)
        looping = self.limits.looping(state.tokens.flatten(0, 1), taken, lengths[each])
        return (looping | (taken >= caps[each])).unflatten(0, (-1, self.size))

    def _best(self, state: "_Beams", i: int) -> list[Hypothesis]:
        """What came to an end, best first; then, for want of better, what was given up."""
        start = state.tokens.shape[2] - int(state.taken[i])
        ended = [Hypothesis(tuple(ids), score) for ids, score in state.ended.of(i, start)]
        given_up = [
            Hypothesis(tuple(unwind(ids, self.limits.rounds)), score) for ids, score in state.given_up.of(i, start)
        ]
        return (ended + given_up)[: self.nbest]


@dataclass
class _Pool:
    """The best k hypotheses of each of N sentences that no longer grow."""

    tokens: Tensor  # (N, k, t)
    end: Tensor  # (N, k)  the column behind the last token
    score: Tensor  # (N, k)  normalised, best first; NEVER where there is none

    @staticmethod
    def empty(count: int, k: int, columns: int, device: torch.device) -> "_Pool":
        tokens = torch.zeros((count, k, columns), dtype=torch.long, device=device)
        end = torch.zeros((count, k), dtype=torch.long, device=device)
        return _Pool(tokens, end, torch.full((count, k), NEVER, device=device))

    def add(self, tokens: Tensor, score: Tensor) -> None:
        """Take in tokens (N, k, t) with normalised scores (N, k); the best k of old and new stay."""
        if not bool((score > NEVER).any()):
            return
        columns = tokens.shape[2]
        grown = F.pad(self.tokens, (0, columns - self.tokens.shape[2]))
        self.score, chosen = torch.cat((self.score, score), dim=1).topk(score.shape[1])
        self.tokens = _take(torch.cat((grown, tokens), dim=1), chosen)
        ends = torch.cat((self.end, torch.full_like(self.end, columns)), dim=1)
        self.end = ends.gather(1, chosen)

    def join(self, other: "_Pool", first: int) -> None:
        """Other sentences below these; columns before `first` are forgotten."""
        self.tokens, self.end = self.tokens[:, :, first:], self.end - first
        wide = max(self.tokens.shape[2], other.tokens.shape[2])
        pair = (self.tokens, other.tokens)
        self.tokens = torch.cat([F.pad(tokens, (0, wide - tokens.shape[2])) for tokens in pair])
        self.end, self.score = torch.cat((self.end, other.end)), torch.cat((self.score, other.score))

    def select(self, stay: Tensor) -> None:
        self.tokens, self.end, self.score = self.tokens[stay], self.end[stay], self.score[stay]

    def of(self, i: int, start: int) -> list[tuple[list[int], float]]:
        """The hypotheses of a sentence that began in the column `start`."""
        rows = zip(self.tokens[i].tolist(), self.end[i].tolist(), self.score[i].tolist(), strict=True)
        return [(ids[start:end], score) for ids, end, score in rows if score > NEVER]


@dataclass
class _Beams:
    """Living, ended and given-up hypotheses of N sentences, k each; who came late has nothing in earlier columns."""

    norms: Tensor  # what a log-probability is divided by, for every length
    came: int
    sentences: Tensor  # (N,)
    taken: Tensor  # (N,)  how many tokens the living ones have
    tokens: Tensor  # (N, k, t)
    last: Tensor  # (N, k)
    score: Tensor  # (N, k)  log-probabilities of the living
    ended: _Pool
    given_up: _Pool

    @staticmethod
    def none(k: int, norms: Tensor) -> "_Beams":
        device = norms.device
        ended, given_up = _Pool.empty(0, k, 0, device), _Pool.empty(0, k, 0, device)
        nobody = torch.zeros(0, dtype=torch.long, device=device)
        return _Beams(norms, 0, nobody, nobody, ended.tokens, ended.end, ended.score, ended, given_up)

    def welcome(self, count: int, bos: int) -> bool:
        """So many sentences come in, the next ones in order; whether anybody is here."""
        if count:
            k, device = self.last.shape[1], self.last.device
            first = self.tokens.shape[2] - int(max(self.taken, default=0))
            columns = self.tokens.shape[2] - first
            new = torch.arange(self.came, self.came + count, device=device)
            score = torch.full((count, k), NEVER, device=device)
            score[:, 0] = 0.0  # all beams are equal at first: let one of them live
            self.came += count
            self.sentences, self.taken = torch.cat((self.sentences, new)), torch.cat((self.taken, new * 0))
            before = nothing(count * k, columns, device).unflatten(0, (count, k))
            self.tokens = torch.cat((self.tokens[:, :, first:], before))
            self.last = torch.cat((self.last, self.last.new_full((count, k), bos)))
            self.score = torch.cat((self.score, score))
            for pool in (self.ended, self.given_up):
                pool.join(_Pool.empty(count, k, columns, device), first)
        return len(self.last) > 0

    def advance(self, scores: Tensor, tokens: Tensor, eos: int) -> Tensor:
        """Take in the likeliest next tokens (N·k, j), at least 2k if there are as many; where each beam came from."""
        k, each = self.last.shape[1], tokens.shape[1]
        self.taken = self.taken + 1
        totals = (self.score[:, :, None] + scores.unflatten(0, (-1, k))).flatten(1)  # (N, k·j)
        total, flat = totals.topk(min(2 * k, k * each))  # (N, 2k)
        origin, token = flat // each, tokens.view(len(totals), -1).gather(1, flat)
        ends = token == eos
        ended = total.masked_fill(~ends, NEVER)[:, :k] / self._norm()
        self.ended.add(_take(self.tokens, origin[:, :k]), ended)
        self.score, chosen = total.masked_fill(ends, NEVER).topk(k)  # at most k of the 2k end, so k can go on
        origin, self.last = origin.gather(1, chosen), token.gather(1, chosen)
        self.tokens = torch.cat((_take(self.tokens, origin), self.last[:, :, None]), dim=2)
        return origin

    def give_up(self, which: Tensor) -> None:
        """Beams (N, k) that loop or are too long stop living."""
        if bool(which.any()):
            self.given_up.add(self.tokens, self.score.masked_fill(~which, NEVER) / self._norm())
            self.score = self.score.masked_fill(which, NEVER)

    def decided(self) -> Tensor:
        """Sentences (N,) whose k ended hypotheses are all at least as good as any living one is now."""
        best_living = self.score.max(dim=1).values / self._norm()[:, 0]
        return (self.ended.score.min(dim=1).values >= best_living) | (best_living == NEVER)

    def select(self, stay: Tensor) -> None:
        self.sentences, self.taken, self.tokens = self.sentences[stay], self.taken[stay], self.tokens[stay]
        self.last, self.score = self.last[stay], self.score[stay]
        self.ended.select(stay)
        self.given_up.select(stay)

    def _norm(self) -> Tensor:
        return self.norms[self.taken][:, None]  # (N, 1)


def _take(tokens: Tensor, origin: Tensor) -> Tensor:
    """Rows (N, j, t) of beams (N, k, t)."""
    return tokens.gather(1, origin[:, :, None].expand(-1, -1, tokens.shape[2]))
