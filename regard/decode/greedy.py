"""Greedy search: the most probable token at each step. Sampling differs only in how a token is chosen."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.decode.limits import Limits, filler_tokens, trim_loop
from regard.decode.stepper import Hypothesis, Stepper, compact_rows
from regard.kernels import topk

TokenChooser = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Scores (R, V), the sentence of each row (R,) and its output length (R,) -> the columns of the next tokens (R,)."""
TokenScorer = Callable[[Tensor, Tensor], Tensor]
"""Scores (R, V) and the chosen columns (R,) -> their log-probabilities (R,)."""


@dataclass(frozen=True)
class GreedySearch:
    """Greedy search."""

    limits: Limits = field(default_factory=Limits)
    scored: bool = True
    """If False, scores are NaN, which saves the softmax over the vocabulary."""

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        score_tokens = token_log_probs if self.scored else nan_scores
        return generate_sequences(
            stepper,
            self.limits,
            lambda scores, sentence_indices, output_lengths: topk(scores, 1)[1][:, 0],
            score_tokens,
        )


def token_log_probs(scores: Tensor, tokens: Tensor) -> Tensor:
    """The log-probabilities (R,) of tokens (R,) under scores (R, V)."""
    return scores.log_softmax(dim=-1).gather(1, tokens[:, None])[:, 0]


def nan_scores(scores: Tensor, tokens: Tensor) -> Tensor:
    """NaN instead of log-probabilities."""
    return scores.new_full(tokens.shape, torch.nan)


def generate_sequences(
    stepper: Stepper, limits: Limits, choose_tokens: TokenChooser, score_tokens: TokenScorer = token_log_probs
) -> list[list[Hypothesis]]:
    """One output for each sentence; finished rows leave the batch, and waiting sentences take their rows."""
    source_lengths, max_lengths = stepper.source_lengths, limits.max_lengths(stepper)
    results: list[list[Hypothesis]] = [[] for _ in source_lengths]
    sequences = _SequenceBatch.empty(source_lengths.device)
    while sequences.admit(stepper.admit(1), stepper.bos):
        scores = stepper.step(sequences.last_tokens)  # (R, V)
        columns = choose_tokens(scores, sequences.sentence_indices, sequences.output_lengths)
        sequences.append(stepper.tokens_at(columns), score_tokens(scores, columns))
        is_eos = sequences.last_tokens == stepper.eos
        is_looping = (
            limits.detect_loops(sequences.tokens, sequences.output_lengths, source_lengths[sequences.sentence_indices])
            & ~is_eos
        )
        finished = is_eos | is_looping | (sequences.output_lengths >= max_lengths[sequences.sentence_indices])
        for i in finished.nonzero()[:, 0].tolist():
            ids, score = sequences.tokens_and_score(i)
            ended = bool(is_eos[i])
            output = ids[:-1] if ended else trim_loop(ids, limits.loop_repeats)
            results[int(sequences.sentence_indices[i])] = [Hypothesis(tuple(output), score, truncated=not ended)]
        if bool(finished.any()):
            kept_rows = compact_rows(finished)
            stepper.select(kept_rows)
            sequences.select(kept_rows)
    return results


@dataclass
class _SequenceBatch:
    """R outputs that grow by one column per step; rows admitted later have filler tokens in earlier columns."""

    admitted: int
    sentence_indices: Tensor  # (R,)
    output_lengths: Tensor  # (R,)
    tokens: Tensor  # (R, t)
    last_tokens: Tensor  # (R,)
    total_log_probs: Tensor  # (R,) log-probability

    @staticmethod
    def empty(device: torch.device) -> "_SequenceBatch":
        no_rows = torch.empty(0, dtype=torch.long, device=device)
        return _SequenceBatch(0, no_rows, no_rows, no_rows[:, None][:, :0], no_rows, torch.empty(0, device=device))

    def admit(self, count: int, bos: int) -> bool:
        """Add the next `count` sentences. Returns whether any sentence is active."""
        if count:
            device = self.last_tokens.device
            self.tokens = self.tokens[:, self.tokens.shape[1] - int(max(self.output_lengths, default=0)) :]
            new_sentences = torch.arange(self.admitted, self.admitted + count, device=device)
            self.admitted += count
            self.sentence_indices = torch.cat((self.sentence_indices, new_sentences))
            self.output_lengths = torch.cat((self.output_lengths, new_sentences * 0))
            self.tokens = torch.cat((self.tokens, filler_tokens(count, self.tokens.shape[1], device)))
            self.last_tokens = torch.cat((self.last_tokens, torch.full_like(new_sentences, bos)))
            self.total_log_probs = torch.cat((self.total_log_probs, self.total_log_probs.new_zeros(count)))
        return len(self.last_tokens) > 0

    def append(self, tokens: Tensor, log_probs: Tensor) -> None:
        """Append one token (R,) to each row, with its log-probability."""
        self.total_log_probs = self.total_log_probs + log_probs
        self.tokens = torch.cat((self.tokens, tokens[:, None]), dim=1)
        self.last_tokens, self.output_lengths = tokens, self.output_lengths + 1

    def tokens_and_score(self, i: int) -> tuple[list[int], float]:
        """A row's tokens, and its mean log-probability per token."""
        length = int(self.output_lengths[i])
        return self.tokens[i, -length:].tolist(), float(self.total_log_probs[i]) / length

    def select(self, rows: Tensor) -> None:
        self.sentence_indices, self.output_lengths, self.tokens = (
            self.sentence_indices[rows],
            self.output_lengths[rows],
            self.tokens[rows],
        )
        self.last_tokens, self.total_log_probs = self.last_tokens[rows], self.total_log_probs[rows]
