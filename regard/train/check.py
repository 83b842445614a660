"""A look at the dev set: loss and accuracy over real tokens, and BLEU by real decoding."""

import time
from dataclasses import dataclass

import torch

from regard.data.batch import in_order
from regard.data.store import Corpus
from regard.decode import Greedy
from regard.metrics import Score, bleu
from regard.model.transformer import device_of
from regard.tasks.translate import Translator
from regard.train.loss import Learner


@dataclass(frozen=True)
class Check:
    """What the dev set said."""

    step: int
    loss: float  # nats per real target token
    accuracy: float  # share of real target tokens
    bleu: Score | None
    seconds: float

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
        loss, accuracy = self._teacher_forced()
        score = self._decoded()
        return Check(step, loss, accuracy, score, time.perf_counter() - start)

    def _teacher_forced(self) -> tuple[float, float]:
        loss, correct, tokens = 0.0, 0.0, 0
        self.learner.eval()
        with torch.inference_mode():
            for _, batch in in_order(self.dev, self.budget):
                sums = self.learner(batch.to(device_of(self.learner)))
                loss += float(sums.loss)
                correct += float(sums.correct)
                tokens += batch.tokens
        self.learner.train()
        return loss / tokens, correct / tokens

    def _decoded(self) -> Score | None:
        pairs = self.dev.pairs(self.sentences)
        if not pairs:
            return None
        translations = self.translator.translate([pair.source for pair in pairs], Greedy())
        return bleu(translations, [pair.target for pair in pairs])
