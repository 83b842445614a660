"""A small language model for searches: a table of random probabilities, and what Regard's searches ask of a model."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.decode.limits import Limits
from regard.labs.checker.assignment import Draws

LogProbs = Callable[[list[int]], Tensor]
NO_LOOPS = Limits(loop_repeats=10**6)


class RandomLanguageModel:
    """Log-probabilities (V,) of the next token: random for each prefix, and the same for the same prefix."""

    def __init__(self, draw: Draws, vocab_size: int, sharpness: float = 1.5):
        self.draw, self.vocab_size, self.sharpness = draw, vocab_size, sharpness
        self.table: dict[tuple[int, ...], Tensor] = {}

    def __call__(self, tokens: list[int]) -> Tensor:
        prefix = tuple(int(token) for token in tokens)
        if prefix not in self.table:
            # From the prefix alone, not from which prefixes were asked for before.
            seed = sum((token + 2) * 31**n for n, token in enumerate(prefix)) % 2**31
            draw = Draws(self.draw.generator.initial_seed() * 1009 + seed)
            self.table[prefix] = (self.sharpness * draw.normal(self.vocab_size)).log_softmax(dim=-1)
        return self.table[prefix].clone()

    def __str__(self) -> str:
        return f"V = {self.vocab_size}"


class FunctionStepper:
    """A function of the prefix as the model of a search, for one sentence."""

    def __init__(self, log_probs: LogProbs, bos: int, eos: int, max_length: int):
        self.log_probs, self.bos, self.eos, self.max_output_length = log_probs, bos, eos, max_length
        self.source_lengths = torch.tensor([max_length])
        self.global_indices = torch.tensor([0])
        self.prefixes: list[list[int]] = []
        self.waiting = True

    def admit(self, rows_per_sentence: int) -> int:
        count = int(self.waiting)
        self.prefixes += [[] for _ in range(count * rows_per_sentence)]
        self.waiting = False
        return count

    def step(self, last_tokens: Tensor) -> Tensor:
        self.prefixes = [[*old, int(last)] for old, last in zip(self.prefixes, last_tokens.tolist(), strict=True)]
        return torch.stack([self.log_probs(prefix) for prefix in self.prefixes])

    def select(self, rows: Tensor) -> None:
        self.prefixes = [list(self.prefixes[row]) for row in rows.tolist()]

    def tokens_at(self, columns: Tensor) -> Tensor:
        return columns

    def surface(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(ids)
