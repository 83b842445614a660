"""Validation on the dev set: teacher-forced loss and accuracy, BLEU by greedy decoding, and two signs of collapse."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch

from regard.data.batch import Batch, batches_by_length
from regard.data.store import Corpus
from regard.decode import GreedySearch
from regard.files import Count
from regard.metrics import DEFAULT_TOKENIZATION, Score, Tokenization, corpus_bleu
from regard.model.modules import device_of, evaluation_mode
from regard.progress import track
from regard.tasks.loss import LossModule
from regard.tasks.translate.translator import Translator

SHUFFLED_BATCHES = 4


@dataclass(frozen=True)
class Validation:
    """The results of a validation."""

    step: Count
    loss: float  # nats per target token
    accuracy: float  # fraction of target tokens
    bleu: Score | None
    seconds: float
    shuffled_source_loss: float | None = None  # the loss where each sentence has the source of another
    distinct_ratio: float | None = None  # distinct translations per distinct source
    seconds_per_translation: float = 0.0

    def cost(self, metric: str) -> float:
        """The value to minimize."""
        if metric == "loss":
            return self.loss
        assert self.bleu is not None  # the config requires validation sentences where BLEU is the metric
        return -self.bleu.value


@dataclass(frozen=True)
class Validator:
    """Validates on a dev set in the same way every time."""

    loss_module: LossModule
    translator: Translator
    dev: Corpus
    sentences: int
    batch_tokens: int
    tokenization: Tokenization = DEFAULT_TOKENIZATION

    def validate(self, step: int) -> Validation:
        start = time.perf_counter()
        batches = [batch for _, batch in batches_by_length(self.dev, self.batch_tokens)]
        loss, accuracy = self._evaluate_teacher_forced(batches)
        decoding_start = time.perf_counter()
        score, distinct_ratio = self._evaluate_decoding()
        seconds_per_translation = (time.perf_counter() - decoding_start) / max(1, min(self.sentences, len(self.dev)))
        shuffled_source_loss = self._shuffled_source_loss(batches, loss)
        return Validation(
            step,
            loss,
            accuracy,
            score,
            time.perf_counter() - start,
            shuffled_source_loss,
            distinct_ratio,
            seconds_per_translation,
        )

    def _evaluate_teacher_forced(self, batches: Iterable[Batch]) -> tuple[float, float]:
        """Loss and accuracy with teacher forcing."""
        loss, correct, tokens = 0.0, 0.0, 0
        with evaluation_mode(self.loss_module), torch.inference_mode():
            for batch in track(batches, "validating"):
                totals = self.loss_module(batch.to(device_of(self.loss_module)))
                loss += float(totals.loss)
                correct += float(totals.correct)
                tokens += batch.num_targets
        return loss / tokens, correct / tokens

    def _shuffled_source_loss(self, batches: list[Batch], loss: float) -> float | None:
        """An estimate of the loss with shuffled sources: the loss plus the increase on a few batches."""
        candidate_batches = [batch for batch in batches if len(batch.source) > 1]
        sampled_batches = candidate_batches[:: max(1, len(candidate_batches) // SHUFFLED_BATCHES)][:SHUFFLED_BATCHES]
        if not sampled_batches:
            return None
        shuffled_batches = [replace(batch, source=batch.source.roll(1, dims=0)) for batch in sampled_batches]
        return (
            loss
            + self._evaluate_teacher_forced(shuffled_batches)[0]
            - self._evaluate_teacher_forced(sampled_batches)[0]
        )

    def _evaluate_decoding(self) -> tuple[Score | None, float | None]:
        pairs = self.dev.pairs(self.sentences)
        if not pairs:
            return None, None
        translations = self.translator.translate([pair.source for pair in pairs], GreedySearch(scored=False))
        distinct_sources = len({pair.source for pair in pairs})
        distinct_ratio = len(set(translations)) / distinct_sources if distinct_sources > 4 else None
        return corpus_bleu(translations, [pair.target for pair in pairs], self.tokenization), distinct_ratio
