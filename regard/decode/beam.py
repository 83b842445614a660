"""Beam search: keep the k best prefixes of every sentence, all sentences in one batch."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.decode.limits import Limits, filler_tokens, trim_loop
from regard.decode.stepper import Hypothesis, Stepper, compact_rows
from regard.errors import ConfigError
from regard.kernels import topk

NEG_INF = float("-inf")


@dataclass(frozen=True)
class BeamSearch:
    """Beam search. The score of a hypothesis is log-probability / length^alpha, with eos counted.

    Hypotheses that end in eos come first, best first, then those that were cut (see `Limits`), best first. No two have
    the same text: of several tokenizations the best one is kept, and the next hypothesis takes the place of the other.
    """

    size: int = 5
    alpha: float = 1.0
    nbest: int = 1
    """Hypotheses of each sentence; fewer if the beam has not found as many different texts."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 10:
            raise ConfigError(f"alpha={self.alpha}: must be between 0 and 10; 1 divides by the length")
        if self.size < 1:
            raise ConfigError(f"beam={self.size}: must be at least 1")
        if not 1 <= self.nbest <= self.size:
            raise ConfigError(f"nbest={self.nbest}: must be between 1 and the beam size, {self.size}")

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        source_lengths, max_lengths = stepper.source_lengths, self.limits.max_lengths(stepper)
        results: list[list[Hypothesis]] = [[] for _ in source_lengths]
        length_penalties = self._length_penalties(int(max_lengths.max())).to(source_lengths.device)
        # Twice as many are kept as the search itself needs, since some may have the same text.
        state = _BeamState.empty(self.size, self.size * (1 + (self.nbest > 1)), length_penalties)
        while state.admit(stepper.admit(self.size), stepper.bos):
            scores = stepper.step(state.last_tokens.flatten()).log_softmax(dim=-1)  # (N·k, V)
            top_scores, columns = topk(scores, min(2 * self.size, scores.shape[1]))
            parent_beams = state.advance(top_scores, stepper.tokens_at(columns), stepper.eos)
            state.abandon(self._beams_to_abandon(state, source_lengths, max_lengths))
            decided = state.decided_sentences()
            for i in decided.nonzero()[:, 0].tolist():
                results[int(state.sentence_indices[i])] = self._best_hypotheses(state, i, stepper)
            kept_rows = compact_rows(decided)
            stepper.select((kept_rows[:, None] * self.size + parent_beams[kept_rows]).flatten())
            state.select(kept_rows)
        return results

    def _length_penalties(self, max_length: int) -> Tensor:
        """length^alpha for every length."""
        return torch.arange(max_length + 1, dtype=torch.float64).pow(self.alpha).float()

    def _beams_to_abandon(self, state: "_BeamState", source_lengths: Tensor, max_lengths: Tensor) -> Tensor:
        """Beams (N, k) that repeat in a loop or have reached the maximum length."""
        sentence_indices = state.sentence_indices.repeat_interleave(self.size)
        output_lengths = state.output_lengths.repeat_interleave(self.size)
        is_looping = self.limits.detect_loops(
            state.tokens.flatten(0, 1), output_lengths, source_lengths[sentence_indices]
        )
        return (is_looping | (output_lengths >= max_lengths[sentence_indices])).unflatten(0, (-1, self.size))

    def _best_hypotheses(self, state: "_BeamState", i: int, stepper: Stepper) -> list[Hypothesis]:
        """Finished hypotheses, best first, then abandoned ones; the first of those with the same text."""
        first_column = state.tokens.shape[2] - int(state.output_lengths[i])
        hypotheses = [Hypothesis(tuple(ids), score) for ids, score in state.finished.hypotheses(i, first_column)]
        hypotheses += [
            Hypothesis(tuple(trim_loop(ids, self.limits.loop_repeats)), score, truncated=True)
            for ids, score in state.abandoned.hypotheses(i, first_column)
        ]
        return distinct(hypotheses, stepper.surface, self.nbest)


@dataclass
class _HypothesisPool:
    """The best k hypotheses of each of N sentences among those that are no longer extended; here k is its own."""

    tokens: Tensor  # (N, k, t)
    end_columns: Tensor  # (N, k)  the column after the last token
    scores: Tensor  # (N, k)  length-normalized, best first; NEG_INF where there is none

    @staticmethod
    def empty(count: int, k: int, columns: int, device: torch.device) -> "_HypothesisPool":
        tokens = torch.zeros((count, k, columns), dtype=torch.long, device=device)
        end_columns = torch.zeros((count, k), dtype=torch.long, device=device)
        return _HypothesisPool(tokens, end_columns, torch.full((count, k), NEG_INF, device=device))

    def add(self, tokens: Tensor, scores: Tensor) -> None:
        """Add tokens (N, j, t) with length-normalized scores (N, j) and keep the best k of old and new."""
        if not bool((scores > NEG_INF).any()):
            return
        columns = tokens.shape[2]
        padded_tokens = F.pad(self.tokens, (0, columns - self.tokens.shape[2]))
        self.scores, top_indices = torch.cat((self.scores, scores), dim=1).topk(self.scores.shape[1])
        self.tokens = _gather_beams(torch.cat((padded_tokens, tokens), dim=1), top_indices)
        end_columns = torch.cat((self.end_columns, self.end_columns.new_full(scores.shape, columns)), dim=1)
        self.end_columns = end_columns.gather(1, top_indices)

    def extend(self, other: "_HypothesisPool", first_column: int) -> None:
        """Append other sentences, which are as wide as the longest; columns before `first_column` are dropped."""
        self.tokens, self.end_columns = self.tokens[:, :, first_column:], self.end_columns - first_column
        self.tokens = torch.cat((F.pad(self.tokens, (0, other.tokens.shape[2] - self.tokens.shape[2])), other.tokens))
        self.end_columns, self.scores = (
            torch.cat((self.end_columns, other.end_columns)),
            torch.cat((self.scores, other.scores)),
        )

    def select(self, rows: Tensor) -> None:
        self.tokens, self.end_columns, self.scores = self.tokens[rows], self.end_columns[rows], self.scores[rows]

    def hypotheses(self, i: int, first_column: int) -> list[tuple[list[int], float]]:
        """The hypotheses of a sentence that starts in the column `first_column`."""
        rows = zip(self.tokens[i].tolist(), self.end_columns[i].tolist(), self.scores[i].tolist(), strict=True)
        return [(ids[first_column:end], score) for ids, end, score in rows if score > NEG_INF]


@dataclass
class _BeamState:
    """Active, finished and abandoned hypotheses of N sentences, k each.

    Sentences that were admitted later have filler tokens in earlier columns.
    """

    length_penalties: Tensor  # the divisor of a log-probability, for every length
    admitted: int
    sentence_indices: Tensor  # (N,)
    output_lengths: Tensor  # (N,)  of the active hypotheses
    tokens: Tensor  # (N, k, t)
    last_tokens: Tensor  # (N, k)
    scores: Tensor  # (N, k)  log-probabilities of the active hypotheses
    finished: _HypothesisPool
    abandoned: _HypothesisPool

    @staticmethod
    def empty(k: int, num_finished: int, length_penalties: Tensor) -> "_BeamState":
        device = length_penalties.device
        finished, abandoned = _HypothesisPool.empty(0, num_finished, 0, device), _HypothesisPool.empty(0, k, 0, device)
        no_sentences = torch.empty(0, dtype=torch.long, device=device)
        return _BeamState(
            length_penalties,
            0,
            no_sentences,
            no_sentences,
            abandoned.tokens,
            abandoned.end_columns,
            abandoned.scores,
            finished,
            abandoned,
        )

    def admit(self, count: int, bos: int) -> bool:
        """Add the next `count` sentences. Returns whether any sentence is active."""
        if count:
            k, device = self.last_tokens.shape[1], self.last_tokens.device
            first_column = self.tokens.shape[2] - int(max(self.output_lengths, default=0))
            columns = self.tokens.shape[2] - first_column
            new_sentences = torch.arange(self.admitted, self.admitted + count, device=device)
            scores = torch.full((count, k), NEG_INF, device=device)
            scores[:, 0] = 0.0  # all beams are equal at first: start with one of them
            self.admitted += count
            self.sentence_indices, self.output_lengths = (
                torch.cat((self.sentence_indices, new_sentences)),
                torch.cat((self.output_lengths, new_sentences * 0)),
            )
            filler = filler_tokens(count * k, columns, device).unflatten(0, (count, k))
            self.tokens = torch.cat((self.tokens[:, :, first_column:], filler))
            self.last_tokens = torch.cat((self.last_tokens, self.last_tokens.new_full((count, k), bos)))
            self.scores = torch.cat((self.scores, scores))
            for pool in (self.finished, self.abandoned):
                pool.extend(_HypothesisPool.empty(count, pool.scores.shape[1], columns, device), first_column)
        return len(self.last_tokens) > 0

    def advance(self, scores: Tensor, tokens: Tensor, eos: int) -> Tensor:
        """Extend by the most probable next tokens (N·k, j), j ≥ 2k if V ≥ 2k. Returns the parent beams (N, k)."""
        k, candidates_per_beam = self.last_tokens.shape[1], tokens.shape[1]
        self.output_lengths = self.output_lengths + 1
        totals = (self.scores[:, :, None] + scores.unflatten(0, (-1, k))).flatten(1)  # (N, k·j)
        top_scores, flat_indices = totals.topk(min(2 * k, k * candidates_per_beam))  # (N, 2k)
        parent_beams, top_tokens = (
            flat_indices // candidates_per_beam,
            tokens.view(len(totals), -1).gather(1, flat_indices),
        )
        is_eos = top_tokens == eos
        finished_scores = top_scores.masked_fill(~is_eos, NEG_INF)[:, :k] / self._length_penalty()
        self.finished.add(_gather_beams(self.tokens, parent_beams[:, :k]), finished_scores)
        # At most k of the 2k end in eos, so k can be continued.
        self.scores, top_indices = top_scores.masked_fill(is_eos, NEG_INF).topk(k)
        parent_beams, self.last_tokens = parent_beams.gather(1, top_indices), top_tokens.gather(1, top_indices)
        self.tokens = torch.cat((_gather_beams(self.tokens, parent_beams), self.last_tokens[:, :, None]), dim=2)
        return parent_beams

    def abandon(self, mask: Tensor) -> None:
        """Stop beams (N, k) that loop or are too long."""
        if bool(mask.any()):
            self.abandoned.add(self.tokens, self.scores.masked_fill(~mask, NEG_INF) / self._length_penalty())
            self.scores = self.scores.masked_fill(mask, NEG_INF)

    def decided_sentences(self) -> Tensor:
        """Sentences (N,) whose best k finished hypotheses all score at least as high as any active one."""
        best_active = self.scores.max(dim=1).values / self._length_penalty()[:, 0]
        return (self.finished.scores[:, self.scores.shape[1] - 1] >= best_active) | (best_active == NEG_INF)

    def select(self, rows: Tensor) -> None:
        self.sentence_indices, self.output_lengths, self.tokens = (
            self.sentence_indices[rows],
            self.output_lengths[rows],
            self.tokens[rows],
        )
        self.last_tokens, self.scores = self.last_tokens[rows], self.scores[rows]
        self.finished.select(rows)
        self.abandoned.select(rows)

    def _length_penalty(self) -> Tensor:
        return self.length_penalties[self.output_lengths][:, None]  # (N, 1)


def distinct(
    hypotheses: Sequence[Hypothesis], surface: Callable[[Sequence[int]], Hashable], count: int
) -> list[Hypothesis]:
    """The first `count` hypotheses of different surfaces, in their order."""
    if count == 1:
        return list(hypotheses[:1])
    first: dict[Hashable, Hypothesis] = {}
    for hypothesis in hypotheses:
        first.setdefault(surface(hypothesis.ids), hypothesis)
        if len(first) == count:
            break
    return list(first.values())


def _gather_beams(tokens: Tensor, beam_indices: Tensor) -> Tensor:
    """Rows (N, j, t) of beams (N, k, t)."""
    return tokens.gather(1, beam_indices[:, :, None].expand(-1, -1, tokens.shape[2]))
