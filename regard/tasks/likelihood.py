"""How probable a language model finds texts: nats of every token, bits per byte."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from regard.errors import DataError
from regard.model.modules import device_of, evaluation_mode
from regard.model.single_stack import DecoderOnly
from regard.progress import stage

MAX_WINDOW_TOKENS = 4096  # of a batch of windows, padding included
MAX_LOGITS = 1 << 24  # of one projection, over tokens and vocabulary


@dataclass(frozen=True)
class TextLikelihood:
    """The sum of -ln p over all tokens of some texts, their ends included, and how long the texts are.

    An upper bound: a text has other segmentations, too, whose probabilities would have to be added.
    """

    nats: float
    tokens: int
    """Predicted tokens, the end of each text included."""
    words: int
    """Separated by whitespace."""
    num_bytes: int
    """Of the texts in UTF-8, line ends included."""

    def __str__(self) -> str:
        perplexities = f"perplexity {self.token_perplexity:.2f} per token, {self.word_perplexity:.2f} per word"
        return f"{self.bits_per_byte:.4f} bits per byte, {perplexities}"

    @property
    def bits_per_byte(self) -> float:
        """Comparable between tokenizers."""
        if not self.num_bytes:
            raise DataError("no text: bits per byte need at least one byte")
        return self.nats / (math.log(2) * self.num_bytes)

    @property
    def token_perplexity(self) -> float:
        """Comparable between models with the same tokenizer."""
        return math.exp(self.nats / self.tokens)

    @property
    def word_perplexity(self) -> float:
        """Comparable between tokenizers."""
        if not self.words:
            raise DataError("no text: word perplexity needs at least one word")
        return math.exp(self.nats / self.words)


class Window(NamedTuple):
    """A part of a text that a model reads at once: the inputs start … end, of which those from `new` on are scored."""

    row: int
    start: int
    new: int
    end: int


def split_windows(row: int, count: int, size: int) -> list[Window]:
    """Windows over `count` inputs that each start half a window later; every input is new in one of them."""
    stride = max(1, size // 2)
    windows = [Window(row, 0, 0, min(size, count))]
    while (previous := windows[-1]).end < count:
        start = previous.start + stride
        windows.append(Window(row, start, previous.end, min(start + size, count)))
    return windows


def compute_token_nats(
    model: DecoderOnly, rows: Sequence[Sequence[int]], max_length: int
) -> list[npt.NDArray[np.float64]]:
    """-ln p of every token of each row after its first, given those before it in windows of `max_length` tokens."""
    nats = [np.empty(len(row) - 1) for row in rows]
    windows = [window for i, row in enumerate(rows) for window in split_windows(i, len(row) - 1, max_length)]
    windows.sort(key=lambda window: window.start - window.end)  # the longest first: memory runs out soon or never
    with evaluation_mode(model), torch.inference_mode(), stage("computing the loss", len(windows)) as current:
        while windows:
            count = max(1, MAX_WINDOW_TOKENS // (windows[0].end - windows[0].start))
            batch, windows = windows[:count], windows[count:]
            for window, values in zip(batch, _score_windows(model, rows, batch), strict=True):
                nats[window.row][window.new : window.end] = values
            current.advance(len(batch))
    return nats


def _score_windows(
    model: DecoderOnly, rows: Sequence[Sequence[int]], windows: Sequence[Window]
) -> list[npt.NDArray[np.float64]]:
    """The nats of what is new in each window."""
    length = max(window.end - window.start for window in windows)
    ids = torch.zeros(len(windows), length, dtype=torch.long)  # padded on the right, which no token attends to
    new = torch.zeros(len(windows), length, dtype=torch.bool)
    targets: list[int] = []
    for i, (row, start, first_new, end) in enumerate(windows):
        ids[i, : end - start] = torch.tensor(rows[row][start:end])
        new[i, first_new - start : end - start] = True
        targets += rows[row][first_new + 1 : end + 1]
    device = device_of(model)
    states = model(ids.to(device))[new.to(device)]  # (N, D)
    nats = _negative_log_probs(model, states, torch.tensor(targets, device=device))
    sizes = [window.end - window.new for window in windows]
    return [part.numpy() for part in nats.split(sizes)]


def _negative_log_probs(model: DecoderOnly, states: Tensor, targets: Tensor) -> Tensor:
    """-ln p of tokens (N,) after states (N, D), in float64 on the CPU."""
    count = max(1, MAX_LOGITS // len(model.output.weight))
    parts = []
    for some_states, some_targets in zip(states.split(count), targets.split(count), strict=True):
        logits = model.output(some_states)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        parts.append(-logits.log_softmax(dim=-1).gather(1, some_targets[:, None])[:, 0].cpu().double())
    return torch.cat(parts)
