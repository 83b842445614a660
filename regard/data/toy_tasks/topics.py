"""Two topics: texts of words that tend to stand together, and a pseudoword that means something else in each."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.toy_tasks.toy_batch import IGNORED, ToyBatch


@dataclass(frozen=True)
class TopicWords:
    """The vocabulary: a first token that stands for the text, a mask, a pseudoword, words of two topics and of none."""

    topical: int = 12
    """Words of each of the two topics."""
    neutral: int = 12

    first, mask, pseudoword = 1, 2, 3

    @property
    def vocab_size(self) -> int:
        return 4 + 2 * self.topical + self.neutral


def topic_texts(rows: int, length: int, words: TopicWords = TopicWords(), topical: float = 0.7) -> ToyBatch:
    """Texts with the topic as their label: (B, T), (B,). Each token is of the topic with a probability of `topical`."""
    labels = torch.randperm(rows) % 2  # as many of each: a few texts of one topic alone teach nothing
    shape = (rows, length)
    of_topic = 4 + torch.randint(words.topical, shape) + words.topical * labels[:, None]
    neutral = 4 + 2 * words.topical + torch.randint(words.neutral, shape)
    ids = torch.where(torch.rand(shape) < topical, of_topic, neutral)
    ids[:, 0] = words.first
    return ToyBatch(ids, labels)


def pseudowords(rows: int, length: int, words: TopicWords = TopicWords()) -> tuple[ToyBatch, Tensor]:
    """Texts that hold the pseudoword once, with its sense, which is the topic, as the label; its position (B,).

    The pseudoword is two words of a corpus made one: which of them it was is known without an annotator.
    """
    ids, senses = topic_texts(rows, length, words)
    positions = torch.randint(1, length, (rows,))
    row = torch.arange(rows)
    ids[row, positions] = words.pseudoword
    return ToyBatch(ids, senses), positions


def mask_tokens(ids: Tensor, mask: int, share: float) -> ToyBatch:
    """The ids with a share of the tokens hidden, but never the first; the targets are the hidden ones: (B, T) each."""
    hidden = torch.rand(ids.shape) < share
    hidden[:, 0] = False
    hidden[:, 1] |= ~hidden.any(dim=1)  # a text without a target would say nothing
    return ToyBatch(ids.masked_fill(hidden, mask), ids.masked_fill(~hidden, IGNORED))


def shuffle_between_texts(ids: Tensor) -> Tensor:
    """The same tokens permuted over all texts, but for the first of each: what stands together says nothing."""
    tokens = ids[:, 1:]
    permuted = tokens.flatten()[torch.randperm(tokens.numel())].view_as(tokens)
    return torch.cat((ids[:, :1], permuted), dim=1)
