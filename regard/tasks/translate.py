"""Translation: strings in, strings out, by a model, its tokenisers and a search."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.batch import Batch, collate, pad
from regard.data.tokenizer import BOS, EOS, Tokenizers
from regard.decode import Beam, Search
from regard.evaluation import Forced
from regard.formats import Pair
from regard.model.positions import Positions
from regard.model.stepwise import Stepwise
from regard.model.transformer import EncoderDecoder, device_of

BATCH_TOKENS = 4096  # of a batch to translate


@dataclass(frozen=True)
class Translation:
    """A translated text and its score: log-probability / length^α."""

    text: str
    score: float


class Steps:
    """A model in the middle of a batch: the Stepper that a search walks with."""

    bos, eos = BOS, EOS

    def __init__(self, stepwise: Stepwise, source: Tensor, numbers: Tensor):
        model = stepwise.model
        self.lengths = (source != model.pad).sum(dim=1)
        self.numbers = numbers
        self.longest = longest_output(model)
        self._never = torch.tensor([model.pad, self.bos], device=source.device)
        self._walk = stepwise.begin(source)

    def step(self, last: Tensor) -> Tensor:
        scores = self._walk.step(last).float()  # (N, V)
        scores[:, self._never] = -torch.inf  # never part of an output
        return scores.log_softmax(dim=-1)

    def widen(self, width: int) -> None:
        self._walk.widen(width)

    def select(self, rows: Tensor) -> None:
        self._walk.select(rows)


def longest_output(model: EncoderDecoder) -> int:
    """The longest sequence that the decoder has places for, at its embeddings and in its attention."""
    schemes = [module for module in model.decoder.modules() if isinstance(module, Positions)]
    return min(scheme.limit for scheme in schemes)


class Translator:
    """A trained model that translates text."""

    def __init__(self, model: EncoderDecoder, tokenizers: Tokenizers):
        self.model = model
        self.tokenizers = tokenizers

    def translate(self, texts: Sequence[str], search: Search | None = None) -> list[str]:
        """The best translation of each text, in the same order. An empty text stays empty."""
        return [found[0].text for found in self.candidates(texts, search)]

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, numbers: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        """The translations of each text, best first; `numbers` says which texts of the whole job they are."""
        numbers = range(len(texts)) if numbers is None else numbers
        search = search or Beam()
        found = [[Translation(text, 0.0)] for text in texts]  # blank lines stay as they are
        full = [i for i, text in enumerate(texts) if text.strip()]
        ids = dict(zip(full, self.tokenizers.source.encode([texts[i] for i in full]), strict=True))
        device = device_of(self.model)
        with self._at_rest():
            stepwise = Stepwise(self.model)  # anew each time: in training the weights change between two calls
            for rows in _batches(ids):
                source = pad([[*ids[i], EOS] for i in rows]).to(device)
                steps = Steps(stepwise, source, torch.tensor([numbers[i] for i in rows], device=device))
                for i, hypotheses in zip(rows, search.search(steps), strict=True):
                    found[i] = [Translation(self.tokenizers.target.decode(h.ids), h.score) for h in hypotheses]
        return found

    def forced(self, pairs: Sequence[Pair]) -> list[Forced]:
        """For each pair, how the model does when it is told the beginning of the reference."""
        sources = self.tokenizers.source.encode([pair.source for pair in pairs])
        targets = self.tokenizers.target.encode([pair.target for pair in pairs])
        found: dict[int, Forced] = {}
        longer = {
            i: max(source, target, key=len) for i, (source, target) in enumerate(zip(sources, targets, strict=True))
        }
        for rows in _batches(longer):
            batch = collate([sources[i] for i in rows], [targets[i] for i in rows]).to(device_of(self.model))
            found |= zip(rows, self._forced(batch), strict=True)
        return [found[i] for i in range(len(pairs))]

    def _forced(self, batch: Batch) -> list[Forced]:
        self.model.eval()
        with torch.inference_mode():
            logp = self.model.output(self.model(batch.source, batch.target_in)).float().log_softmax(dim=-1)
        real = batch.target_out != self.model.pad  # (B, T)
        loss = -logp.gather(2, batch.target_out[:, :, None])[:, :, 0] * real
        right = (logp.argmax(dim=-1) == batch.target_out) & real
        rows = zip(real.sum(1).tolist(), right.sum(1).tolist(), loss.sum(1).tolist(), strict=True)
        return [Forced(*row) for row in rows]

    @contextlib.contextmanager
    def _at_rest(self) -> Iterator[None]:
        """The model out of training, and as it was afterwards."""
        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self.model.train(training)


def _batches(ids: dict[int, list[int]]) -> Iterator[list[int]]:
    """Sentences of like length together, as many as the budget holds."""
    batch: list[int] = []
    for i in sorted(ids, key=lambda i: len(ids[i])):
        if batch and (len(batch) + 1) * (len(ids[i]) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
