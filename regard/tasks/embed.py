"""Embedding: strings in, vectors out, by an encoder and its tokeniser."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.wordpiece import WordPiece
from regard.model.transformer import EncoderOnly, device_of

BATCH_TOKENS = 4096


def mean_pooling(states: Tensor, attention_mask: Tensor) -> Tensor:
    """The mean state of each text's real tokens, 0 where there is none: (B, T, D), (B, T) -> (B, D)."""
    mask = attention_mask[:, :, None].to(states.dtype)
    return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


class Embedder:
    """A trained encoder that turns texts into vectors of length 1, so that their products are cosines."""

    def __init__(self, model: EncoderOnly, tokenizer: WordPiece, max_length: int):
        self.model = model
        self.tokenizer = tokenizer
        self.max_length = max_length
        """Pieces, marks included, that are read of a text; the rest is left out."""

    def embed(self, texts: Sequence[str]) -> Tensor:
        """The vector of each text, in the same order: (N, D)."""
        rows = self.tokenizer.encode(texts, self.max_length)
        embeddings = torch.empty(len(rows), self.model.encoder.embedding.tokens.embedding_dim)
        self.model.eval()
        with torch.inference_mode():
            for batch in _batches(rows):
                ids = self._pad([rows[i] for i in batch]).to(device_of(self.model))
                mean = mean_pooling(self.model(ids), ids != self.model.pad)
                embeddings[batch] = F.normalize(mean, dim=1).float().cpu()
        return embeddings

    def _pad(self, rows: Sequence[Sequence[int]]) -> Tensor:
        max_length = max(map(len, rows))
        return torch.tensor([[*row, *[self.model.pad] * (max_length - len(row))] for row in rows])


def _batches(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Texts of like length together, as many as the budget holds."""
    batches: list[list[int]] = []
    for i in sorted(range(len(rows)), key=lambda i: len(rows[i])):
        if not batches or (len(batches[-1]) + 1) * len(rows[i]) > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(i)
    return batches
