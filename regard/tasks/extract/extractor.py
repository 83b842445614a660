"""Extractive summarization: the sentences of documents in, those that are their summary out."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from regard.data.store import Array
from regard.data.tokenizers.text_tokenizer import EncodedWords, TextTokenizer
from regard.formats.summaries import SummarizedDocument
from regard.model.modules import device_of, evaluation_mode
from regard.runtime.padding_free import PaddingFreeStack
from regard.tasks.extract.loss import pool_sentences
from regard.tasks.loss import TokenLoss
from regard.tasks.tag.tagger import divide
from regard.tasks.text_batch import batch_by_length, pad_rows
from regard.tasks.text_forward import SingleStack


class Extractor:
    """A trained model that chooses sentences of documents."""

    def __init__(self, model: SingleStack, tokenizer: TextTokenizer, num_sentences: int, max_length: int):
        self.model = model
        self.tokenizer = tokenizer
        self.num_sentences = num_sentences
        """Sentences of an extract."""
        self.max_length = max_length
        """The maximum number of tokens that the model reads at once; a longer document is divided between sentences."""
        self._loss = TokenLoss(model.output, label_smoothing=0.0)
        self._forward = PaddingFreeStack(model)

    def log_probs(self, documents: Sequence[Sequence[str]]) -> list[Array]:
        """The log-probability of taking each sentence, or not (columns 1 and 0): (sentences, 2).

        A sentence without a token is not taken for certain.
        """
        log_probs = [np.tile([0.0, -np.inf], (len(sentences), 1)) for sentences in documents]
        windows = list(divide(documents, self.tokenizer, self.max_length))
        rows = [window.encoded.ids for window in windows]
        with evaluation_mode(self.model), torch.inference_mode():
            for batch in batch_by_length(rows):
                predictions = iter(self._predict([windows[i].encoded for i in batch]))
                for i in batch:
                    document, start, encoded = windows[i]
                    for n, position in enumerate(encoded.first_tokens):
                        if position >= 0:
                            log_probs[document][start + n] = next(predictions)
        return log_probs

    def choose(self, documents: Sequence[Sequence[str]], num_sentences: int | None = None) -> list[list[int]]:
        """The numbers of the sentences of each extract, in the order of the document."""
        count = num_sentences or self.num_sentences
        return [sorted(np.argsort(-rows[:, 1], kind="stable")[:count].tolist()) for rows in self.log_probs(documents)]

    def summarize(self, documents: Sequence[Sequence[str]], num_sentences: int | None = None) -> list[str]:
        """The extract of each document; that of an empty one is empty."""
        chosen = self.choose(documents, num_sentences)
        return [" ".join(document[n] for n in numbers) for document, numbers in zip(documents, chosen, strict=True)]

    def mean_loss(self, documents: Sequence[SummarizedDocument]) -> float | None:
        """Nats per sentence; None where the labels of sentences are not known."""
        labels = [document.labels for document in documents if document.sentences]
        if not labels or any(one is None for one in labels):
            return None
        rows = self.log_probs([document.sentences for document in documents if document.sentences])
        losses = [-row[np.arange(len(row)), list(one or ())] for row, one in zip(rows, labels, strict=True)]
        finite = np.concatenate(losses)
        return float(finite[np.isfinite(finite)].mean())

    def _predict(self, rows: Sequence[EncodedWords]) -> Array:
        """The log-probabilities of all sentences of some rows: (N, 2)."""
        ids = pad_rows([row.ids for row in rows], self.tokenizer.pad_id).to(device_of(self.model))
        states, layout = self._forward(ids)
        starts = mark_starts(rows, ids)
        pooled = pool_sentences(layout.pad(states), starts, ids != self.model.pad)
        return np.asarray(self._loss.predict(pooled).double().cpu().numpy())


def mark_starts(rows: Sequence[EncodedWords], ids: Tensor) -> Tensor:
    """Where sentences start: (B, T)."""
    starts = torch.zeros(ids.shape, dtype=torch.bool, device=ids.device)
    for number, row in enumerate(rows):
        starts[number, [position for position in row.first_tokens if position >= 0]] = True
    return starts


def make_targets(encoded: EncodedWords, labels: Sequence[int]) -> list[int]:
    """For each token of a document: 0, or 1 + the label of the sentence that begins with it."""
    targets = [0] * len(encoded.ids)
    for position, label in zip(encoded.first_tokens, labels, strict=True):
        if position >= 0:
            targets[position] = 1 + label
    return targets
