"""Embedding: strings -> vectors, by an encoder and its tokenizer."""

from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.model.modules import device_of, evaluation_mode
from regard.model.single_stack import mean_pooling
from regard.runtime.attention import use_fused_attention
from regard.tasks.text_batch import batch_by_length, pad_rows
from regard.tasks.text_forward import SingleStack


class Embedder:
    """A trained encoder that embeds texts as vectors of length 1, whose dot products are cosine similarities."""

    def __init__(self, model: SingleStack, tokenizer: TextTokenizer, max_length: int):
        use_fused_attention(model)
        self.model = model
        self.tokenizer = tokenizer
        self.max_length = max_length
        """The maximum number of tokens of a text, special tokens included; longer texts are truncated."""

    def embed(self, texts: Sequence[str]) -> Tensor:
        """The vector of each text, in the same order: (N, D)."""
        rows = self.tokenizer.encode(texts, self.max_length)
        embeddings = torch.empty(len(rows), self.model.output.weight.shape[1])
        with evaluation_mode(self.model), torch.inference_mode():
            for batch in batch_by_length(rows):
                ids = pad_rows([rows[i] for i in batch], self.model.pad).to(device_of(self.model))
                mean = mean_pooling(self.model(ids), ids != self.model.pad)
                embeddings[batch] = F.normalize(mean, dim=1).float().cpu()
        return embeddings

    def embed_tokens(self, texts: Sequence[str]) -> Tensor:
        """The mean of the embedding table's rows for the tokens of each text, of length 1: vectors without context."""
        table = self.model.stack.embedding.tokens.weight
        special_ids = self.tokenizer.special_ids
        rows = [[i for i in row if i not in special_ids] for row in self.tokenizer.encode(texts, self.max_length)]
        starts = torch.tensor([0, *map(len, rows[:-1])]).cumsum(0)
        ids = torch.tensor([i for row in rows for i in row], dtype=torch.long)
        with torch.inference_mode():
            means = F.embedding_bag(ids.to(table.device), table, starts.to(table.device), mode="mean")
            return F.normalize(means, dim=1).float().cpu()

    def count_truncated(self, texts: Iterable[str]) -> int:
        """How many texts are longer than what is read of them."""
        return sum(len(row) > self.max_length for row in self.tokenizer.encode(list(texts), self.max_length + 1))

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The cosine similarity of the two texts of each pair; a text that occurs several times is embedded once."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys(text for pair in pairs for text in pair))}
        vectors = self.embed(list(numbers))
        first, second = (vectors[[numbers[pair[side]] for pair in pairs]] for side in (0, 1))
        return (first * second).sum(dim=1).tolist()
