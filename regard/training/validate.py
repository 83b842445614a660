"""A look at the dev set: loss and accuracy over real tokens, BLEU by real decoding, and two signs of life."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch

from regard.data.batch import Batch, in_order
from regard.data.store import Corpus
from regard.decode import Greedy
from regard.metrics import Score, bleu
from regard.model.transformer import device_of
from regard.tasks.translate import Translator
from regard.training.loss import Learner

SHUFFLED_BATCHES = 4


@dataclass(frozen=True)
class Check:
    """What the dev set said."""

    step: int
    loss: float  # nats per real target token
    accuracy: float  # share of real target tokens
    bleu: Score | None
    seconds: float
    shuffled: float | None = None  # the loss where each sentence is given the source of another
    distinct: float | None = None  # share of different translations among those of different sources
    decoding: float = 0.0  # seconds that each of those translations took

    def cost(self, metric: str) -> float:
        """What is to be made small."""
        if metric == "loss":
            return self.loss
        assert self.bleu is not None  # the config asks for sentences where BLEU decides
        return -self.bleu.value


@dataclass(frozen=True)
class Checker:
    """Looks at a dev set in the same way every time."""

    learner: Learner
    translator: Translator
    dev: Corpus
    sentences: int
    budget: int

    def check(self, step: int) -> Check:
        start = time.perf_counter()
        batches = [batch for _, batch in in_order(self.dev, self.budget)]
        loss, accuracy = self._told(batches)
        told = time.perf_counter()
        score, distinct = self._decoded()
        decoding = (time.perf_counter() - told) / max(1, min(self.sentences, len(self.dev)))
        shuffled = self._shuffled(batches, loss)
        return Check(step, loss, accuracy, score, time.perf_counter() - start, shuffled, distinct, decoding)

    def _told(self, batches: Iterable[Batch]) -> tuple[float, float]:
        """Loss and accuracy where the model is told the beginning of each reference."""
        loss, correct, tokens = 0.0, 0.0, 0
        self.learner.eval()
        with torch.inference_mode():
            for batch in batches:
                sums = self.learner(batch.to(device_of(self.learner)))
                loss += float(sums.loss)
                correct += float(sums.correct)
                tokens += batch.tokens
        self.learner.train()
        return loss / tokens, correct / tokens

    def _shuffled(self, batches: list[Batch], loss: float) -> float | None:
        """The loss if sources were shuffled: that of a few batches, raised as much as it rises there."""
        several = [batch for batch in batches if len(batch.source) > 1]
        chosen = several[:: max(1, len(several) // SHUFFLED_BATCHES)][:SHUFFLED_BATCHES]
        if not chosen:
            return None
        rolled = [replace(batch, source=batch.source.roll(1, dims=0)) for batch in chosen]
        return loss + self._told(rolled)[0] - self._told(chosen)[0]

    def _decoded(self) -> tuple[Score | None, float | None]:
        pairs = self.dev.pairs(self.sentences)
        if not pairs:
            return None, None
        translations = self.translator.translate([pair.source for pair in pairs], Greedy(scored=False))
        different = len({pair.source for pair in pairs})
        distinct = len(set(translations)) / different if different > 4 else None
        return bleu(translations, [pair.target for pair in pairs]), distinct
