"""Beam search: keep the k best beginnings of every sentence, all sentences at once."""

from dataclasses import dataclass, field

import torch
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
        if self.size < 1:
            raise ConfigError(f"beam={self.size}: must be at least 1")
        if not 1 <= self.nbest <= self.size:
            raise ConfigError(f"nbest={self.nbest}: must be between 1 and the beam, which is {self.size}")

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        lengths = stepper.lengths
        count, k = len(lengths), self.size
        caps = self.limits.caps(lengths)
        results: list[list[Hypothesis]] = [[] for _ in range(count)]
        stepper.select(torch.arange(count, device=lengths.device).repeat_interleave(k))
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
        found = []
        for j in range(self.nbest):
            if state.ended_score[i, j] == NEVER:
                break
            ids = state.ended_tokens[i, j, : int(state.ended_length[i, j])].tolist()
            found.append(Hypothesis(tuple(ids), float(state.ended_score[i, j])))
        if not found:  # nothing came to an end: the best of what was given up
            ids = state.given_up_tokens[i, : int(state.given_up_length[i])].tolist()
            found = [Hypothesis(tuple(unwind(ids, self.limits.rounds)), float(state.given_up_score[i]))]
        return found


@dataclass
class _Beams:
    """Living, ended and given-up hypotheses of N sentences, k each."""

    rows: Tensor  # (N,)  which sentence each is
    tokens: Tensor  # (N, k, t)
    score: Tensor  # (N, k)  log-probabilities of the living
    ended_tokens: Tensor  # (N, k, t)
    ended_length: Tensor  # (N, k)  without eos
    ended_score: Tensor  # (N, k)  normalised, best first
    given_up_tokens: Tensor  # (N, t)
    given_up_length: Tensor  # (N,)
    given_up_score: Tensor  # (N,)

    @staticmethod
    def start(count: int, k: int, device: torch.device) -> "_Beams":
        score = torch.full((count, k), NEVER, device=device)
        score[:, 0] = 0.0  # all beams are equal at first: let one of them live
        none = torch.empty((count, k, 0), dtype=torch.long, device=device)
        zero = torch.zeros((count, k), dtype=torch.long, device=device)
        never = torch.full((count, k), NEVER, device=device)
        rows = torch.arange(count, device=device)
        return _Beams(rows, none, score, none, zero, never, none[:, 0], zero[:, 0], never[:, 0])

    def advance(self, scores: Tensor, eos: int, norm: float) -> Tensor:
        """Take the next token (N, k, V) in; where each living beam came from (N, k)."""
        _, k, size = scores.shape
        total, flat = (self.score[:, :, None] + scores).flatten(1).topk(min(2 * k, k * size))  # (N, 2k)
        origin, token = flat // size, flat % size
        ends = token == eos
        self._end(origin, total.masked_fill(~ends, NEVER)[:, :k] / norm)
        alive, chosen = total.masked_fill(ends, NEVER).topk(k)  # at most k of the 2k end, so k can go on
        origin, token = origin.gather(1, chosen), token.gather(1, chosen)
        self.tokens = torch.cat((_take(self.tokens, origin), token[:, :, None]), dim=2)
        self.score = alive
        return origin

    def _end(self, origin: Tensor, score: Tensor) -> None:
        """Hypotheses (N, k) that have just ended; the best k of them and of those before stay."""
        k = score.shape[1]
        merged, chosen = torch.cat((self.ended_score, score), dim=1).topk(k)
        new = _take(self.tokens, origin[:, :k])  # (N, k, t)
        length = torch.full_like(self.ended_length, new.shape[2])
        grown = torch.nn.functional.pad(self.ended_tokens, (0, new.shape[2] - self.ended_tokens.shape[2]))
        self.ended_tokens = _take(torch.cat((grown, new), dim=1), chosen)
        self.ended_length = torch.cat((self.ended_length, length), dim=1).gather(1, chosen)
        self.ended_score = merged

    def give_up(self, which: Tensor, norm: float) -> None:
        """Beams (N, k) that loop or are too long stop living; the best of them is kept for want of a better."""
        given_up = self.score.masked_fill(~which, NEVER) / norm
        best, at = given_up.max(dim=1)
        better = best > self.given_up_score
        length = self.tokens.shape[2]
        grown = torch.nn.functional.pad(self.given_up_tokens, (0, length - self.given_up_tokens.shape[1]))
        self.given_up_tokens = torch.where(better[:, None], _take(self.tokens, at[:, None])[:, 0], grown)
        self.given_up_length = torch.where(better, length, self.given_up_length)
        self.given_up_score = torch.where(better, best, self.given_up_score)
        self.score = self.score.masked_fill(which, NEVER)

    def decided(self, norm: float) -> Tensor:
        """Sentences (N,) whose k ended hypotheses are all at least as good as any living one is now."""
        best_living = self.score.max(dim=1).values / norm
        return (self.ended_score.min(dim=1).values >= best_living) | (best_living == NEVER)

    def select(self, stay: Tensor) -> None:
        for name, value in vars(self).items():
            setattr(self, name, value[stay])


def _take(tokens: Tensor, origin: Tensor) -> Tensor:
    """Rows (N, j, t) of beams (N, k, t)."""
    return tokens.gather(1, origin[:, :, None].expand(-1, -1, tokens.shape[2]))
