"""Embedding: strings -> vectors, by an encoder and its tokenizer."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.tokenizers.wordpiece import WordPiece
from regard.model.modules import device_of, evaluation_mode
from regard.model.single_stack import EncoderOnly, mean_pooling
from regard.runtime.attention import use_fused_attention
from regard.tasks.text_batch import batch_by_length, pad_rows


class Embedder:
    """A trained encoder that embeds texts as vectors of length 1, whose dot products are cosine similarities."""

    def __init__(self, model: EncoderOnly, tokenizer: WordPiece, max_length: int):
        use_fused_attention(model)
        self.model = model
        self.tokenizer = tokenizer
        self.max_length = max_length
        """The maximum number of tokens of a text, special tokens included; longer texts are truncated."""

    def embed(self, texts: Sequence[str]) -> Tensor:
        """The vector of each text, in the same order: (N, D)."""
        rows = self.tokenizer.encode(texts, self.max_length)
        embeddings = torch.empty(len(rows), self.model.encoder.embedding.tokens.embedding_dim)
        with evaluation_mode(self.model), torch.inference_mode():
            for batch in batch_by_length(rows):
                ids = pad_rows([rows[i] for i in batch], self.model.pad).to(device_of(self.model))
                mean = mean_pooling(self.model(ids), ids != self.model.pad)
                embeddings[batch] = F.normalize(mean, dim=1).float().cpu()
        return embeddings
