"""Translation: strings in, strings out, by a model, its tokenisers and a search."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from regard.data.batch import Batch, collate, pad
from regard.data.tokenizer import BOS, EOS, Tokenizers
from regard.decode import Beam, Search
from regard.evaluation import Forced
from regard.formats import Pair
from regard.model.positions import Positions
from regard.model.transformer import EncoderDecoder, device_of
from regard.runtime.incremental import COLUMNS_PER_RESERVE, IncrementalDecoder, DecodingBatch

ROOM = 16384  # sentences at a time times the longest source among them
KEPT = 32 << 20  # numbers that their keys are at first, over rows, layers and heads
FORCED = 4096  # the same as ROOM, where the whole output is known
NUMBERS = 1 << 24  # that are predicted at a time, over beams and vocabulary
MORE = 1.0  # of those inside: fewer new ones are not worth the interruption


@dataclass(frozen=True)
class Translation:
    """A translated text and its score: log-probability / length^α; 0 for a blank one, nan if nobody asked for it."""

    text: str
    score: float


class Steps:
    """A model that walks through sentences, as many at a time as there is room for: the Stepper of a search."""

    bos, eos = BOS, EOS

    def __init__(
        self, stepwise: IncrementalDecoder, sources: Sequence[Sequence[int]], numbers: Sequence[int], room: int = ROOM
    ):
        """Sources as ids without their end, and which sentences of the whole job they are."""
        model = stepwise.model
        device = device_of(model)
        self.lengths = torch.tensor([len(source) + 1 for source in sources], device=device)
        self.numbers = torch.tensor(numbers, device=device)
        self.longest = longest_output(model)
        self._never = torch.tensor([model.pad, self.bos], device=device)
        self._stepwise, self._sources, self._room = stepwise, sources, room
        self._kept = sum(
            max(part.heads for part in (layer.self_attn, layer.cross_attn)) * layer.self_attn.head_dim
            for layer in stepwise.layers
        )
        self._pieces = len(model.output.weight)
        self._walk: DecodingBatch | None = None
        self._inside: list[int] = []  # the sentences
        self._next = 0

    def admit(self, width: int) -> int:
        count = self._fitting(width)
        if count < MORE * len(self._inside) or not count:
            return 0
        if self._walk is None:
            self._walk = self._stepwise.new_batch(width)
        new = range(self._next, self._next + count)
        self._walk.admit(pad([[*self._sources[i], EOS] for i in new]).to(self._never.device))
        self._inside += new
        self._next += count
        return count

    def step(self, last: Tensor) -> Tensor:
        assert self._walk is not None
        scores = self._walk.step(last).float()  # (R, V)
        return scores.index_fill_(1, self._never, -torch.inf)  # what is never part of an output

    def select(self, rows: Tensor) -> None:
        assert self._walk is not None
        self._inside = [
            self._inside[i] for i in (rows[:: self._walk.rows_per_sentence] // self._walk.rows_per_sentence).tolist()
        ]
        self._walk.select(rows)

    def _fitting(self, width: int) -> int:
        """How many of those that wait would fit in, so many rows each; one at least where nobody is inside."""
        count, longest = len(self._inside), max((len(self._sources[i]) for i in self._inside), default=0)
        for source in islice(self._sources, self._next, None):
            longest = max(longest, len(source))
            if count and not self._fit(count + 1, width, longest + 1):
                break
            count += 1
        return count - len(self._inside)

    def _fit(self, count: int, width: int, longest: int) -> bool:
        """Whether so many sentences of so many rows may be inside, the longest source as given."""
        rows = count * width
        kept = rows * max(longest, COLUMNS_PER_RESERVE) * self._kept
        return count * longest <= self._room and kept <= KEPT and rows * self._pieces <= NUMBERS


def longest_output(model: EncoderDecoder) -> int:
    """The longest sequence that the decoder has places for, at its embeddings and in its attention."""
    schemes = [module for module in model.decoder.modules() if isinstance(module, Positions)]
    return min(scheme.limit for scheme in schemes)


class Translator:
    """A model that translates text: one in training, or a finished one that was made ready (`ready`) for it."""

    def __init__(self, model: EncoderDecoder, tokenizers: Tokenizers, ready: IncrementalDecoder | None = None):
        self.model = model
        self.tokenizers = tokenizers
        self.ready = ready

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
        rows = sorted(full, key=lambda i: -len(ids[i]))  # like lengths together; what takes longest must not come last
        with self._at_rest():
            steps = Steps(self._stepwise(), [ids[i] for i in rows], [numbers[i] for i in rows])
            for i, hypotheses in zip(rows, search.search(steps) if rows else (), strict=True):
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
        room = min(FORCED, NUMBERS // self.tokenizers.target.size)
        for rows in _batches(longer, room):
            batch = collate([sources[i] for i in rows], [targets[i] for i in rows]).to(device_of(self.model))
            found |= zip(rows, self._forced(batch), strict=True)
        return [found[i] for i in range(len(pairs))]

    def _stepwise(self) -> IncrementalDecoder:
        """Made anew where nothing is ready: in training the weights change between two calls."""
        return self.ready or IncrementalDecoder(self.model)

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
        self._train(False)
        try:
            with torch.inference_mode():
                yield
        finally:
            self._train(training)

    def _train(self, on: bool) -> None:
        """Into training or out of it, unless the model is there already: telling every part of it takes a while."""
        if self.model.training != on:
            self.model.train(on)


def _batches(ids: dict[int, list[int]], room: int) -> Iterator[list[int]]:
    """Sentences of like length together, as many as the budget holds."""
    batch: list[int] = []
    for i in sorted(ids, key=lambda i: len(ids[i])):
        if batch and (len(batch) + 1) * (len(ids[i]) + 1) > room:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
